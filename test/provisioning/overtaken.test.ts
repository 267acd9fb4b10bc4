/**
 * A newer snapshot begins while an older one of the same source removes what it lacks: the older one removes
 * nothing more, on whichever node it goes on.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { tell } from '../../src/audit/sentence.ts'
import type { Database, Sql } from '../../src/database/database.ts'
import { getImport, type Import, listImports, startImport } from '../../src/provisioning/import.ts'
import {
  allowRemoval,
  removeAllMissing,
  removeMissing,
  removeOldImports,
} from '../../src/provisioning/snapshot.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { TestClock } from '../support/clock.ts'
import { openTestDatabase } from '../support/database.ts'
import { holdSnapshot, households, importLines, readSome } from '../support/imports.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { nameSource, readSource } from '../support/provisioning.ts'

const database = await keepOpen(openTestDatabase())
// No gateway: nobody but the test removes.
const db = await keepOpen(
  Promise.resolve(openLenientDatabase({ connectionString: database.url, connections: 4 })),
)
const clock = new TestClock()
const house = {
  gateway: { context: { db } },
  act: () => ({ by: { name: 'operator:test' }, at: clock.now() }),
}

/** Of so many customers it lacks all but one, and may remove them: three records each. */
async function holdRemoving(customers = 4): Promise<Import> {
  const held = await holdSnapshot(house, customers)
  return allowRemoval(db, held.id, house.act())
}

const snapshot = { mode: 'snapshot', asOf: 1 } as const

const begin = (
  { source, environment }: Pick<Import, 'source' | 'environment'>,
  { mode = 'snapshot', dryRun = false }: Partial<Pick<Import, 'mode' | 'dryRun'>> = {},
  on: Sql = db,
) =>
  startImport(
    on,
    { source, environment, mode, dryRun, asOf: mode === 'snapshot' ? 1 : undefined },
    house.act(),
  )

const holdings = async ({ source }: Import) => (await readSource(db, source)).holdings!.length
const countListed = 'SELECT count(*)::int AS listed FROM import_missing WHERE import_id = $1'
const listed = async ({ id }: Import) => (await ask<{ listed: number }>(db, countListed, [id]))[0]!.listed

test('once a newer snapshot has begun, the older one removes nothing more and is stopped, and its list is forgotten', async () => {
  const older = await holdRemoving()
  const newer = await begin(older)
  const ended = await removeMissing(db, older, house.act())
  assert.deepEqual([ended.state, ended.removed, ended.missing], ['stopped', 0, 9])
  assert.deepEqual(ended.finishedAt, clock.now())
  assert.equal(await holdings(older), 4)
  const [entry] = await findEntries(db, { action: 'import.stopped', limit: 1 })
  assert.deepEqual([entry!.subject, entry!.details.newer], [`import:${older.id}`, newer.id])
  const sentence = tell(entry!).map((part) => (typeof part === 'string' ? part : part.id))
  assert.match(sentence.join(''), new RegExp(`: import ${newer.id}, a newer snapshot, has begun$`))
  await removeOldImports(db, clock.now(), 1_000)
  assert.equal(await listed(older), 0)
  await removeAllMissing(db, clock)
  assert.deepEqual(await getImport(db, older.id), ended)
})

test('what was removed before stays so and is counted; nothing that the newer one has goes afterwards', async () => {
  const older = await holdRemoving(401)
  assert.equal(older.missing, 1_200)
  let bites = 0
  let newer: Import | undefined
  const interrupted: Database = {
    ...db,
    async transaction(work) {
      if (++bites === 2) newer = await readSome(house, older.source, households(older.source, 401), snapshot)
      return db.transaction(work)
    },
  }
  const ended = await removeMissing(interrupted, older, house.act())
  assert.deepEqual([ended.state, ended.removed, ended.missing], ['stopped', 1_000, 1_200])
  assert.equal(newer!.unchanged, 1_203)
  const { accounts } = await readSource(db, older.source)
  assert.equal(accounts!.filter((each) => (each as { said: unknown }).said !== null).length, 201)
})

test('a removal that goes on elsewhere while the newer one begins waits for it, and then removes nothing', async () => {
  const older = await holdRemoving()
  const [, behind] = await runBehind(
    db,
    (first) => begin(older, {}, first),
    () => removeMissing(db, older, house.act()),
  )
  assert.ok(behind.status === 'fulfilled')
  assert.deepEqual([behind.value.state, behind.value.removed], ['stopped', 0])
  assert.equal(await holdings(older), 4)
})

test('a newer snapshot begins when what is being removed has been: it never meets half of it', async () => {
  const older = await holdRemoving()
  const [, behind] = await runBehind(
    db,
    (first) => removeMissing(first, older, house.act()),
    async () => [await begin(older), await getImport(db, older.id)] as const,
  )
  assert.ok(behind.status === 'fulfilled')
  const [newer, seen] = behind.value
  assert.deepEqual([seen.state, seen.removed], ['finished', 9])
  assert.ok(newer.id > older.id)
})

test('of two that begin at once the second has the greater number, and finds the first', async () => {
  const { source } = await holdSnapshot(house)
  const [first, behind] = await runBehind(
    db,
    (held) => begin({ source, environment: 'live' }, {}, held),
    async () => {
      const second = await begin({ source, environment: 'live' })
      return [second.id, (await listImports(db, 2, { sources: [source] })).map(({ id }) => id)] as const
    },
  )
  assert.ok(behind.status === 'fulfilled')
  const [second, newest] = behind.value
  assert.deepEqual(newest, [second, first.id])
})

test('an older one that has nothing left to remove is finished, whatever has begun', async () => {
  const older = await holdRemoving()
  let transactions = 0
  const late: Database = {
    ...db,
    async transaction(work) {
      // A bite, another that finds nothing, and the end.
      if (++transactions === 3) await begin(older)
      return db.transaction(work)
    },
  }
  const ended = await removeMissing(late, older, house.act())
  assert.deepEqual([ended.state, ended.removed], ['finished', 9])
})

test('a dry run, a file of changes, another source and another site hold up no removal', async () => {
  const older = await holdRemoving()
  await begin(older, { dryRun: true })
  await begin(older, { mode: 'changes' })
  await begin({ source: await nameSource(house), environment: 'live' })
  await begin({ source: 'sandbox', environment: 'sandbox' })
  const ended = await removeMissing(db, older, house.act())
  assert.deepEqual([ended.state, ended.removed], ['finished', 9])
  assert.equal(await holdings(older), 1)
})

test('the newest one still removes what it lacks', async () => {
  const older = await holdRemoving(400)
  const newest = await importLines(house, older.source, households(older.source, 399), snapshot)
  assert.deepEqual([newest.state, newest.removed], ['finished', 3])
  assert.equal((await removeMissing(db, older, house.act())).state, 'stopped')
  assert.equal(await holdings(older), 399)
})
