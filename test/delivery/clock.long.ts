/**
 * The clock of the database goes ahead for a while and is set right: nothing waits for the moment that it
 * showed.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { day, hour, minute } from '../../src/clock.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import { isDistributed } from '../../src/webhooks/events/part.ts'
import { findBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, fail } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
let failing: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/a')
  failing = await engine.makeWebhook('/failing')
})
afterEach(() => engine.close())

function publishFromCore(profileId: number): Promise<void> {
  const { branchId } = engine
  const body = JSON.stringify({
    profileId,
    clearingAccount: '1',
    type: 'ACH_PROFILE',
    action: 'PENDING',
    branchId,
  })
  return engine.db.script(
    `SELECT publish_event('live', ${branchId}, 'ACH_PROFILE', 'PENDING', '${profileId}', '${body}')`,
  )
}

/** By SQL, many at once, and one alone: so many. */
async function publishEveryWay(round: number): Promise<number> {
  await publishFromCore(round)
  await engine.publish(...entities(30, `round-${round}`))
  await engine.publish({ entity: `transaction:${round}` })
  return 32
}

for (const [what, aheadMs] of [
  ['an hour', hour],
  ['thirty days', 30 * day],
] as const) {
  test(`after a clock that was ${what} ahead, what is published goes out at once, and so does what was to be tried again by it`, async () => {
    const { receiver, house } = engine
    receiver.on('/failing', fail)
    house.clock.advance(aheadMs)
    await openDaysAhead(engine.db, house.clock.now())
    let published = await publishEveryWay(1)
    await receiver.count('/a', published)
    await eventually(
      'ten that failed, and a breaker',
      async () => (await engine.attempts(failing)).length >= 10,
    )
    const failed = receiver.at('/failing').length
    house.clock.advance(-aheadMs)
    receiver.on('/failing', accept)
    published += await publishEveryWay(2)
    await receiver.count('/a', published)
    const reached = () =>
      new Set(
        receiver
          .at('/failing')
          .slice(failed)
          .map(({ id }) => id),
      ).size
    await receiver.until(() => reached() === published, 'all of them, without a clock that moves')
    await engine.idle()
    assert.deepEqual(await engine.unfinished(), { waiting: 0, blocked: 0 })
    assert.equal(receiver.at('/a').length, published, 'nothing twice')
    assert.deepEqual(await findBroken(engine.db, house.clock.now(), wholeScope()), [])
  })
}

test('after a clock that was thirty days ahead, a lone event is numbered as it is published, a replay by time has what happened in that time, and nothing leaves early', async () => {
  const { receiver, house } = engine
  const publish = async (name: string) => {
    const before = receiver.at('/a').length
    await engine.publish(...entities(3, name))
    await receiver.count('/a', before + 3)
    await engine.idle()
  }
  await publish('before')
  house.clock.advance(30 * day)
  await openDaysAhead(engine.db, house.clock.now())
  await publish('ahead')
  house.clock.advance(-30 * day + hour)
  const from = house.clock.now().getTime()
  await publish('back')
  await engine.publish({ entity: 'alone:1' })
  // Where its part lies on another server, it is carried there.
  if (!isDistributed()) assert.deepEqual(await engine.sql('SELECT FROM outbox'), [])
  await receiver.count('/a', 10)
  await engine.idle()

  const selection = { from, to: from + minute }
  const replay = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays`, selection)
  assert.deepEqual([replay.status, replay.json<{ total: number }>().total], [201, 4])
  await receiver.count('/a', 14)
  const again = receiver.at('/a').slice(10)
  assert.deepEqual(again.map(({ body }) => JSON.parse(body).entity).sort(), [
    'alone:1',
    'back:0',
    'back:1',
    'back:2',
  ])
  await engine.idle()
  const retired = await retireOnce(engine.db, { attemptDays: 30, eventDays: 90 }, house.clock.now())
  assert.deepEqual(retired, { days: 0, expired: 0, keys: 0 })
  assert.deepEqual(await findBroken(engine.db, house.clock.now(), wholeScope()), [])
})
