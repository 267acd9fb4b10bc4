/**
 * Files of records, a line each, of any length: two thousand lines are read, merged and committed together
 * with how far they reach, while the next are read. Whatever cuts an import, it goes on from the last line
 * that was committed, and lines that come twice do no harm.
 */
import { setImmediate as letOthers } from 'node:timers/promises'
import { type Act, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { codeOf } from '../text/thrown.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { recordOf } from '../vocabulary/record-of.ts'
import { isFull, type LineBatch, newBatch, readLine } from './batch.ts'
import * as table from './imports.sql.ts'
import { readLines } from './lines.ts'
import {
  type ImportMode,
  type importStates,
  type LineFault,
  type MergeResult,
  outcomes,
  type RecordCounts,
} from './outcomes.ts'
import { outlast } from './outlast.ts'
import type { Origin } from './provisioning.ts'
import { getSource } from './source.ts'
import { mergeAllStaged, stage, stageInstead } from './staging.ts'

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

export async function startImport(db: Sql, draft: NewImport, act: Act): Promise<Import> {
  const { source, environment, mode, dryRun, asOf, totalBytes } = draft
  const values = {
    source,
    environment,
    mode,
    dryRun,
    asOf,
    totalBytes,
    actor: act.by.name,
    requestId: act.by.requestId,
    startedAt: act.at,
  }
  return db.transaction(async (sql) => {
    await getSource(sql, { source, environment })
    if (mode === 'snapshot' && !dryRun) await sql.query(table.lockSnapshots, { source, environment })
    const started = await sql.one(table.insertImport, values)
    await recordAct(sql, act, 'import.started', `import:${started.id}`, { source, mode, dryRun })
    return started
  })
}

export async function getImport(sql: Sql, id: number, environment?: Environment): Promise<Import> {
  const [found] = await sql.query(table.selectImport, { id })
  if (!found || (environment !== undefined && found.environment !== environment))
    throw new NotFound(`There is no import ${id}.`)
  return found
}

interface ImportFilter {
  readonly environment?: Environment
  readonly sources?: readonly string[]
  readonly before?: number | undefined
}

/** The newest first. */
export function listImports(
  sql: Sql,
  most: number,
  { environment, sources, before }: ImportFilter = {},
): Promise<Import[]> {
  return sql.query(table.selectImports, { environment, sources, before, most })
}

/** Kept of one import. */
const faultsAtMost = 1_000

export function listFaults(sql: Sql, id: number, most = faultsAtMost, afterLine = 0): Promise<LineFault[]> {
  return sql.query(table.selectFaults, { importId: id, afterLine, most })
}

interface ReadOptions {
  /** Told after each batch. */
  readonly progress?: (running: Import) => void
  /** Nothing can cut it short unnoticed: it ends where it ends, whether or not its last line says so. */
  readonly isWhole?: boolean
  readonly act: () => Act | Promise<Act>
}

/** Some twentieth of a millisecond: other requests hardly wait meanwhile. */
const linesATurn = 10

/** Reads all of it, from the line after the last that is committed. */
export async function readImport(
  db: Sql,
  started: Import,
  stream: AsyncIterable<Buffer>,
  reading: ReadOptions,
): Promise<Import> {
  let committed = Promise.resolve(started)
  let line = started.lines
  let turns = 0
  let batch = newBatch()
  let spare = newBatch()
  const commit = async () => {
    const running = await committed
    // What was under way is committed: its rows are not needed any more.
    const [full, next] = [batch, newBatch(spare.rows)]
    committed = commitBatch(db, running, full, await outlast(async () => reading.act()))
    spare = full
    batch = next
    // Its failure is heard by the caller that awaits it: the next batch, or the end.
    committed.then(reading.progress, () => {})
  }
  try {
    for await (const read of readLines(stream)) {
      line += read.lines
      readLine(batch, read, line, started.complete)
      if (isFull(batch)) await commit()
      if (++turns % linesATurn === 0) await letOthers()
    }
    if (reading.isWhole) batch.end ??= 'stream'
    if (batch.lines > 0 || batch.end !== undefined) await commit()
  } finally {
    // Also after a cut: a client that asks how far it came is told of what was under way.
    await committed.catch(() => {})
  }
  return committed
}

const triesAtMost = 5

/** A database that was away may have committed it, and could not say so: then it is not said twice. */
function commitBatch(db: Sql, running: Import, batch: LineBatch, act: Act): Promise<Import> {
  const isCommitted = (found: Import) => batch.lines > 0 && found.lines === running.lines + batch.lines
  let hasFailed = false
  return outlast(async () => {
    const found = hasFailed ? await getImport(db, running.id) : undefined
    if (found && isCommitted(found)) return found
    hasFailed = true
    return commitOnce(db, running, batch, act)
  })
}

/**
 * Two transactions that name the same person at once, or lock the same rows in another order, are told so by
 * the database: the same again finds it settled. What it refuses for what is in it is halved, and the rest is
 * committed.
 */
async function commitOnce(db: Sql, running: Import, batch: LineBatch, act: Act): Promise<Import> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction((sql) => applyBatch(sql, running, batch, act))
    } catch (error) {
      if (tries < triesAtMost && ['23505', '40P01', '40001'].includes(codeOf(error) ?? '')) continue
      if (!isRefusal(error)) throw error
      return db.transaction((sql) => applyInParts(sql, running, batch, act))
    }
  }
}

/** Values that PostgreSQL does not take, or that its tables do not: no other try changes that. */
const isRefusal = (error: unknown) => /^(22|23|54)/.test(codeOf(error) ?? '')

async function applyBatch(sql: Sql, running: Import, batch: LineBatch, act: Act): Promise<Import> {
  if (batch.rows.isEmpty) return settle(sql, running, batch, nothing, act)
  await stage(sql, batch.rows.bytes())
  return settle(sql, running, batch, await applyStaged(sql, running, act), act)
}

/** Of a dry run, what would come of it is told, and undone again. */
async function applyStaged(sql: Sql, running: Import, act: Act): Promise<MergeResult> {
  if (running.dryRun) await sql.query(table.beginTrial)
  const merged = await mergeAllStaged(sql, running, act)
  if (running.dryRun) await sql.query(table.undoTrial)
  if (running.mode === 'snapshot') await sql.query(table.insertSeen, { importId: running.id })
  return merged
}

/**
 * One half after the other, each on top of what was taken before it, until the line that PostgreSQL refuses
 * stands alone.
 */
async function applyInParts(sql: Sql, running: Import, batch: LineBatch, act: Act): Promise<Import> {
  await stage(sql, Buffer.alloc(0))
  const applyPart = async (from: number, to: number): Promise<MergeResult> => {
    try {
      await sql.query(table.beginPart)
      await stageInstead(sql, batch.rows.bytes(from, to))
      return await applyStaged(sql, running, act)
    } catch (error) {
      if (!isRefusal(error)) throw error
      await sql.query(table.undoPart)
      if (to - from === 1) return refuseLine(batch.rows.lineOf(from))
      const middle = from + Math.floor((to - from) / 2)
      return addUp(await applyPart(from, middle), await applyPart(middle, to))
    }
  }
  return settle(sql, running, batch, await applyPart(0, batch.rows.count), act)
}

function refuseLine(line: number): MergeResult {
  const problem = 'holds a value that the database does not take'
  return { ...nothing, failed: 1, faults: [{ line, field: 'line', problem }] }
}

function addUp(one: MergeResult, other: MergeResult): MergeResult {
  const counts = recordOf(outcomes, (each) => one[each] + other[each])
  return { ...counts, faults: [...one.faults, ...other.faults] }
}

const nothing: MergeResult = { ...recordOf(outcomes, () => 0), faults: [] }

async function settle(
  sql: Sql,
  running: Import,
  batch: LineBatch,
  merged: MergeResult,
  act: Act,
): Promise<Import> {
  const { faults: refused, ...counts } = merged
  const faults = [...batch.faults, ...refused]
  const [next] = await sql.query(table.advanceImport, {
    ...counts,
    failed: counts.failed + batch.faults.length,
    id: running.id,
    lines: running.lines,
    reached: running.lines + batch.lines,
    bytes: batch.bytes,
    updatedAt: act.at,
    isComplete: batch.end !== undefined,
  })
  if (!next) throw new Conflict(`Somebody else goes on with import ${running.id}, or it has ended.`)
  if (typeof batch.end === 'number') checkEnd(next, batch.end)
  if (faults.length > 0) {
    await sql.query(table.insertFaults, {
      importId: running.id,
      lines: faults.map(({ line }) => line),
      fields: faults.map(({ field }) => field),
      problems: faults.map(({ problem }) => problem),
      most: faultsAtMost,
    })
  }
  return next
}

/**
 * Something was lost on the way, or the count is wrong: what was committed before stays, and the import goes
 * on from there.
 */
function checkEnd(read: Import, records: number): void {
  const came = outcomes.reduce((sum, each) => sum + read[each], 0)
  if (came !== records)
    throw new Invalid([
      { field: 'end.records', problem: `is ${records}, but ${came} records came: send what is missing` },
    ])
}
