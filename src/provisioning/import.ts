/**
 * Files of records, a line each, of any length: two thousand lines are read, merged and committed together with how far they reach, while the next are
 * read. Whatever cuts an import, it goes on from the last line that was committed, and lines that come twice do no harm.
 */
import { setImmediate as letOthers } from 'node:timers/promises'
import { type Act, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import * as table from './imports.sql.ts'
import { readLines, type TextLine } from './lines.ts'
import { outlast } from './outlast.ts'
import {
  type ImportMode,
  type importStates,
  type LineFault,
  type Merged,
  type Origin,
  outcomes,
  type RecordCounts,
} from './provisioning.ts'
import { findFault, type SourceRecord } from './record.ts'
import { mergeAllStaged, StagedRows, stage } from './staging.ts'

export interface Import extends Origin, RecordCounts {
  readonly id: number
  readonly mode: ImportMode
  readonly dryRun: boolean
  readonly asOf: number | null
  readonly state: (typeof importStates)[number]
  /** The last line that is committed. */
  readonly lines: number
  /** Whether its end has come. */
  readonly complete: boolean
  readonly bytes: number
  readonly totalBytes: number | null
  readonly missing: number | null
  readonly known: number | null
  readonly actor: string
  readonly requestId: string | null
  readonly startedAt: Date
  readonly updatedAt: Date
  readonly finishedAt: Date | null
}

interface NewImport extends Origin {
  readonly mode: ImportMode
  readonly dryRun: boolean
  readonly asOf?: number | undefined
  readonly totalBytes?: number | undefined
}

export async function startImport(db: Database, draft: NewImport, act: Act): Promise<Import> {
  const { source, environment, mode, dryRun, asOf, totalBytes } = draft
  const values = [source, environment, mode, dryRun, asOf, totalBytes, act.by.name, act.by.requestId, act.at]
  return db.transaction(async (sql) => {
    if (mode === 'snapshot' && !dryRun) await sql.query(table.lockSnapshots, [source, environment])
    const [started] = await sql.query<Import>(table.insertImport, values)
    await recordAct(sql, act, 'import.started', `import:${started!.id}`, { source, mode, dryRun })
    return started!
  })
}

export async function getImport(sql: Sql, id: number, environment?: Environment): Promise<Import> {
  const [found] = await sql.query<Import>(table.selectImport, [id])
  if (!found || (environment !== undefined && found.environment !== environment))
    throw new NotFound(`There is no import ${id}.`)
  return found
}

interface ImportsAsked {
  readonly environment?: Environment
  readonly sources?: readonly string[]
  readonly before?: number | undefined
}

/** The newest first. */
export function listImports(
  sql: Sql,
  most: number,
  { environment, sources, before }: ImportsAsked = {},
): Promise<Import[]> {
  return sql.query<Import>(table.selectImports, [environment, sources, before, most])
}

/** Kept of one import. */
const faultsAtMost = 1_000

export function listFaults(sql: Sql, id: number, most = faultsAtMost, afterLine = 0): Promise<LineFault[]> {
  return sql.query<LineFault>(table.selectFaults, [id, afterLine, most])
}

/** One statement merges them: on a machine that is busy with something else it still ends long before it would be given up. */
const linesABatch = 2_000
/** Long lines make a batch early, so that what is in memory has a bound. */
const bytesABatch = 8 * 1024 * 1024

interface Batch {
  lines: number
  bytes: number
  readonly rows: StagedRows
  faults: LineFault[]
  end: End | undefined
}

/** How many records there are, as their last line says; `stream` where the end of what is read is the end of them. */
type End = number | 'stream'

export interface Reading {
  /** Told after each batch. */
  readonly progress?: (running: Import) => void
  /** Nothing can cut it short unnoticed: it ends where it ends, whether or not its last line says so. */
  readonly isWhole?: boolean
  readonly act: () => Act | Promise<Act>
}

/** Some twentieth of a millisecond: whoever asks for something else meanwhile hardly waits. */
const linesATurn = 10

/** Reads all of it, from the line after the last that is committed. */
export async function readImport(
  db: Database,
  started: Import,
  stream: AsyncIterable<Buffer>,
  reading: Reading,
): Promise<Import> {
  let committed = Promise.resolve(started)
  let line = started.lines
  let batch = newBatch()
  let spare = newBatch()
  const commit = async () => {
    const running = await committed
    // What was under way is committed: its rows are not needed any more.
    const [full, next] = [batch, newBatch(spare.rows)]
    committed = commitBatch(db, running, full, await outlast(async () => reading.act()))
    spare = full
    batch = next
    // Whoever waits for it hears of its failure: the next batch, or the end.
    committed.then(reading.progress, () => {})
  }
  try {
    for await (const read of readLines(stream)) {
      readLine(batch, read, ++line, started)
      if (batch.lines === linesABatch || batch.bytes >= bytesABatch) await commit()
      if (line % linesATurn === 0) await letOthers()
    }
    if (reading.isWhole) batch.end ??= 'stream'
    if (batch.lines > 0 || batch.end !== undefined) await commit()
  } finally {
    // Also after a cut: who asks how far it came is told of what was under way.
    await committed.catch(() => {})
  }
  return committed
}

function newBatch(rows = new StagedRows()): Batch {
  rows.clear()
  return { lines: 0, bytes: 0, rows, faults: [], end: undefined }
}

function readLine(batch: Batch, { text, bytes }: TextLine, line: number, { complete }: Import): void {
  batch.lines++
  batch.bytes += bytes
  if (text?.trim() === '') return
  if (complete || batch.end !== undefined)
    throw new Invalid([{ field: `line ${line}`, problem: 'comes after the end' }])
  if (text === undefined)
    return void batch.faults.push({ line, field: 'line', problem: 'must be UTF-8, and 64 KiB at most' })
  const record = parseJson(text)
  batch.end = readEnd(record)
  if (batch.end !== undefined) return
  const fault = record === undefined ? { field: 'line', problem: 'must be a JSON object' } : findFault(record)
  if (fault) batch.faults.push({ line, ...fault })
  else batch.rows.add(record as Partial<SourceRecord>, line)
}

/** `{"end": {"records": 3}}` */
function readEnd(line: unknown): number | undefined {
  const end = (line as { end?: { records?: unknown } } | null | undefined)?.end
  return Number.isSafeInteger(end?.records) ? (end!.records as number) : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const triesAtMost = 5

/** A database that was away may have committed it, and could not say so: then it is not said twice. */
function commitBatch(db: Database, running: Import, batch: Batch, act: Act): Promise<Import> {
  const isCommitted = (found: Import) => batch.lines > 0 && found.lines === running.lines + batch.lines
  let hasFailed = false
  return outlast(async () => {
    const found = hasFailed ? await getImport(db, running.id) : undefined
    if (found && isCommitted(found)) return found
    hasFailed = true
    return commitOnce(db, running, batch, act)
  })
}

/** Two who name somebody at once, or lock the same rows in another order, are told so by the database: the same again finds it settled. */
async function commitOnce(db: Database, running: Import, batch: Batch, act: Act): Promise<Import> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction((sql) => applyBatch(sql, running, batch, act))
    } catch (error) {
      if (tries === triesAtMost || !['23505', '40P01', '40001'].includes(String((error as { code?: string }).code)))
        throw error
    }
  }
}

/** Of a dry run, what would come of it is told, and undone again. */
async function applyBatch(sql: Sql, running: Import, batch: Batch, act: Act): Promise<Import> {
  if (batch.rows.isEmpty) return settle(sql, running, batch, nothing, act)
  await stage(sql, batch.rows)
  if (!running.dryRun) return settle(sql, running, batch, await mergeAllStaged(sql, running, act), act)
  await sql.query(table.beginTrial)
  const merged = await mergeAllStaged(sql, running, act)
  await sql.query(table.undoTrial)
  return settle(sql, running, batch, merged, act)
}

const nothing = { ...Object.fromEntries(outcomes.map((each) => [each, 0])), faults: [] } as unknown as Merged

async function settle(sql: Sql, running: Import, batch: Batch, merged: Merged, act: Act): Promise<Import> {
  const faults = [...batch.faults, ...merged.faults]
  const counts = outcomes.map((each) => merged[each] + (each === 'failed' ? batch.faults.length : 0))
  const reached = running.lines + batch.lines
  const [next] = await sql.query<Import>(table.advanceImport, [
    running.id,
    running.lines,
    reached,
    batch.bytes,
    ...counts,
    act.at,
    batch.end !== undefined,
  ])
  if (!next) throw new Conflict(`Somebody else goes on with import ${running.id}, or it has ended.`)
  if (typeof batch.end === 'number') checkEnd(next, batch.end)
  if (faults.length > 0) {
    const fields = (name: keyof LineFault) => faults.map((fault) => fault[name])
    await sql.query(table.insertFaults, [running.id, fields('line'), fields('field'), fields('problem'), faultsAtMost])
  }
  if (running.mode === 'snapshot' && !batch.rows.isEmpty) await sql.query(table.insertSeen, [running.id])
  return next
}

/** Something was lost on the way, or the count is wrong: what was committed before stays, and the import goes on from there. */
function checkEnd(read: Import, records: number): void {
  const came = outcomes.reduce((sum, each) => sum + read[each], 0)
  if (came !== records)
    throw new Invalid([
      { field: 'end.records', problem: `is ${records}, but ${came} records came: send what is missing` },
    ])
}
