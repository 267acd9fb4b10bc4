/** What is committed together of a file: so many records, or so many bytes, with the lines that are none. */
import { Invalid } from '../problem.ts'
import { isRecord } from '../vocabulary/record-of.ts'
import type { TextLine } from './lines.ts'
import type { LineFault } from './outcomes.ts'
import { findFault, type SourceRecord } from './record.ts'
import { StagedRows } from './staging.ts'

/**
 * One statement merges them: on a machine that is busy with something else it still ends long before it would
 * be given up.
 */
const recordsABatch = 2_000
/** Long lines make a batch early, so that what is in memory has a bound. */
const bytesABatch = 8 * 1024 * 1024

/**
 * How many records there are, as their last line says; `stream` where the end of what is read is the end of
 * them.
 */
type End = number | 'stream'

export interface LineBatch {
  lines: number
  bytes: number
  readonly rows: StagedRows
  faults: LineFault[]
  end: End | undefined
}

export function newBatch(rows = new StagedRows()): LineBatch {
  rows.clear()
  return { lines: 0, bytes: 0, rows, faults: [], end: undefined }
}

/** Lines without a record make none full, and cost no statement. */
export function isFull({ rows, faults, bytes }: LineBatch): boolean {
  return (
    rows.count + faults.length >= recordsABatch || (bytes >= bytesABatch && rows.count + faults.length > 0)
  )
}

/** `line` is its number; `isComplete`: the end has come before. */
export function readLine(
  batch: LineBatch,
  { text, bytes, lines }: TextLine,
  line: number,
  isComplete: boolean,
): void {
  batch.lines += lines
  batch.bytes += bytes
  if (text?.trim() === '') return
  if (isComplete || batch.end !== undefined)
    throw new Invalid([{ field: `line ${line}`, problem: 'comes after the end' }])
  if (text === undefined) {
    batch.faults.push({ line, field: 'line', problem: 'must be UTF-8, and 64 KiB at most' })
    return
  }
  const record = parseJson(text)
  batch.end = readEnd(record)
  if (batch.end !== undefined) return
  const fault = record === undefined ? { field: 'line', problem: 'must be a JSON object' } : findFault(record)
  if (fault) batch.faults.push({ line, ...fault })
  else batch.rows.add(record as Partial<SourceRecord>, line)
}

/** `{"end": {"records": 3}}` */
function readEnd(line: unknown): number | undefined {
  const records = isRecord(line) && isRecord(line.end) ? line.end.records : undefined
  return typeof records === 'number' && Number.isSafeInteger(records) ? records : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
