/**
 * What a terminal shows of the log: a short line for a person. The lines of requests and attempts would push what
 * the start printed out of view; they are in a log that is a file or a pipe, and here with LOG_LEVEL=debug.
 */
import { pino } from 'pino'
import { escapeText } from '../text/printable.ts'

const wide = new Set(['request', 'attempt'])

/** Undefined for what is not shown. */
export function printForTerminal(line: string, showsAll: boolean): string | undefined {
  const { level, time, msg = '', err, ...fields } = JSON.parse(line) as Record<string, unknown>
  if (!showsAll && level === pino.levels.values.info && wide.has(String(msg))) return undefined
  const name = level === pino.levels.values.info ? '' : `${pino.levels.labels[Number(level)] ?? level}: `
  const values = Object.entries(fields).map(
    ([field, value]) => `${field}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  const words = [`${String(time).slice(11, 19)}  ${name}${msg}`, ...values].join('  ')
  const stack = (err as { stack?: string } | undefined)?.stack?.split('\n') ?? []
  return `${[words, ...stack].map(escapeText).join('\n')}\n`
}
