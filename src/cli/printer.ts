import { escapeLines, escapeText } from '../printable.ts'
import type { Printer } from './command.ts'

/** Tables and fields for people, or one JSON value for programs. */
export function openPrinter(json: boolean, out: NodeJS.WriteStream = process.stdout): Printer {
  const write = (text: string) => void out.write(`${escapeLines(text)}\n`)
  return {
    record(fields) {
      if (json) return write(JSON.stringify(fields, null, 2))
      const width = Math.max(...Object.keys(fields).map((name) => name.length))
      for (const [name, value] of Object.entries(fields)) write(`${name.padEnd(width + 2)}${show(value)}`)
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

/** On one line, whatever it holds. */
function show(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return escapeText(value.join(' '))
  return escapeText(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
