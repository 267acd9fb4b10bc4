/** Tables of small houses: a line with the names of the fields, then a record a line. They become lines of JSON, with the same numbers. */
import { Invalid } from '../problem.ts'
import { readLines } from './lines.ts'
import { kinds, type RecordKind } from './record.ts'

/** The cells of a line: separated by commas, in quotation marks where they hold one. Undefined when a mark is not closed: values of several lines are not taken. */
export function parseCsvLine(text: string): string[] | undefined {
  const cells: string[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y
  for (;;) {
    const found = cell.exec(text)
    if (!found) return undefined
    cells.push(found[1] === undefined ? found[2]! : found[1].replaceAll('""', '"'))
    if (found[3] === '') return cells
  }
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

function readNames(text: string | undefined, kind: RecordKind | undefined): string[] {
  const names = parseCsvLine(text?.replace(/^\ufeff/, '').trimEnd() ?? '')?.map((name) => name.trim())
  if (!names || names.includes(''))
    throw new Invalid([{ field: 'line 1', problem: 'must name the fields, with commas between' }])
  if (kind === undefined && !names.includes('kind'))
    throw new Invalid([
      { field: 'kind', problem: `must be a column, or said of the table: one of ${kinds.join(', ')}` },
    ])
  return names
}

export async function* convertCsv(stream: AsyncIterable<Buffer>, kind?: RecordKind): AsyncGenerator<Buffer> {
  let names: string[] | undefined
  for await (const { text } of readLines(stream)) {
    if (names === undefined) {
      names = readNames(text, kind)
      yield Buffer.from('\n')
      continue
    }
    const line = text?.replace(/\r$/, '') ?? '"'
    const cells = line === '' ? [] : parseCsvLine(line)
    // What cannot be read is a line that is no record, and is told as one.
    const printed = cells?.length === 0 ? '' : JSON.stringify(cells ? toRecord(names, cells, kind) : line.slice(0, 100))
    yield Buffer.from(`${printed}\n`)
  }
}
