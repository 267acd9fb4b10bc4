/**
 * How an import ends. A snapshot is everything that a source has: what it does not have is removed, as of the version that is known of it. More than a share of all
 * that is known waits for somebody's yes, because a file that was cut short looks like a house that lost its customers.
 */
import { type Act, gatewayAct, recordAct } from '../audit/audit.ts'
import { after, type Clock, day } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import { getImport, type Import } from './import.ts'
import * as table from './imports.sql.ts'
import { mergeAll } from './provisioning.ts'
import type { RecordKind, SourceRecord } from './record.ts'

const keysABatch = 1_000

/** After its last line. `guardPercent`: more than so much of what is known is not removed without a yes. */
export async function finishImport(db: Database, read: Import, guardPercent: number, act: Act): Promise<Import> {
  const turned = await db.transaction(async (sql) => {
    if (read.mode === 'changes') return end(sql, read, ['running'], 'finished', act)
    const { source, startedAt, asOf } = read
    const [found] = await sql.query<{ known: number; missing: number }>(table.findMissing, [
      read.id,
      source,
      startedAt,
      asOf,
      keysABatch,
    ])
    if (read.dryRun) return end(sql, read, ['running'], 'finished', act, found)
    const { known, missing } = found!
    const state = missing * 100 > known * guardPercent ? 'needs approval' : 'removing'
    return turn(sql, read, ['running'], state, act, found)
  })
  return turned.state === 'removing' ? removeMissing(db, turned, act) : turned
}

type Found = { readonly known: number; readonly missing: number }

async function turn(
  sql: Sql,
  { id }: Import,
  from: readonly Import['state'][],
  to: Import['state'],
  act: Act,
  found?: Found,
): Promise<Import> {
  const [turned] = await sql.query<Import>(table.turnImport, [id, from, to, found?.missing, found?.known, act.at])
  if (!turned) throw new Conflict(`Import ${id} is no longer ${from.join(' or ')}.`)
  return turned
}

async function end(
  sql: Sql,
  read: Import,
  from: readonly Import['state'][],
  to: 'finished' | 'stopped',
  act: Act,
  found?: Found,
): Promise<Import> {
  const ended = await turn(sql, read, from, to, act, found)
  await sql.query(table.forgetKeys, [read.id])
  await recordEnd(sql, ended, act)
  return ended
}

function recordEnd(
  sql: Sql,
  { id, state, source, lines, created, changed, removed, failed }: Import,
  act: Act,
): Promise<void> {
  const action = state === 'stopped' ? 'import.stopped' : 'import.finished'
  return recordAct(sql, act, action, `import:${id}`, { source, lines, created, changed, removed, failed })
}

/** Somebody's yes: what is missing is removed. */
export async function allowRemoval(db: Database, id: number, act: Act): Promise<Import> {
  return db.transaction(async (sql) => {
    const allowed = await turn(sql, await getImport(sql, id), ['needs approval'], 'removing', act)
    await recordAct(sql, act, 'import.allowed', `import:${id}`, { source: allowed.source, missing: allowed.missing })
    return allowed
  })
}

/** What is committed stays; nothing more comes of it. */
export async function stopImport(db: Database, id: number, act: Act): Promise<Import> {
  return db.transaction(async (sql) =>
    end(sql, await getImport(sql, id), ['running', 'needs approval'], 'stopped', act),
  )
}

/** A batch after the other, each committed; several may be at it. */
export async function removeMissing(db: Database, removing: Import, act: Act): Promise<Import> {
  while (await db.transaction((sql) => removeBatch(sql, removing, act)));
  return db.transaction(async (sql) => {
    await sql.query(table.lockImport, [removing.id])
    const [finished] = await sql.query<Import>(table.finishRemoving, [removing.id, act.at])
    if (!finished) return getImport(sql, removing.id)
    await sql.query(table.forgetKeys, [removing.id])
    await recordEnd(sql, finished, act)
    return finished
  })
}

async function removeBatch(sql: Sql, removing: Import, act: Act): Promise<boolean> {
  const { id, source, startedAt, asOf } = removing
  await sql.query(table.lockImport, [id])
  const [taken] = await sql.query<{ kind: RecordKind; keys: string[] }>(table.takeMissing, [id])
  if (!taken) return false
  const still = await sql.query<{ key: string; version: number }>(table.selectStillMissing, [
    taken.kind,
    source,
    startedAt,
    asOf,
    taken.keys,
  ])
  if (still.length === 0) return true
  const merged = await mergeAll(
    sql,
    removing,
    still.map(({ key, version }, line) => absent(taken.kind, key, version, line)),
    act,
  )
  await sql.query(table.countRemoved, [id, merged.removed, act.at])
  return true
}

function absent(kind: RecordKind, key: string, version: number, line: number): SourceRecord {
  const [customer, account] = key.split(' ')
  return { kind, op: 'absent', version, line, ...(kind === 'holding' ? { customer, account } : { externalId: key }) }
}

/** What a node that died, or an operator's yes, has left to be done. */
export async function removeAllMissing(db: Database, clock: Clock): Promise<void> {
  for (const removing of await db.query<Import>(table.selectRemoving))
    await removeMissing(db, removing, gatewayAct(clock.now()))
}

/** What has ended, and what nobody went on with, is kept for so long. */
const keptMs = 90 * day

export function removeOldImports(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldImports, [after(now, -keptMs), most])
}
