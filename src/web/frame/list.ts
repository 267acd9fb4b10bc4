/**
 * A list, described once: its columns by name, as cells of the page and as text of the file. The page prints
 * the table from it, and what the same question finds is sent as CSV.
 */
import { recordAct } from '../../audit/audit.ts'
import { csvHead, printCsvRow } from './csv.ts'
import { printStamp, sendFile } from './file.ts'
import type { Fields } from './form.ts'
import { type Content, type Html, html } from './html.ts'
import type { Watcher } from './live.ts'
import { printMoment, table } from './parts.ts'
import type { Question } from './question.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

type Value = string | number | Date | false | null | undefined

export interface ListColumn<Row> {
  readonly name: string
  /** The class of its cells. */
  readonly look?: 'number' | 'url' | 'why'
  /** On the page; without it the column is in the file alone. */
  readonly cell?: (row: Row) => Content
  /** In the file; without it the column is on the page alone. */
  readonly text?: (row: Row) => Value
}

interface Page<Row, Place> {
  readonly rows: readonly Row[]
  /** Where the next page begins; undefined on the last one. */
  readonly next: Place | undefined
}

export interface List<Row, Place = never> {
  /** `users`: in the name of the file. */
  readonly name: string
  readonly caption: string
  /** What is said where there is none. */
  readonly empty: Content
  readonly columns: readonly ListColumn<Row>[]
  /** What the question finds from a place on, or from its beginning. */
  read(from: Place | undefined, most: number): Promise<Page<Row, Place>>
  /** Whose data it holds, as the audit log names it: then each file of it is recorded. */
  readonly recordedAs?: string
}

/** The same on the page and in the file. */
export function plain<Row>(name: string, text: (row: Row) => string | number): ListColumn<Row> {
  return { name, cell: text, text }
}

export function counted<Row>(name: string, text: (row: Row) => number): ListColumn<Row> {
  return { name, look: 'number', cell: (row) => text(row).toLocaleString('en'), text }
}

export function moment<Row>(name: string, of: (row: Row) => Date | null): ListColumn<Row> {
  const cell = (row: Row) => {
    const at = of(row)
    return at ? printMoment(at) : '–'
  }
  return { name, cell, text: of }
}

/** Of a list that is whole on its page. */
export function whole<Row>(rows: readonly Row[]): Pick<List<Row>, 'read'> {
  return { read: async () => ({ rows, next: undefined }) }
}

export function printList<Row, Place>(
  { caption, empty, columns }: Pick<List<Row, Place>, 'caption' | 'empty' | 'columns'>,
  rows: readonly Row[],
): Html {
  if (rows.length === 0) return html`<p class="card empty">${empty}</p>`
  const shown = columns.flatMap(({ name, look, cell }) => (cell ? [{ name, look, cell }] : []))
  const printed = rows.map(
    (row) =>
      html`<tr>${shown.map(({ look, cell }) => html`<td${look && html` class="${look}"`}>${cell(row)}</td>`)}</tr>`,
  )
  return table(
    caption,
    shown.map(({ name }) => name),
    printed,
  )
}

export function asksForFile({ query }: Visit): boolean {
  return query.format === 'csv'
}

export const fileRowsAtMost = 10_000
const readAtOnce = 500
/** A question that finds little reads often. */
const readsAtMost = 200

/** What the question finds, from its beginning, whichever page of it the reader is on. */
export function sendListFile<Row, Place>(
  visit: Visit,
  { act }: UserSession,
  watcher: Watcher,
  list: List<Row, Place>,
  question?: Pick<Question<Fields>, 'problem' | 'printSearch'>,
) {
  if (question?.problem) throw question.problem
  return sendFile(visit, {
    name: `countersign-${list.name}-${printStamp(act.at)}.csv`,
    type: 'text/csv; charset=utf-8; header=present',
    watcher,
    async open(stop) {
      const search = Object.fromEntries(new URLSearchParams(question?.printSearch()))
      const details = { list: list.name, search }
      if (list.recordedAs !== undefined)
        await recordAct(visit.context.db, act, 'list.exported', list.recordedAs, details)
      return printFile(list, stop)
    },
  })
}

async function* printFile<Row, Place>(
  { columns, read }: List<Row, Place>,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const written = columns.flatMap(({ name, text }) => (text ? [{ name, text }] : []))
  yield csvHead(written.map(({ name }) => name))
  let left = fileRowsAtMost
  let from: Place | undefined
  for (let reads = 0; reads < readsAtMost && left > 0; reads++) {
    stop.throwIfAborted()
    const { rows, next } = await read(from, Math.min(readAtOnce, left))
    if (rows.length > 0)
      yield rows.map((row) => printCsvRow(written.map(({ text }) => printValue(text(row))))).join('')
    if (next === undefined) return
    left -= rows.length
    from = next
  }
  const count = (fileRowsAtMost - left).toLocaleString('en')
  yield printCsvRow([`There is more: this file ends after ${count} rows. Narrow the search.`])
}

function printValue(value: Value): string {
  return value instanceof Date ? value.toISOString() : String(value || value === 0 ? value : '')
}
