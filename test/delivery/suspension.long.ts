/**
 * A partner that may not act is sent nothing: what comes is held, and goes out in order when it is approved.
 * An applicant has the sandbox.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { day, minute } from '../../src/clock.ts'
import { type Changes, everything } from '../../src/database/changes.ts'
import { applyAgain } from '../../src/partners/application.ts'
import { applyAsPartner, decide, getPartner } from '../../src/partners/partner.ts'
import type { DecidedStatus } from '../../src/partners/partner-status.ts'
import { getDelivery, redeliver } from '../../src/webhooks/deliveries/delivery.ts'
import { startReplay } from '../../src/webhooks/deliveries/replay.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { isDistributed } from '../../src/webhooks/events/part.ts'
import { readDepths, readOldest } from '../../src/webhooks/health/depths.ts'
import { getLane } from '../../src/webhooks/health/lane-health.ts'
import { createWebhook, setWebhookState, type Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { transaction } from '../support/branch.ts'
import { type Engine, entities, eventOf, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

import { accept, fail, gate } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

async function set(status: DecidedStatus, branchId = engine.branchId): Promise<void> {
  const partner = await getPartner(engine.db, String(branchId))
  assert.ok(await decide(engine.db, partner, { status, reason: 'a test' }, engine.house.act()))
}

/**
 * Suspends, and answers when this node has been told; whoever hears of changes earlier, its worker first, has
 * been told too.
 */
async function suspendAndTell({ changes } = engine.house.gateway.context): Promise<void> {
  const told = heardOf(changes, `branch:${engine.branchId}`)
  await set('suspended')
  await told
  if (isDistributed()) await hearOfFollowed(changes)
}

/** Where the part lies on another server it follows later, and says so: what is told after that is heard after it. */
async function hearOfFollowed(changes: Changes): Promise<void> {
  await eventually('the part follows', async () => (await engine.sql('SELECT FROM outbox_acts')).length === 0)
  const told = heardOf(changes, 'branch:0')
  await engine.sql(`SELECT pg_notify('countersign_changes', 'branch:0')`)
  await told
}

function heardOf(changes: Changes, wanted: string): Promise<void> {
  return new Promise((heard) => changes.subscribe((tag) => tag === wanted && heard()))
}

const sent = (path = '/hook') =>
  engine.receiver.at(path).map((request) => JSON.parse(request.body) as EventPair)
interface EventPair {
  readonly entity: string
  readonly action: string
}

/** The partner's lanes are at rest, although something waits. */
async function nothingMore(path: string, count: number): Promise<void> {
  await engine.idle()
  assert.equal(engine.receiver.at(path).length, count)
  const { holder, is_open } = await engine.cursor(webhook)
  assert.deepEqual([holder, is_open], [null, false], 'nobody looks at it in vain')
}

test('a suspended partner is sent nothing from the next attempt on, what was read already included; approved, it goes on in order', async () => {
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish(...entities(30))
  await engine.receiver.count('/hook', 10)
  await suspendAndTell()
  held.open()
  await nothingMore('/hook', 10)
  await engine.publish(...entities(30).map((draft) => ({ ...draft, action: 'COMPLETED' })))
  await nothingMore('/hook', 10)
  await set('approved')
  await engine.receiver.count('/hook', 60)
  await engine.idle()
  const all = sent()
  assert.equal(all.length, 60)
  for (const { entity } of entities(30)) {
    const actions = all.filter((each) => each.entity === entity).map((each) => each.action)
    assert.deepEqual(actions, ['SUBMITTED', 'COMPLETED'])
  }
})

test('a worker on another node, which reads ahead, stops as well', async () => {
  await engine.close()
  engine = await openEngine({ ROLES: 'api' })
  webhook = await engine.makeWebhook('/hook')
  const worker = await engine.openNode({ ROLES: 'worker' })
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish(...entities(30))
  await engine.receiver.count('/hook', 10)
  await suspendAndTell(worker.context)
  held.open()
  await nothingMore('/hook', 10)
  await set('approved')
  await engine.receiver.count('/hook', 30)
})

test('a worker that cannot be told of changes reads nothing ahead that it might have to keep back', async () => {
  const { changes } = engine.house.gateway.context
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  const lost = heardOf(changes, everything)
  await engine.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
      AND query LIKE 'LISTEN%changes%'`,
  )
  await lost
  await engine.publish(...entities(30))
  await engine.receiver.count('/hook', 10)
  let told = false
  changes.subscribe(() => {
    told = true
  })
  await set('suspended')
  await eventually('a node that was told, or knows that it is not', async () => told || !changes.isLive)
  if (isDistributed()) {
    await eventually('a node that listens again', () => changes.isLive)
    await hearOfFollowed(changes)
  }
  held.open()
  await nothingMore('/hook', 10)
})

test('a retry that falls due while its partner is suspended waits for the approval', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({ entity: 'transaction:1' }, { entity: 'transaction:1', action: 'COMPLETED' })
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  await suspendAndTell()
  engine.receiver.on('/hook', accept)
  engine.house.clock.advance(minute)
  await engine.wake()
  await nothingMore('/hook', 1)
  await set('approved')
  await engine.receiver.count('/hook', 3)
  assert.deepEqual(
    engine.receiver.at('/hook').map(({ attempt, body }) => [attempt, JSON.parse(body).action]),
    [
      [1, 'SUBMITTED'],
      [2, 'SUBMITTED'],
      [1, 'COMPLETED'],
    ],
  )
})

test('what an operator sends again while the partner is suspended, one by one or as a replay, waits for the approval', async () => {
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  await suspendAndTell()
  const [first] = await engine.deliveries(webhook)
  const act = engine.house.act()
  const delivery = await getDelivery(engine.db, { branchId: engine.branchId, environment: 'live' }, first!.id)
  await redeliver(engine.db, engine.branchId, delivery, act)
  await nothingMore('/hook', 3)
  assert.equal((await startReplay(engine.db, webhook, { from: 0 }, act)).total, 3)
  await nothingMore('/hook', 3)
  await set('approved')
  await engine.receiver.count('/hook', 7)
  await engine.idle()
  assert.equal(sent().length, 7)
})

test('a test hook is refused while the partner is suspended, and one that was published a moment before is held', async () => {
  await suspendAndTell()
  const refused = await engine.call('POST', '/v2/webhooks/transaction', transaction())
  assert.deepEqual([refused.status, refused.json().error], [403, 'forbidden'])
  await insertEvents(
    engine.db,
    [{ ...eventOf(engine.branchId, {}), simulated: true }],
    engine.house.clock.now(),
  )
  await nothingMore('/hook', 0)
  await set('approved')
  await engine.receiver.count('/hook', 1)
})

/** A webhook of a newcomer on each site, with an event for it. */
async function furnishBoth(branchId: number): Promise<Record<'live' | 'sandbox', Webhook>> {
  const { db, vault, guard: policy } = engine.house.gateway.context
  const act = engine.house.act()
  const make = async (environment: 'live' | 'sandbox') => {
    const draft = {
      url: engine.receiver.url(`/${environment}`),
      kinds: undefined,
      secret: 'a secret of its own',
    }
    const made = await createWebhook({ db, vault, policy }, { branchId, environment }, undefined, draft, act)
    await insertEvents(db, [{ ...eventOf(branchId, {}), environment }], act.at)
    return made
  }
  return { live: await make('live'), sandbox: await make('sandbox') }
}

for (const status of ['suspended', 'declined'] as const) {
  test(`a partner that is ${status} is sent nothing, live and in the sandbox, until it is approved`, async () => {
    const { branchId } = await applyAsPartner(engine.db, `Newcomer ${status}`, engine.house.act())
    await set(status, branchId)
    const webhooks = await furnishBoth(branchId)
    for (const environment of ['live', 'sandbox'] as const) {
      webhook = webhooks[environment]
      await nothingMore(`/${environment}`, 0)
    }
    await set('approved', branchId)
    await Promise.all([engine.receiver.count('/live', 1), engine.receiver.count('/sandbox', 1)])
  })
}

test('an applicant is sent what is of the sandbox and nothing live; declined, nothing; when it applies again the sandbox goes on, and when it is approved the live site begins', async () => {
  const { branchId } = await applyAsPartner(engine.db, 'Applicant', engine.house.act())
  const webhooks = await furnishBoth(branchId)
  const publish = (environment: 'live' | 'sandbox') =>
    insertEvents(engine.db, [{ ...eventOf(branchId, {}), environment }], engine.house.clock.now())
  await engine.receiver.count('/sandbox', 1)
  webhook = webhooks.live
  await nothingMore('/live', 0)
  await set('declined', branchId)
  await publish('sandbox')
  webhook = webhooks.sandbox
  await nothingMore('/sandbox', 1)
  const details = { website: 'https://a.example', contact: 'a@a.example', purpose: 'again' }
  const { id } = await engine.house.makeUser()
  const act = { by: { name: `user:${id}` }, at: engine.house.clock.now() }
  const declined = await getPartner(engine.db, String(branchId))
  await applyAgain(engine.db, declined, { name: 'Applicant', ...details }, act)
  await engine.receiver.count('/sandbox', 2)
  webhook = webhooks.live
  await nothingMore('/live', 0)
  await set('approved', branchId)
  await engine.receiver.count('/live', 1)
})

test('a webhook that is paused stays so when its partner is approved, and one resumed while it is suspended stays still', async () => {
  await setWebhookState(engine.db, webhook, 'paused', engine.house.act())
  await suspendAndTell()
  await engine.publish(...entities(2))
  await setWebhookState(engine.db, webhook, 'active', engine.house.act())
  await nothingMore('/hook', 0)
  await setWebhookState(engine.db, webhook, 'paused', engine.house.act())
  await set('approved')
  await nothingMore('/hook', 0)
  await setWebhookState(engine.db, webhook, 'active', engine.house.act())
  await engine.receiver.count('/hook', 2)
})

test('what is held for a suspended partner leaves when its time is over, and the rest goes out in order', async () => {
  await suspendAndTell()
  await engine.publish({ entity: 'transaction:1' })
  await engine.idle()
  engine.house.clock.advance(60 * day)
  await engine.publish({ entity: 'transaction:1', action: 'COMPLETED' })
  await engine.idle()
  engine.house.clock.advance(31 * day)
  await retireOnce(engine.db, { attemptDays: 30, eventDays: 90 }, engine.house.clock.now())
  await set('approved')
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  assert.deepEqual(
    sent().map(({ action }) => action),
    ['COMPLETED'],
  )
})

test('days of suspension are no days of failure: a webhook that failed before is not disabled by its first failure after', async () => {
  engine.receiver.on('/hook', fail)
  const longAgo = engine.house.clock.now()
  await engine.idle()
  await engine.sql('UPDATE cursors SET failures = 99, failing_since = $1, tried_in = term', [longAgo])
  await suspendAndTell()
  await engine.idle()
  engine.house.clock.advance(6 * day)
  await engine.publish({})
  await set('approved')
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  const [row] = await engine.sql<{ state: string }>('SELECT state FROM webhooks')
  assert.equal(row!.state, 'active')
})

test('what is held is not late: no alarm, no doctor and no operator is told that workers do not keep up', async () => {
  await suspendAndTell()
  await engine.publish(...entities(2))
  await engine.idle()
  engine.house.clock.advance(day)
  const now = engine.house.clock.now()
  const { waiting, overdueSeconds } = await readDepths(engine.db, now)
  assert.deepEqual([waiting, overdueSeconds], [2, 0])
  assert.equal((await readOldest(engine.db, engine.house.clock.now())).dueAt, null)
  assert.equal((await getLane(engine.db, webhook.id, now)).condition, 'held')
})
