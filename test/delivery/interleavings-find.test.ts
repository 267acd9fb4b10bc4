/**
 * What the interleavings can find. The dispatcher of before, in two statements: it looks for the last unfinished delivery of an entity and then
 * puts a new one behind it. Whoever settles that one in between leaves the new one waiting for ever.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Database, type Sql, statement } from '../../src/database/database.ts'
import { writeToPart } from '../../src/webhooks/part.ts'
import { openTestDatabase } from '../support/database.ts'
import * as hand from '../support/hand-worker.ts'
import { InterleavedHouse, type Situation } from '../support/interleaved-house.ts'
import { openStage } from '../support/interleaving.ts'
import { keepOpen } from '../support/keep-open.ts'

const database = await keepOpen(openTestDatabase())
const house = await InterleavedHouse.open(database.url)
await keepOpen(house.db)
const stage = await keepOpen(openStage(database.url, 2))

const selectTail = statement(
  'old_select_tail',
  'SELECT max(id) AS id FROM queued_deliveries WHERE webhook_id = $1 AND entity = $2 AND urgency = 0',
)

const insertBehind = statement(
  'old_insert_behind',
  `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
   SELECT d.delivery_offset + nextval('delivery_numbers'), $1, $2, $3, 0, $4, CASE WHEN $4::bigint IS NULL THEN $5::timestamptz ELSE 'infinity' END, $5
   FROM days d WHERE d.day = day_of($5)`,
)

async function lookAndInsert(sql: Sql, { due }: Situation): Promise<void> {
  const { webhookId, eventId, entity } = due[1]!
  const [tail] = await sql.query<{ id: number | null }>(selectTail, [webhookId, entity])
  await sql.query(insertBehind, [webhookId, eventId, entity, tail!.id, house.clock.now()])
}

type Run = (db: Database, situation: Situation) => Promise<unknown>

const { clock, days } = house
const settle: Run = (db, { lane, due }) => hand.settle({ db, clock, days }, lane, due, hand.accepted)

/** Beside a settlement, or another, in every order; answers in how many a delivery waits behind the wrong one, and how many there are. */
async function play(dispatch: Run, other = { act: 'settle', run: settle }): Promise<[number, number]> {
  let broken = 0
  const prepare = async () => {
    await house.startAfresh()
    const situation = await house.arrange()
    const players = [
      { name: 'dispatch', act: 'dispatch', run: (db: Database) => dispatch(db, situation) },
      { name: 'the other', act: other.act, run: (db: Database) => other.run(db, situation) },
    ]
    return { players, ignores: () => false }
  }
  const orders = await stage.playAll(prepare, async () => {
    const promises = (await house.findBroken()).map(({ promise }) => promise)
    if (promises.includes('chain')) broken++
  })
  return [broken, orders]
}

test('a dispatcher that looks first and inserts later is caught: in some orders deliveries wait behind what is settled', async () => {
  const [broken, orders] = await play((db, situation) => db.transaction((sql) => lookAndInsert(sql, situation)))
  assert.ok(broken > 0, 'there is an order that strands a delivery')
  assert.ok(broken < orders, 'there is an order that does not')
})

test('the same under the lock of the part strands nothing, in any order', async () => {
  const [broken, orders] = await play((db, situation) =>
    writeToPart(db, house.part, (sql) => lookAndInsert(sql, situation)),
  )
  assert.equal(broken, 0)
  assert.ok(orders > 1)
})

test('two that do the same are played in fewer orders, and are caught as well', async () => {
  const dispatch: Run = (db, situation) => db.transaction((sql) => lookAndInsert(sql, situation))
  const [broken, orders] = await play(dispatch, { act: 'dispatch too', run: dispatch })
  const [brokenByTwins, ordersOfTwins] = await play(dispatch, { act: 'dispatch', run: dispatch })
  assert.ok(broken > 0 && broken < orders, `${broken} of ${orders}`)
  assert.ok(brokenByTwins > 0 && ordersOfTwins < orders, `${brokenByTwins} of ${ordersOfTwins}`)
})
