import { escapeLines, escapeText } from '../text/printable.ts'
import type { Printer } from './command.ts'

/** Tables and fields for people, or one JSON value for programs. */
export function openPrinter(json: boolean, out: NodeJS.WriteStream = process.stdout): Printer {
  const write = (text: string): void => {
    out.write(`${escapeLines(text)}\n`)
  }
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
      const table = openTable(rows)
      if (!table) return write(empty)
      write(table.head)
      for (const row of rows) write(table.print(row))
    },
    async pages(pages, empty) {
      let printed = 0
      let table: Table | undefined
      for await (const rows of pages) {
        // The reader has left, and the command does nothing but print.
        if (out.destroyed) return
        if (!json && !table) {
          table = openTable(rows)
          if (table) write(table.head)
        }
        const texts = rows.map((row, place) =>
          table ? `${table.print(row)}\n` : printElement(row, printed + place),
        )
        printed += rows.length
        if (texts.length > 0 && !out.write(escapeLines(texts.join('')))) await drained(out)
      }
      if (json) write(printed === 0 ? '[]' : '\n]')
      else if (printed === 0) write(empty)
    },
    say: (text) => (json ? undefined : write(text)),
    progress(text) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
    },
  }
}

interface Table {
  /** The names of its columns. */
  readonly head: string
  print(row: Record<string, unknown>): string
}

/** As wide as these rows need: what is longer than anything in them stands out. Undefined without a row. */
function openTable(rows: readonly Record<string, unknown>[]): Table | undefined {
  const [first] = rows
  if (!first) return undefined
  const columns = Object.keys(first).map((name) => ({
    name,
    width: rows.reduce((most, row) => Math.max(most, show(row[name]).length), name.length),
  }))
  const inColumns = (textOf: (name: string) => string) =>
    columns
      .map(({ name, width }) => textOf(name).padEnd(width))
      .join('  ')
      .trimEnd()
  return { head: inColumns((name) => name), print: (row) => inColumns((name) => show(row[name])) }
}

/** As it stands in the JSON of the whole list. */
function printElement(row: Record<string, unknown>, place: number): string {
  return `${place === 0 ? '[' : ','}\n  ${JSON.stringify(row, null, 2).replaceAll('\n', '\n  ')}`
}

function drained(out: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      out.off('drain', go).off('close', go)
      resolve()
    }
    out.on('drain', go).on('close', go)
  })
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
