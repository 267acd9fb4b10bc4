/** A log that tests can read, and wait for. */
import type { Logger } from 'pino'
import { openLog } from '../../src/http/log.ts'
import { testTimeoutMs } from './timeout.ts'

export type Line = Readonly<Record<string, unknown>>

export interface LogLines {
  readonly log: Logger
  readonly lines: readonly Line[]
  /** The first line that fits, which may still have to come. */
  find(fits: (line: Line) => boolean, withinMs?: number): Promise<Line>
}

export function openLogLines(level = 'trace'): LogLines {
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  const destination = {
    write(text: string) {
      lines.push(JSON.parse(text))
      for (const look of waiting) look()
    },
  }
  return {
    log: openLog(level, destination),
    lines,
    find: (fits, withinMs = testTimeoutMs) =>
      new Promise((found, fail) => {
        const look = () => {
          const line = lines.find(fits)
          if (!line) return
          clearTimeout(timer)
          waiting.delete(look)
          found(line)
        }
        const timer = setTimeout(() => {
          waiting.delete(look)
          fail(new Error(`The line did not come:\n${lines.map((line) => JSON.stringify(line)).join('\n')}`))
        }, withinMs)
        waiting.add(look)
        look()
      }),
  }
}
