/** What is carried to a part: events and acts, in their order, whatever happens meanwhile. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { second } from '../../src/clock.ts'
import type { Database, Sql } from '../../src/database/database.ts'
import { carry, carrySoon } from '../../src/webhooks/events/carrier.ts'
import type { NumberedBatch } from '../../src/webhooks/events/numbered-batch.ts'
import { feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { undo } from '../support/look-inside.ts'
import { openEngineHouse } from './house.ts'

const house = await openEngineHouse()
after(() => house.close())
const branch = await house.makeBranch()
const part = partOf(branch)
const feed = feedOf({ branchId: branch, environment: 'live' })
const webhook = await house.makeWebhook(branch, '/carried')

const publish = (sql: Sql, entity: string) =>
  sql.script(`INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
    VALUES (${part}, ${feed}, '${house.clock.now().toISOString()}', 'TRANSACTION', 'SUBMITTED', '${entity}', '{}')`)

const act = (sql: Sql, isActive: boolean) =>
  sql.script(`INSERT INTO outbox_acts (part, webhook_id, feed, is_active, may_act, kinds, actions)
    VALUES (${part}, ${webhook}, ${feed}, ${isActive}, true, '{TRANSACTION}', '{}')`)

async function carryAt(db: Database): Promise<NumberedBatch['entries']> {
  let entries: NumberedBatch['entries'] = []
  const numbered = (batch: NumberedBatch) => {
    entries = batch.entries
  }
  await carry(db, part, { now: house.clock.now(), numbered })
  return entries
}

const carryOnce = async () => (await carryAt(house.db)).map(({ entity }) => entity)

const countActs = async () => (await house.sql('SELECT FROM outbox_acts')).length

test('events that wait behind acts are carried after them, however long that takes', async () => {
  for (const isActive of [false, true, false, true]) await act(house.db, isActive)
  await publish(house.db, 'after them')
  for (let left = 3; left >= 0; left--) {
    // The floor of the outbox rises so often.
    house.clock.advance(11 * second)
    assert.deepEqual(await carryOnce(), [])
    assert.equal(await countActs(), left)
  }
  assert.deepEqual(await carryOnce(), ['after them'])
})

test('an event is not carried before an act that was there when it was published', async () => {
  let carried: Promise<string[]> | undefined
  await house.db.transaction(async (sql) => {
    await sql.script('LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE')
    carried = carryOnce()
    await house.untilBlocked()
    await act(sql, true)
    await publish(sql, 'judged by it')
  })
  assert.deepEqual(await carried, [])
  assert.deepEqual(await carryOnce(), [])
  assert.equal(await countActs(), 0)
  assert.deepEqual(await carryOnce(), ['judged by it'])
})

test('who waits for an act goes on when it was followed, and every act before it', async () => {
  await publish(house.db, 'first')
  await act(house.db, false)
  await act(house.db, true)
  await carrySoon(house.db, part, house.clock.now())
  assert.equal(await countActs(), 0)
  assert.deepEqual(await house.sql("SELECT FROM log WHERE entity = 'first'"), [{}])
})

test('what a carrier has appended that ended in between is carried again, and neither numbered nor told of again', async () => {
  await publish(house.db, 'appended')
  const ending: Database = { ...house.db, transaction: (work) => undo(house.db, work) }
  const entries = await carryAt(ending)
  assert.deepEqual(
    entries.map(({ entity }) => entity),
    ['appended'],
  )
  await publish(house.db, 'later')
  assert.deepEqual(await carryOnce(), ['later'])
  const rows = await house.sql('SELECT seq FROM log WHERE part = $1 AND entity = $2', [part, 'appended'])
  assert.deepEqual(rows, [{ seq: entries[0]!.seq }])
})
