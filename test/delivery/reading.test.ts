/**
 * What became of a delivery is read from the log and from what the engine wrote down: it has no row of its
 * own.
 */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gatewayAct } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import {
  type DeliveryFilter,
  findAhead,
  getDelivery,
  listAttempts,
  listDeliveriesOfEvent,
  redeliver,
} from '../../src/webhooks/deliveries/delivery.ts'
import { selectPassed } from '../../src/webhooks/deliveries/delivery-search.sql.ts'
import { listDeliveries, searchDeliveries } from '../../src/webhooks/deliveries/delivery-search.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { readLaneStates } from '../../src/webhooks/health/lane-state.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { type Kernel, openKernel } from '../support/engine-kernel.ts'

describe('a delivery', () => {
  let kernel: Kernel
  let webhook: Webhook
  before(async () => {
    kernel = await openKernel()
    webhook = await kernel.register()
    await kernel.publish(['transaction:1', 'transaction:2', 'transaction:1', 'transaction:3'])
  })
  after(() => kernel.close())

  const get = (seq: number, round = 0) =>
    getDelivery(kernel.db, webhook, round === 0 ? `${webhook.id}-${seq}` : `${webhook.id}-${seq}-${round}`)
  const states = async (filter: DeliveryFilter = {}) =>
    (await listDeliveries(kernel.db, webhook, filter, undefined, 50)).deliveries.map(
      ({ id, state }) => `${id} ${state}`,
    )

  test('is there from the moment its entry has a number', async () => {
    const delivery = await get(1)
    assert.equal(delivery.id, `${webhook.id}-1`)
    assert.equal(delivery.state, 'waiting')
    assert.equal(delivery.attempts, 0)
    assert.equal(delivery.repeats, null)
    assert.equal(delivery.entity, 'transaction:1')
    await assert.rejects(get(5), { status: 404 })
    await assert.rejects(getDelivery(kernel.db, webhook, 'nonsense'), { status: 404 })
    await assert.rejects(getDelivery(kernel.db, { ...webhook, environment: 'sandbox' }, delivery.id), {
      status: 404,
    })
    const w = webhook.id
    assert.deepEqual(await states(), [`${w}-4 waiting`, `${w}-3 waiting`, `${w}-2 waiting`, `${w}-1 waiting`])
  })

  test('waits for its next attempt when it failed, and the later ones of its entity wait behind it', async () => {
    await kernel.attempt(`${webhook.id}-1`, { state: 'retrying', response: 'no' }, 1)
    await kernel.attempt(`${webhook.id}-2`)
    const first = await get(1)
    assert.equal(first.state, 'waiting')
    assert.equal(first.attempts, 1)
    assert.equal(first.dueAt.getTime(), kernel.clock.now().getTime() + 30_000)
    const behind = await get(3)
    assert.equal(behind.state, 'blocked')
    assert.equal((await findAhead(kernel.db, webhook, [behind])).get(behind.id)?.aheadId, first.id)
    assert.equal((await get(2)).state, 'delivered')
    const [attempt] = await listAttempts(kernel.db, webhook, first)
    assert.equal(attempt?.status, 500)
    assert.equal(attempt?.response, 'no')
    const w = webhook.id
    assert.deepEqual(await states({ state: 'unfinished' }), [
      `${w}-4 waiting`,
      `${w}-3 blocked`,
      `${w}-1 waiting`,
    ])
    assert.deepEqual(await states({ state: 'blocked' }), [`${w}-3 blocked`])
    assert.deepEqual(await states({ state: 'delivered' }), [`${w}-2 delivered`])
    assert.deepEqual(await states({ entity: 'transaction:1' }), [`${w}-3 blocked`, `${w}-1 waiting`])
    assert.deepEqual(await states({ kind: 'APPLICATION' }), [])
  })

  test('that waits is hurried, one that is blocked is refused, and one that ended is sent again in a round of its own', async () => {
    const { db, clock, branchId } = kernel
    const act = gatewayAct(clock.now())
    assert.equal(await redeliver(db, branchId, await get(1), act), `${webhook.id}-1`)
    assert.equal((await get(1)).dueAt.getTime(), clock.now().getTime())
    await assert.rejects(async () => redeliver(db, branchId, await get(3), act), {
      status: 409,
      message: /Redeliver that one/,
    })
    const again = await redeliver(db, branchId, await get(2), act)
    assert.equal(again, `${webhook.id}-2-1`)
    const repeat = await getDelivery(db, webhook, again)
    assert.equal(repeat.state, 'waiting')
    assert.equal(repeat.repeats, `${webhook.id}-2`)
    await kernel.attempt(again, { state: 'retrying' })
    assert.equal((await getDelivery(db, webhook, again)).attempts, 1)
    assert.ok((await getDelivery(db, webhook, again)).dueAt > clock.now())
    assert.equal(await redeliver(db, branchId, await getDelivery(db, webhook, again), act), again)
    assert.equal((await getDelivery(db, webhook, again)).dueAt.getTime(), clock.now().getTime())
    await kernel.attempt(again, { number: 2, state: 'exhausted' })
    assert.equal((await getDelivery(db, webhook, again)).state, 'exhausted')
    assert.equal((await get(2)).state, 'delivered')
    assert.deepEqual(await states({ state: 'exhausted' }), [`${webhook.id}-2-1 exhausted`])
    await assert.rejects(get(2, 2), { status: 404 })
  })

  test('of an event is told for each webhook that wanted it', async () => {
    const { db } = kernel
    const other = await kernel.register({ kinds: ['APPLICATION'] })
    const all = await kernel.register()
    const [uid] = await kernel.publish(['transaction:9'])
    const told = await listDeliveriesOfEvent(db, webhook, uid!)
    assert.deepEqual(
      told.map(({ webhookId }) => webhookId),
      [webhook.id, all.id],
    )
    const [test] = await kernel.publish(['transaction:9:test'], { simulated: true })
    assert.equal((await listDeliveriesOfEvent(db, webhook, test!)).length, 3)
    const [aimed] = await kernel.publish(['transaction:9:test'], { simulated: true, webhookId: other.id })
    const [only] = await listDeliveriesOfEvent(db, webhook, aimed!)
    assert.equal(only?.webhookId, other.id)
    const [unread] = await kernel.publish(['transaction:10'], { unread: true })
    assert.deepEqual(await listDeliveriesOfEvent(db, webhook, unread!), [])
    const page = await searchDeliveries(db, [webhook, other, all], {}, undefined, 3)
    assert.deepEqual(
      page.deliveries.map(({ id }) => id),
      [`${other.id}-7`, `${all.id}-6`, `${other.id}-6`],
    )
    const next = await searchDeliveries(db, [webhook, other, all], {}, page.next, 3)
    assert.deepEqual(
      next.deliveries.map(({ id }) => id),
      [`${webhook.id}-6`, `${all.id}-5`, `${webhook.id}-5`],
    )
  })

  test('that was skipped or has expired is told with the reason, unless it had ended before', async () => {
    const { db, branchId, clock } = kernel
    await kernel.look()
    const skip = 'SELECT skip_to_now($1, $2, $3, $4, $5)'
    await ask(db, skip, [partOf(branchId), webhook.id, 'not wanted', 'user:1', clock.now()])
    const skipped = await get(4)
    assert.equal(skipped.state, 'canceled')
    assert.equal(skipped.reason, 'not wanted')
    assert.equal(skipped.canceledBy, 'user:1')
    assert.equal((await get(2)).state, 'delivered')
    assert.equal((await get(3)).state, 'canceled')
    const w = webhook.id
    assert.deepEqual(
      await states({ state: 'canceled' }),
      [8, 6, 5, 4, 3, 1].map((seq) => `${w}-${seq} canceled`),
    )
    assert.deepEqual(await states({ state: 'unfinished' }), [])
    assert.deepEqual(await states({ state: 'expired' }), [])
  })
})

test('a lane whose receiver asked for time has nothing late once nothing waits', async (t) => {
  const kernel = await openKernel()
  t.after(() => kernel.close())
  const webhook = await kernel.register()
  const { db, clock } = kernel
  await ask(db, 'UPDATE cursors SET hold_until = $1', [clock.now()])
  clock.advance(10 * minute)
  const idle = (await readLaneStates(db, clock.now(), [webhook])).get(webhook.id)!
  assert.deepEqual([idle.dueAt, idle.lateSince], [null, null])
  await kernel.publish(['transaction:1'])
  const publishedAt = clock.now()
  clock.advance(minute)
  const late = (await readLaneStates(db, clock.now(), [webhook])).get(webhook.id)!
  assert.deepEqual([late.dueAt, late.lateSince], [publishedAt, publishedAt])
})

test('what was canceled is looked for only where something was: a webhook that skipped nothing is told so at once', async (t) => {
  const kernel = await openKernel()
  t.after(() => kernel.close())
  const webhook = await kernel.register()
  await kernel.publish(['transaction:1', 'transaction:2'])
  const [passed] = await kernel.db.query(selectPassed, {
    part: partOf(kernel.branchId),
    webhookIds: [webhook.id],
    highest: 2,
  })
  assert.equal(passed!.seq, null)
})
