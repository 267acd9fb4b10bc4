/** What must never be, made by hand: each is found, and what can be mended is, so that everything is sent in the end. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { pino } from 'pino'
import { findEntries } from '../../src/audit/audit.ts'
import { hour, second } from '../../src/clock.ts'
import { statement } from '../../src/database/database.ts'
import { openMetrics } from '../../src/metrics/metrics.ts'
import { openDeletedClearing } from '../../src/webhooks/clearing.ts'
import { findBroken, type Promised, promises, wholeScope } from '../../src/webhooks/invariants.ts'
import { expire } from '../../src/webhooks/retention.ts'
import { openSweeper } from '../../src/webhooks/sweeper.ts'
import { freeLanes } from '../../src/webhooks/workers.sql.ts'
import { openTestDatabase } from '../support/database.ts'
import { InterleavedHouse, type Situation } from '../support/interleaved-house.ts'
import { keepOpen } from '../support/keep-open.ts'

const database = await keepOpen(openTestDatabase())
const house = await InterleavedHouse.open(database.url)
const { db, clock } = house
await keepOpen(db)
const metrics = openMetrics({ db, streamDb: db }, clock)
const sweeper = openSweeper({ db, clock, log: pino({ enabled: false }), metrics })

afterEach(() => house.startAfresh())

function sql<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return db.query<Row>(statement('', text), values)
}

async function findNames(): Promise<Promised[]> {
  const broken = await findBroken(db, clock.now(), wholeScope())
  return [...new Set(broken.map(({ promise }) => promise))].sort()
}

async function count(promise: Promised): Promise<number> {
  const text = await metrics.print()
  return Number(text.match(new RegExp(`countersign_broken_promises_total\\{promise="${promise}"\\} (\\d+)`))![1])
}

const ago = (ms: number) => new Date(clock.now().getTime() - ms)

/** Moved as a settlement would that forgets whoever waits behind: what a dispatcher that looks first and inserts later leaves behind. */
const settleAlone = `WITH gone AS (DELETE FROM queued_deliveries WHERE id = $1 RETURNING *)
  INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
  SELECT id, webhook_id, event_id, entity, 'delivered', 1, created_at, $2 FROM gone`

interface Breach {
  readonly promise: Promised
  readonly what: string
  readonly make: (situation: Situation) => Promise<unknown>
}

const mendable: readonly Breach[] = [
  {
    ...{ promise: 'chain', what: 'a delivery that waits behind one that has ended' },
    make: ({ due }) => sql(settleAlone, [due[0]!.id, clock.now()]),
  },
  {
    ...{ promise: 'chain', what: 'a delivery that waits behind one that never was' },
    make: () => sql('UPDATE queued_deliveries SET after_id = 1 WHERE after_id IS NOT NULL'),
  },
  {
    ...{ promise: 'order', what: 'a delivery that may go although an earlier one of its entity is unfinished' },
    make: () =>
      sql('UPDATE queued_deliveries SET after_id = NULL, due_at = $1 WHERE after_id IS NOT NULL', [clock.now()]),
  },
  {
    ...{ promise: 'event', what: 'a delivery whose event is gone' },
    make: ({ due }) => sql('DELETE FROM events WHERE id = $1', [due[0]!.eventId]),
  },
  {
    ...{ promise: 'attention', what: 'a lane with work that nobody holds and nobody is to look at' },
    make: () => sql('UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = NULL'),
  },
  {
    ...{ promise: 'sight', what: 'a delivery that is due before the moment from which its lane is read' },
    async make() {
      await sql('UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = NULL, due_from = $1', [
        ago(6 * second),
      ])
      await sql('UPDATE lanes SET attention_at = $1', [clock.now()])
      await sql('UPDATE queued_deliveries SET due_at = $1 WHERE after_id IS NULL', [ago(hour)])
    },
  },
]

for (const { promise, what, make } of mendable) {
  test(`${what} is found, counted and mended, and everything is sent`, async () => {
    const situation = await house.arrange()
    const before = await count(promise)
    assert.deepEqual(await findNames(), [])
    await make(situation)
    assert.deepEqual(await findNames(), [promise])
    const { broken, mended } = await sweeper.sweep()
    assert.ok(broken.length > 0 && mended > 0)
    assert.equal(await count(promise), before + broken.length)
    const [entry] = await findEntries(db, { action: 'webhook.mended', limit: 1 })
    assert.equal(entry!.subject, `webhook:${situation.webhook.id}`)
    assert.deepEqual(await sweeper.sweep(), { broken: [], mended: 0 })
    await house.check()
  })
}

test('what waits for a webhook that was called cleared is found, and cleared away', async () => {
  const { webhook } = await house.arrange()
  await house.dispatch(db)
  await sql(`UPDATE webhooks SET state = 'deleted', cleared_at = $2 WHERE id = $1`, [webhook.id, clock.now()])
  assert.deepEqual(await findNames(), ['cleared'])
  assert.equal((await sweeper.sweep()).mended, 1)
  const deleted = openDeletedClearing(db, clock)
  while ((await deleted.clearOnce()) > 0);
  assert.deepEqual(await findNames(), [])
  assert.deepEqual(await sql('SELECT id FROM queued_deliveries'), [])
})

test('a lease that nobody ends is found when it has been over for half a minute, and counted when it stays so', async () => {
  await house.arrange()
  await sql('UPDATE workers SET seen_at = $1', [ago(29 * second)])
  assert.deepEqual(await findNames(), [])
  clock.advance(2 * second)
  assert.deepEqual(await findNames(), ['lease'])
  assert.deepEqual((await sweeper.sweep()).broken, [])
  assert.equal((await sweeper.sweep()).broken.length, 1)
  await sql('UPDATE workers SET seen_at = $1', [clock.now()])
  assert.deepEqual((await sweeper.sweep()).broken, [])
  await sql('DELETE FROM workers')
  assert.deepEqual(await findNames(), ['lease'])
  await db.query(freeLanes, [clock.now()])
  assert.deepEqual(await findNames(), [])
})

test('what waited behind a delivery that expires is due no earlier than its lane looks, however late the clock of whoever expires it', async () => {
  const { due } = await house.arrange()
  await sql('UPDATE lanes SET due_from = $1', [clock.now()])
  await sql('UPDATE queued_deliveries SET due_at = $1 WHERE after_id IS NULL', [clock.now()])
  assert.equal(await expire(db, house.part, [due[0]!.id], { now: () => ago(hour) }), 1)
  assert.deepEqual(await findNames(), [])
  await house.check()
})

/** The newest of the entity's chain, which nobody waits behind. */
const dropLast = 'DELETE FROM queued_deliveries WHERE id = (SELECT max(id) FROM queued_deliveries) RETURNING event_id'

const told: readonly Breach[] = [
  { promise: 'count', what: 'a delivery that vanished', make: () => sql(dropLast) },
  {
    ...{ promise: 'wanted', what: 'a delivery that was never made' },
    async make() {
      await sql('UPDATE webhooks SET updated_at = $1', [ago(hour)])
      const [gone] = await sql<{ event_id: number }>(dropLast)
      await sql('UPDATE branch_log SET deliveries = deliveries - 1 WHERE event_id = $1', [gone!.event_id])
    },
  },
  {
    ...{ promise: 'gap', what: 'a number of a branch that is missing' },
    make: () =>
      sql('UPDATE branch_log SET sequence = sequence + 1 WHERE sequence = (SELECT max(sequence) FROM branch_log)'),
  },
  {
    ...{ promise: 'gap', what: 'a day of a branch whose numbers do not begin where the day before ended' },
    make: () => sql(`INSERT INTO branch_days SELECT branch_id, environment, day - 1, 1, first - 2 FROM branch_days`),
  },
  { promise: 'log', what: 'an event that has no number and waits for none', make: () => sql('DELETE FROM inbox') },
]

for (const { promise, what, make } of told) {
  test(`${what} is found and told: nothing could mend it unseen`, async () => {
    const situation = await house.arrange()
    assert.deepEqual(await findNames(), [])
    await make(situation)
    assert.deepEqual(await findNames(), [promise])
    // Whether every single event has a number is too much to ask each minute.
    const { broken, mended } = await sweeper.sweep()
    assert.deepEqual([...new Set(broken.map((each) => each.promise))], promise === 'log' ? [] : [promise])
    assert.equal(mended, 0)
  })
}

test('every promise has a breach above', () => {
  const broken = new Set([...mendable, ...told].map(({ promise }) => promise))
  assert.deepEqual([...broken, 'lease', 'cleared'].sort(), Object.keys(promises).sort())
})
