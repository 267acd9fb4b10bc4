/** Two that want the same rows at the same moment: nothing is lost and nobody is left behind. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellOfAct } from '../../src/webhooks/engine/cursor-acts.sql.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { isDistributed, partOf, poolOf } from '../../src/webhooks/events/part.ts'
import { deleteWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { transaction } from '../support/branch.ts'
import { fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { followByHand } from '../support/follow.ts'
import { keepOpen } from '../support/keep-open.ts'
import { lookAtAll, lookHolding } from '../support/look-inside.ts'
import { fail, gate } from '../support/receiver.ts'
import { isWaiting, serversOf } from '../support/waiting.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))
const { db, sql } = engine
const part = partOf(engine.branchId)
const there = poolOf(db, part)
const stayOpen = 'SET LOCAL idle_in_transaction_session_timeout = 0'

/** An act waits for somebody else's lock, in a statement like this; or what carries it to its part does. */
const actWaits = (like: string) => isWaiting(db, isDistributed() ? '%' : like)

test('a webhook that is deleted while its event is being numbered keeps nothing that waits, and nobody waits for it', async () => {
  const webhook = await engine.makeWebhook('/b')
  await sql(`UPDATE cursors SET wake_at = 'infinity'`)
  await engine.publish({ entity: 'transaction:9' })
  let deleting: Promise<unknown> | undefined
  await there.transaction(async (on) => {
    await on.script(stayOpen)
    assert.equal((await lookHolding(db, on, part, engine.house.clock.now())).entries.length, 1)
    deleting = deleteWebhook(db, webhook, engine.house.act())
    await eventually('the deletion waits for the lane', () => actWaits('%tell_part%'))
  })
  await deleting
  assert.deepEqual(await engine.deliveries(webhook), [])
  assert.deepEqual(await engine.unfinished(), { waiting: 0, blocked: 0 })
  assert.equal((await sql('SELECT FROM log')).length, 1)
})

test('events that are published while a webhook is created are either before it or its own', async () => {
  await sql('DELETE FROM cursors')
  const first = engine.publish({ entity: 'transaction:before' })
  await first
  let creating: ReturnType<typeof engine.makeWebhook> | undefined
  await there.transaction(async (on) => {
    await on.script(stayOpen)
    assert.equal((await lookHolding(db, on, part, engine.house.clock.now())).entries.length, 1)
    creating = engine.makeWebhook('/c')
    await eventually('the webhook waits for the number', () => actWaits('%tell_part%'))
  })
  const webhook = await creating!
  await engine.publish({ entity: 'transaction:after' })
  await lookAtAll(db, part, engine.house.clock.now())
  assert.deepEqual(
    (await engine.deliveries(webhook)).map(({ entity, state }) => [entity, state]),
    [['transaction:after', 'waiting']],
  )
})

interface FireResult {
  readonly eventId: string
  readonly deliveries: readonly { readonly state: string }[]
}

test('a test hook that was published is answered 202 with its event, whatever fails behind it, and is delivered later', async () => {
  const webhook = await engine.makeWebhook('/d')
  await db.script(`CREATE FUNCTION fail() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'a disk is full' USING ERRCODE = '53100'; END $$`)
  await db.script('ALTER TABLE log ADD CONSTRAINT fail CHECK (fail()) NOT VALID')
  const answer = await engine.call('POST', '/v2/webhooks/transaction', transaction())
  await db.script('ALTER TABLE log DROP CONSTRAINT fail')
  await db.script('DROP FUNCTION fail')
  assert.equal(answer.status, 202, answer.text)
  const { eventId, deliveries } = answer.json<FireResult>()
  assert.match(eventId, /^evt_[0-9a-f]{32}$/)
  assert.deepEqual(deliveries, [])
  await lookAtAll(db, part, engine.house.clock.now())
  const made = await engine.deliveries(webhook)
  assert.deepEqual(
    made.map(({ uid }) => printEventId(uid)),
    [eventId],
  )
})

test('a redelivery of a webhook that is deleted at the same moment goes out, or is refused and changes nothing', async () => {
  const webhook = await engine.makeWebhook('/e')
  const now = engine.house.clock.now()
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: 1, state: 'exhausted', at: now })
  const [delivery] = await engine.deliveries(webhook)
  let asking: ReturnType<typeof engine.call> | undefined
  await db.transaction(async (on) => {
    await on.script(stayOpen)
    await ask(on, `UPDATE webhooks SET state = 'deleted' WHERE id = $1`, [webhook.id])
    await on.script(followByHand)
    asking = engine.call('POST', `/v2/deliveries/${delivery!.id}/redeliver`)
    await eventually('the redelivery waits for the lane', () => actWaits('%send_again%'))
  })
  assert.equal((await asking!).status, 409)
  assert.deepEqual(await sql('SELECT FROM agains'), [])
})

test('a lane that is read while somebody skips what it would send does not send it', async () => {
  const worker = await engine.openNode({ ROLES: 'worker' })
  const webhook = await engine.makeWebhook('/f')
  const held = gate()
  engine.receiver.on('/f', (request, ...rest) =>
    (request.body.includes('failing') ? fail : held.behaviour)(request, ...rest),
  )
  await engine.publish({ entity: 'transaction:failing' }, { entity: 'transaction:slow' })
  await eventually(
    'one that waits for its next attempt',
    async () => (await sql('SELECT FROM exceptions')).length === 1,
  )
  const [failing] = await engine.deliveries(webhook)
  const told = Promise.withResolvers<void>()
  await db.transaction(async (on) => {
    await on.script(stayOpen)
    await on.script('LOCK TABLE cursors IN ACCESS EXCLUSIVE MODE')
    await sql(`SELECT pg_notify('countersign_changes', 'webhook:${webhook.id}')`)
    await eventually('the worker reads the lane', () => isWaiting(db, '%is_open AS "isOpen"%'))
    // What it reads beside the cursor has been read by now, if it does not wait for the cursor.
    await eventually('nothing else is under way', async () => {
      const busy = await Promise.all(
        serversOf(db).map((server) =>
          ask(
            server,
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
              AND wait_event_type IS NULL AND pid <> pg_backend_pid()`,
          ),
        ),
      )
      return busy.flat().length === 0
    })
    worker.context.changes.subscribe((tag) => {
      if (tag === `webhook:${webhook.id}`) told.resolve()
    })
    const skip = `SELECT skip_one($1::smallint, $2::bigint, $3::bigint, $4::int, $5, 'no', 'me', $6) AS done`
    const now = engine.house.clock.now()
    const values = [part, webhook.id, failing!.seq, dayOf(now), failing!.entity, now]
    assert.deepEqual(await ask(on, skip, values), [{ done: true }])
    await on.query(tellOfAct, { part, webhookId: webhook.id })
  })
  // Until the worker hears of it, it cannot know: what falls due in that moment goes out.
  await told.promise
  engine.house.clock.advance(60_000)
  held.open()
  await engine.wake()
  await engine.idle()
  assert.deepEqual(
    (await engine.deliveries(webhook)).map(({ state, attempts }) => [state, attempts]),
    [
      ['canceled', 1],
      ['delivered', 1],
    ],
  )
  assert.equal(engine.receiver.at('/f').length, 2)
  await worker.close()
})
