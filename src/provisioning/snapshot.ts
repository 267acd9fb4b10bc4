/**
 * How an import ends. A snapshot is everything that a source has: what it does not have is removed, as of the
 * version that is known of it. More than a share of all that is known waits for an operator's yes, because a
 * file that was cut short looks like a house that lost its customers.
 */
import { type Act, gatewayAct, recordAct } from '../audit/audit.ts'
import { type Clock, day, after as later } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { getImport, type Import } from './import.ts'
import { findNewerSnapshot } from './import-review.ts'
import * as table from './imports.sql.ts'
import { outlast } from './outlast.ts'
import { mergeAll } from './provisioning.ts'
import type { SourceRecord } from './record.ts'

const keysABatch = 1_000
/** What is only looked at goes in larger pieces: a row is written for each part of a page. */
const keysAPage = 5_000

/** After its last line. `guardPercent`: more than so much of what is known is not removed without a yes. */
export async function finishImport(db: Sql, read: Import, guardPercent: number, act: Act): Promise<Import> {
  if (read.mode === 'changes') return db.transaction((sql) => end(sql, read, ['running'], 'finished', act))
  if (!read.complete) throw new Invalid([endIsMissing])
  const counts = await outlast(() => compare(db, read))
  if (read.dryRun) return db.transaction((sql) => end(sql, read, ['running'], 'finished', act, counts))
  const state = counts.missing * 100 > counts.known * guardPercent ? 'needs approval' : 'removing'
  const turned = await db.transaction(async (sql) => {
    await refuseOvertaken(sql, read.id)
    return turn(sql, read, ['running'], state, act, counts)
  })
  return state === 'removing' ? removeMissing(db, turned, act) : turned
}

/** What ends without it may have been cut short, and what was cut off would be removed. */
const endIsMissing = {
  field: 'end',
  problem:
    'is missing: the last line of a snapshot must say how many records it has, such as {"end": {"records": 3}}',
}

/**
 * Page by page, then part by part, so that no statement takes long. Cut, it is done again, and finds the
 * same.
 */
async function compare(db: Sql, { id, source, startedAt, asOf }: Import): Promise<SnapshotCounts> {
  await db.query(table.forgetKnown, { importId: id })
  let known = 0
  for (const note of [table.noteKnownCustomers, table.noteKnownAccounts]) {
    let after = ''
    for (;;) {
      const values = { importId: id, source, startedAt, asOf, after, most: keysAPage }
      const page = await db.one(note, values)
      known += page.known
      if (page.last === null) break
      after = page.last
    }
  }
  for (let part = 0; part < table.parts; part++) await db.query(table.findMissing, { importId: id, part })
  await db.query(table.forgetKnown, { importId: id })
  const counted = await db.one(table.countMissing, { importId: id })
  return { known, missing: counted.missing }
}

type SnapshotCounts = { readonly known: number; readonly missing: number }

async function turn(
  sql: Sql,
  { id }: Import,
  from: readonly Import['state'][],
  to: Import['state'],
  act: Act,
  counts?: SnapshotCounts,
): Promise<Import> {
  const [turned] = await sql.query(table.turnImport, {
    id,
    from,
    to,
    missing: counts?.missing,
    known: counts?.known,
    updatedAt: act.at,
  })
  if (!turned) throw new Conflict(`Import ${id} is no longer ${from.join(' or ')}.`)
  return turned
}

async function end(
  sql: Sql,
  read: Import,
  from: readonly Import['state'][],
  to: 'finished' | 'stopped',
  act: Act,
  counts?: SnapshotCounts,
): Promise<Import> {
  const ended = await turn(sql, read, from, to, act, counts)
  await recordEnd(sql, ended, act)
  return ended
}

function recordEnd(
  sql: Sql,
  { id, state, source, lines, created, changed, removed, failed }: Import,
  act: Act,
  newer?: number,
): Promise<void> {
  const action = state === 'stopped' ? 'import.stopped' : 'import.finished'
  const details = { source, lines, created, changed, removed, failed, ...(newer !== undefined && { newer }) }
  return recordAct(sql, act, action, `import:${id}`, details)
}

/**
 * Nothing is removed past a newer snapshot, which may have what this one lacks: it was sent again, or its
 * sender goes on with what was cut long ago.
 */
async function refuseOvertaken(sql: Sql, id: number): Promise<void> {
  const newer = await findNewerSnapshot(sql, id)
  if (newer !== undefined)
    throw new Conflict(
      `Import ${newer} is a newer snapshot of the same source: stop import ${id}, and go by that one.`,
    )
}

/** An operator's yes: what is missing is removed. */
export async function allowRemoval(db: Sql, id: number, act: Act): Promise<Import> {
  return db.transaction(async (sql) => {
    await refuseOvertaken(sql, id)
    const allowed = await turn(sql, await getImport(sql, id), ['needs approval'], 'removing', act)
    await recordAct(sql, act, 'import.allowed', `import:${id}`, {
      source: allowed.source,
      missing: allowed.missing,
    })
    return allowed
  })
}

/** What is committed stays; nothing more comes of it. */
export async function stopImport(db: Sql, id: number, act: Act): Promise<Import> {
  return db.transaction(async (sql) =>
    end(sql, await getImport(sql, id), ['running', 'needs approval'], 'stopped', act),
  )
}

/**
 * A batch after the other, each committed; several may be at it. Once a newer snapshot of the source has
 * begun, nothing more goes, and this one is stopped.
 */
export async function removeMissing(db: Sql, removing: Import, act: Act): Promise<Import> {
  while (await db.transaction((sql) => removeBatch(sql, removing, act)));
  return db.transaction(async (sql) => {
    await goAlone(sql, removing)
    const [ended] = await sql.query(table.endRemoving, { id: removing.id, at: act.at })
    if (!ended) return getImport(sql, removing.id)
    await recordEnd(
      sql,
      ended,
      act,
      ended.state === 'stopped' ? await findNewerSnapshot(sql, ended.id) : undefined,
    )
    return ended
  })
}

/** No snapshot of the source begins meanwhile, and no other transaction removes for this one. */
async function goAlone(sql: Sql, { id, source, environment }: Import): Promise<void> {
  await sql.query(table.shareSnapshots, { source, environment })
  await sql.query(table.lockImport, { id })
}

async function removeBatch(sql: Sql, removing: Import, act: Act): Promise<boolean> {
  const { id, source, startedAt, asOf } = removing
  await goAlone(sql, removing)
  const taken = await sql.query(table.takeMissing, { importId: id, most: keysABatch })
  if (taken.length === 0) return false
  const asked = {
    kinds: taken.map(({ kind }) => kind),
    keys: taken.map(({ key }) => key),
    source,
    startedAt,
    asOf,
  }
  const still = await sql.query(table.selectStillMissing, asked)
  const merged = await mergeAll(sql, removing, still.map(absent), act, `import:${id}`)
  await sql.query(table.countRemoved, { id, removed: merged.removed, updatedAt: act.at })
  return true
}

interface AbsentRecord extends Pick<SourceRecord, 'kind' | 'version'> {
  readonly key: string
}

function absent({ kind, key, version }: AbsentRecord, line: number): SourceRecord {
  const [customer, account] = key.split(' ')
  return {
    kind,
    op: 'absent',
    version,
    line,
    ...(kind === 'holding' ? { customer, account } : { externalId: key }),
  }
}

/** What a node that died, or an operator's yes, has left to be done. */
export async function removeAllMissing(db: Sql, clock: Clock): Promise<void> {
  for (const removing of await db.query(table.selectRemoving))
    await removeMissing(db, removing, gatewayAct(clock.now()))
}

/** Imports that have ended, or were not continued, are kept for so long. */
const keptMs = 90 * day

export async function removeOldImports(sql: Sql, now: Date, most: number): Promise<object[]> {
  const limits = { before: later(now, -keptMs), most }
  const forgotten: object[] = []
  for (const forget of [table.forgetSeen, table.forgetKnownOfOld, table.forgetMissing])
    forgotten.push(...(await sql.query(forget, limits)))
  return forgotten.length > 0 ? forgotten.slice(0, most) : sql.query(table.deleteOldImports, limits)
}
