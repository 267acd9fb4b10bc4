import { escapeLines, escapeText } from '../printable.ts'
import type { Printer } from './command.ts'

/** Tables and fields for people, or one JSON value for programs. */
export function openPrinter(json: boolean, out: NodeJS.WriteStream = process.stdout): Printer {
  const write = (text: string) => void out.write(`${escapeLines(text)}\n`)
  return {
    record(fields) {
      if (json) return write(JSON.stringify(fields, null, 2))
      const width = Math.max(...Object.keys(fields).map((name) => name.length))
      for (const [name, value] of Object.entries(fields))
        for (const [place, line] of linesOf(value).entries())
          write(`${(place === 0 ? name : '').padEnd(width + 2)}${line}`)
    },
    table(rows, empty) {
      if (json) return write(JSON.stringify(rows, null, 2))
      if (rows.length === 0) return write(empty)
      const names = Object.keys(rows[0]!)
      const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => show(row[name]).length)))
      const line = (cells: string[]) =>
        cells
          .map((cell, index) => cell.padEnd(widths[index]!))
          .join('  ')
          .trimEnd()
      write(line(names))
      for (const row of rows) write(line(names.map((name) => show(row[name]))))
    },
    say: (text) => (json ? undefined : write(text)),
    progress(text) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
    },
  }
}

/** Of a list of things with fields, such as the faults of a file, each has a line of its own. */
function linesOf(value: unknown): string[] {
  const things = Array.isArray(value) && value.length > 0 && typeof value[0] === 'object' ? value : undefined
  if (!things) return [show(value)]
  return things.map((fields: object) =>
    Object.entries(fields)
      .map(([name, each]) => `${name} ${show(each)}`)
      .join(', '),
  )
}

/** On one line, whatever it holds. */
function show(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return escapeText(value.join(' '))
  return escapeText(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
