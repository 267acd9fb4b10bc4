/**
 * Tables of small houses: a line with the names of the fields, then a record each. They become lines of JSON,
 * with the same numbers.
 */
import { Invalid } from '../problem.ts'
import { readLines } from './lines.ts'
import { kinds, type RecordKind } from './record.ts'

/**
 * The cells of a record: separated by commas, in quotation marks where they hold one, or a line break, which
 * counts as a space. `open` when a mark is not closed: the record goes on in the next line. Undefined for
 * what is no record, such as text after a closing mark.
 */
export function parseCsv(text: string): string[] | 'open' | undefined {
  const cells: string[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y
  for (;;) {
    const start = cell.lastIndex
    const found = cell.exec(text)
    if (!found) return isOpen(text, start) ? 'open' : undefined
    cells.push(
      found[1] === undefined ? (found[2] ?? '') : found[1].replaceAll('""', '"').replaceAll(/\r?\n/g, ' '),
    )
    if (found[3] === '') return cells
  }
}

/** From its opening mark on, every mark is one of a pair. */
function isOpen(text: string, start: number): boolean {
  return text[start] === '"' && /^"(?:[^"]|"")*$/.test(text.slice(start))
}

/** What is no text in a record. Empty cells are fields that are not given. */
function readCell(name: string, cell: string): unknown {
  if (name === 'version' || name === 'optionLevel') return /^\d+$/.test(cell) ? Number(cell) : cell
  if (name === 'dayTrader') return ['true', 'false'].includes(cell) ? cell === 'true' : cell
  return name === 'mayAuthorize' ? cell.split(/[ ;]+/) : cell
}

function toRecord(names: readonly string[], cells: readonly string[], kind: RecordKind | undefined): object {
  const given = names.flatMap((name, place) => {
    const cell = cells[place] ?? ''
    return cell === '' ? [] : [[name, readCell(name, cell)] as const]
  })
  return { ...(kind && { kind }), ...Object.fromEntries(given) }
}

function readNames(cells: readonly string[] | undefined, kind: RecordKind | undefined): string[] {
  const names = (cells ?? []).map((name) => name.replace(/^\ufeff/, '').trim())
  if (names.length === 0 || names.includes(''))
    throw new Invalid([{ field: 'line 1', problem: 'must name the fields, with commas between' }])
  if (kind === undefined && !names.includes('kind'))
    throw new Invalid([
      { field: 'kind', problem: `must be a column, or said of the table: one of ${kinds.join(', ')}` },
    ])
  return names
}

/** As far as a mark that is not closed is followed: as long as a line may be. */
const charactersAtMost = 64 * 1024

interface CsvRecord {
  /** Undefined for what is no record. */
  readonly cells: readonly string[] | undefined
  /** Its first line. */
  readonly text: string
  readonly lines: number
}

/**
 * Gathers lines to records. Of a mark that is never closed the first line alone is at fault: those after it
 * are records of their own.
 */
class RecordReader {
  #begun: string[] = []
  #characters = 0

  get isBetween(): boolean {
    return this.#begun.length === 0
  }

  *take(lines: readonly string[]): Generator<CsvRecord> {
    // What is open is closed by a mark alone.
    let mayClose = this.isBetween || lines.some((each) => each.includes('"'))
    this.#begun.push(...lines)
    this.#characters += lines.reduce((sum, each) => sum + each.length + 1, 0)
    while (this.#begun.length > 0) {
      const cells = mayClose ? parseCsv(this.#begun.join('\n')) : 'open'
      if (cells === 'open' && this.#characters <= charactersAtMost) return
      mayClose = true
      yield* this.#give(cells === 'open' ? undefined : cells)
    }
  }

  /** What is begun when the table ends is never closed. */
  *end(): Generator<CsvRecord> {
    while (this.#begun.length > 0) yield* this.#give(undefined)
  }

  *#give(cells: readonly string[] | undefined): Generator<CsvRecord> {
    const [text = '', ...later] = this.#begun
    this.#begun = []
    this.#characters = 0
    yield { cells, text, lines: cells ? later.length + 1 : 1 }
    if (!cells) for (const each of later) yield* this.take([each])
  }
}

async function* readRecords(stream: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord> {
  const reader = new RecordReader()
  for await (const { text, lines } of readLines(stream)) {
    const empty = text === '' ? lines : lines - 1
    if (empty > 0 && reader.isBetween) yield { cells: [], text: '', lines: empty }
    else if (empty > 0)
      for (let left = empty; left > 0; left -= 1_000)
        yield* reader.take(Array(Math.min(left, 1_000)).fill(''))
    // What cannot be read is a line that is no record, and is told as one.
    if (text !== '') yield* reader.take([text?.replace(/\r$/, '') ?? '"""x'])
  }
  yield* reader.end()
}

export async function* convertCsv(stream: AsyncIterable<Buffer>, kind?: RecordKind): AsyncGenerator<Buffer> {
  let names: string[] | undefined
  for await (const { cells, text, lines } of readRecords(stream)) {
    const ends = '\n'.repeat(lines)
    if (names === undefined) names = readNames(cells, kind)
    else if (text !== '') {
      yield Buffer.from(`${JSON.stringify(cells ? toRecord(names, cells, kind) : text.slice(0, 100))}${ends}`)
      continue
    }
    yield Buffer.from(ends)
  }
}
