import { styleText } from 'node:util'
import { escapeLines, escapeText } from '../text/printable.ts'
import type { Printer, SayTone } from './command.ts'

/**
 * Tables and fields for people, or one JSON value for programs. In a terminal a row is a line of its width, with
 * colours unless NO_COLOR is set; a file or a program gets all of it, plain.
 */
export function openPrinter(json: boolean, out: NodeJS.WriteStream = process.stdout): Printer {
  const write = (text: string): void => {
    out.write(`${escapeLines(text)}\n`)
  }
  const paint = openPaint(out)
  const writeTable = (table: Table, rows: readonly Row[], hasHead: boolean) => {
    const lines = [...(hasHead ? [table.head] : []), ...rows.map(table.print)]
    return out.write(`${lines.join('\n')}\n`)
  }
  return {
    record(fields) {
      if (json) return write(JSON.stringify(fields, null, 2))
      const width = Math.max(...Object.keys(fields).map((name) => name.length))
      for (const [name, value] of Object.entries(fields))
        for (const [place, line] of linesOf(value).entries())
          out.write(`${paint.name((place === 0 ? name : '').padEnd(width + 2))}${paint.value(line)}\n`)
    },
    table(rows, empty) {
      if (json) return write(JSON.stringify(rows, null, 2))
      const table = openTable(rows, out, paint)
      if (!table) return write(empty)
      writeTable(table, rows, true)
    },
    async pages(pages, empty) {
      let printed = 0
      let table: Table | undefined
      for await (const rows of pages) {
        // The reader has left, and the command does nothing but print.
        if (out.destroyed) return
        const isFirst = !table
        if (!json) table ??= openTable(rows, out, paint)
        const took = table
          ? writeTable(table, rows, isFirst)
          : rows.length === 0 ||
            out.write(escapeLines(rows.map((row, place) => printElement(row, printed + place)).join('')))
        printed += rows.length
        if (!took) await drained(out)
      }
      if (json) write(printed === 0 ? '[]' : '\n]')
      else if (printed === 0) write(empty)
    },
    say(text, tone) {
      if (!json) out.write(`${paint.tone(escapeLines(text), tone)}\n`)
    },
    json: (value) => (json ? write(JSON.stringify(value, null, 2)) : undefined),
    text(text) {
      if (!json) out.write(out.isTTY ? escapeLines(text) : text)
    },
    progress(text) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
    },
  }
}

type Row = Record<string, unknown>

interface Table {
  /** The names of its columns. */
  readonly head: string
  print(row: Row): string
}

const betweenColumns = '  '

/**
 * As wide as these rows need: what is longer than anything in them stands out. Where the terminal is narrower, the
 * widest columns are cut. Undefined without a row.
 */
function openTable(rows: readonly Row[], out: NodeJS.WriteStream, paint: Paint): Table | undefined {
  const [first] = rows
  if (!first) return undefined
  const names = Object.keys(first)
  const needed = names.map((name) =>
    rows.reduce((most, row) => Math.max(most, show(row[name]).length), name.length),
  )
  const room = (out.isTTY && out.columns) || Infinity
  const widths = fitInto(room - betweenColumns.length * (names.length - 1), needed)
  const inColumns = (textOf: (name: string) => string, colour: (text: string) => string) =>
    names
      .map((name, place) => {
        const text = textOf(name)
        const width = widths[place]!
        const cell = width < needed[place]! && text.length > width ? `${text.slice(0, width - 1)}…` : text
        const isLast = place === names.length - 1
        return colour(cell) + (isLast ? '' : ' '.repeat(Math.max(0, width - cell.length)))
      })
      .join(betweenColumns)
      .trimEnd()
  return {
    head: inColumns((name) => name, paint.name),
    print: (row) => inColumns((name) => show(row[name]), paint.value),
  }
}

const leastWidth = 6

/** The widest give way first, each to no less than what can still be told apart. */
export function fitInto(room: number, needed: readonly number[]): number[] {
  const widths = [...needed]
  for (let over = sumOf(widths) - room; over > 0; over = sumOf(widths) - room) {
    const widest = Math.max(...widths)
    if (widest <= leastWidth) break
    const next = Math.max(leastWidth, ...widths.filter((width) => width < widest))
    const shared = widths.filter((width) => width === widest).length
    const cut = Math.max(1, Math.min(widest - next, Math.ceil(over / shared)))
    for (const [place, width] of widths.entries())
      if (width === widest) widths[place] = Math.max(leastWidth, widest - cut)
  }
  return widths
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)

interface Paint {
  name(text: string): string
  /** Of a state by what it means; what is not there is faint. */
  value(text: string): string
  tone(text: string, tone: SayTone | undefined): string
}

function openPaint(out: NodeJS.WriteStream): Paint {
  if (!out.isTTY) return { name: asItIs, value: asItIs, tone: asItIs }
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    styleText(style, text, { stream: out })
  return {
    name: (text) => paint('bold', text),
    value(text) {
      if (text === '-') return paint('dim', text)
      const colour = colours.find(([, words]) => words.test(text))?.[0]
      return colour ? paint(colour, text) : text
    },
    tone: (text, tone) => (tone === undefined ? text : paint(tones[tone], text)),
  }
}

const asItIs = (text: string) => text

const tones = { good: 'green', changed: 'yellow', bad: 'red', proposed: 'cyan', faint: 'dim' } as const

const colours = [
  ['green', /^(active|approved|healthy|delivered|done|finished|up to date)$/],
  [
    'yellow',
    /^(applied|paused|waiting|retrying|blocked|late|running|on hold|not tried since.*|needs approval)$/,
  ],
  ['red', /^(failing.*|disabled|suspended|declined|exhausted|expired|canceled|revoked|stopped)$/],
] as const

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
