/**
 * What a partner chooses for a webhook reaches its receiver: actions, a rate, headers. Time is the test's.
 */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { second } from '../../src/clock.ts'
import { findBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import { updateWebhook, type Webhook, type WebhookDraft } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, type EventDraft, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, fail, gate } from '../support/receiver.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine()
})
afterEach(() => engine.close())

const actionsAt = (path: string) =>
  engine.receiver.at(path).map(({ body }) => JSON.parse(body).action as string)
const entitiesAt = (path: string) =>
  engine.receiver.at(path).map(({ body }) => JSON.parse(body).entity as string)
const requests = () => engine.receiver.at('/hook').length
const now = () => engine.house.clock.now()

function change(webhook: Webhook, settings: Partial<WebhookDraft>): Promise<Webhook> {
  const { vault, guard } = engine.house.gateway.context
  return updateWebhook({ db: engine.db, vault, policy: guard }, webhook, settings, engine.house.act())
}

/**
 * So many have come, all that came is written down, and whoever else may be sent to has been: what waits,
 * waits.
 */
async function settled(count: number): Promise<void> {
  await engine.receiver.count('/hook', count)
  await eventually('every attempt is written down', async () => {
    const [row] = await engine.sql<{ attempts: number }>(
      'SELECT count(*) AS attempts FROM outcomes WHERE attempt > 0',
    )
    return Number(row!.attempts) === engine.receiver.received.length
  })
  const others = engine.receiver.at('/other').length
  await engine.publish({ entity: `application:${randomUUID()}`, kind: 'APPLICATION' })
  await engine.receiver.count('/other', others + 1)
  assert.equal(requests(), count)
}

async function nextSecond(ms: number = second): Promise<void> {
  engine.house.clock.advance(ms)
  await engine.wake()
}

const makeOther = () => engine.makeWebhook('/other', { kinds: ['APPLICATION'] })
const transactions = { kinds: ['TRANSACTION'] } as const

async function publishBySql(events: readonly EventDraft[]): Promise<void> {
  for (const { entity, action } of events) {
    const id = entity!.split(':')[1]!
    const { branchId } = engine
    const body = { transactionId: Number(id), clearingAccount: '1', type: 'TRANSACTION', action, branchId }
    const text = JSON.stringify({ ...body, email: 'a@example.com', amount: 1, direction: 'DEPOSIT' })
    await engine.sql(`SELECT publish_event('live', $1, 'TRANSACTION', $2, $3, $4)`, [
      branchId,
      action,
      id,
      text,
    ])
  }
}

/** More than are numbered with their publishing go by the sequencer. */
const filling = entities(30, 'application').map((each) => ({ ...each, kind: 'APPLICATION' as const }))

const ways: Record<string, (events: readonly EventDraft[]) => Promise<unknown>> = {
  'one by one': async (events) => {
    for (const event of events) await engine.publish(event)
  },
  'with many others': (events) => engine.publish(...events, ...filling),
  'from a transaction in SQL': publishBySql,
}

for (const [way, publish] of Object.entries(ways)) {
  test(`a webhook is told of the actions it asks for and of no others, published ${way}`, async () => {
    const some = await engine.makeWebhook('/some', {
      ...transactions,
      actions: { TRANSACTION: ['COMPLETED'] },
    })
    const all = await engine.makeWebhook('/all', transactions)
    await publish([
      { entity: 'transaction:1', action: 'SUBMITTED' },
      { entity: 'transaction:1', action: 'COMPLETED' },
      { entity: 'transaction:2', action: 'APPROVED' },
    ])
    await engine.receiver.count('/all', 3)
    await engine.receiver.count('/some', 1)
    await engine.idle()
    assert.deepEqual(actionsAt('/some'), ['COMPLETED'])
    assert.equal((await engine.deliveries(some)).length, 1)
    assert.equal((await engine.deliveries(all)).length, 3)
    assert.deepEqual(await findBroken(engine.db, now(), wholeScope()), [])
  })
}

test('actions that are chosen later count for what happens from then on; what waits is still sent', async () => {
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  const webhook = await engine.makeWebhook('/hook', transactions)
  await engine.publish({ action: 'SUBMITTED' }, { action: 'APPROVED' })
  await engine.receiver.count('/hook', 1)
  await change(webhook, { actions: { TRANSACTION: ['COMPLETED'] } })
  await engine.publish({ action: 'SUBMITTED' })
  await engine.publish({ action: 'COMPLETED' })
  held.open()
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  assert.deepEqual(actionsAt('/hook'), ['SUBMITTED', 'APPROVED', 'COMPLETED'])
  await change(webhook, { kinds: ['APPLICATION'] })
  const [row] = await engine.sql<{ actions: object }>('SELECT actions FROM webhooks WHERE id = $1', [
    webhook.id,
  ])
  assert.deepEqual(row!.actions, {}, 'actions of a kind go with the kind')
})

for (const way of ['one by one', 'with many others'] as const) {
  test(`a receiver that wants two a second gets two in a second, and the others all of theirs, published ${way}`, async () => {
    await makeOther()
    const webhook = await engine.makeWebhook('/hook', { ...transactions, rateLimit: 2 })
    await ways[way]!([
      { entity: 'transaction:a' },
      { entity: 'transaction:b' },
      { entity: 'transaction:b', action: 'COMPLETED' },
      { entity: 'transaction:c' },
      { entity: 'transaction:d' },
    ])
    await settled(2)
    await nextSecond(second - 1)
    await settled(2)
    await nextSecond(1)
    await settled(4)
    await nextSecond()
    await settled(5)
    const bs = engine.receiver.at('/hook').filter(({ body }) => body.includes('transaction:b'))
    assert.deepEqual(
      bs.map(({ body }) => JSON.parse(body).action),
      ['SUBMITTED', 'COMPLETED'],
      'an entity keeps its order',
    )
    await nextSecond()
    await engine.idle()
    assert.ok((await engine.deliveries(webhook)).every((each) => each.state === 'delivered'))
    assert.deepEqual(await findBroken(engine.db, now(), wholeScope()), [])
  })
}

test('retries count against the rate', async () => {
  await makeOther()
  engine.receiver.on('/hook', fail)
  const webhook = await engine.makeWebhook('/hook', { ...transactions, rateLimit: 2 })
  await engine.publish({ entity: 'transaction:1' }, { entity: 'transaction:2' }, { entity: 'transaction:3' })
  await settled(2)
  await nextSecond()
  await settled(3)
  engine.receiver.on('/hook', accept)
  await nextSecond(second)
  await engine.idle()
  engine.house.clock.advance(10 * second)
  await engine.wake()
  await settled(5)
  await nextSecond()
  await settled(6)
  await nextSecond()
  await engine.idle()
  assert.deepEqual(
    (await engine.deliveries(webhook)).map(({ state, attempts }) => [state, attempts]),
    [1, 2, 3].map(() => ['delivered', 2]),
  )
})

test('what happens now goes before what is sent again, however slow the rate', async () => {
  await makeOther()
  const webhook = await engine.makeWebhook('/hook', transactions)
  await engine.publish(...entities(5, 'old'))
  await settled(5)
  await engine.idle()
  await change(webhook, { rateLimit: 1 })
  await nextSecond()
  const selection = { to: now().getTime() + 1 }
  assert.equal((await engine.call('POST', `/v2/webhooks/${webhook.id}/replays`, selection)).status, 201)
  await settled(6)
  await engine.publish({ entity: 'live:1' })
  await settled(6)
  await nextSecond()
  await settled(7)
  assert.equal(entitiesAt('/hook').at(-1), 'live:1')
  for (let sent = 8; sent <= 11; sent++) {
    await nextSecond()
    await settled(sent)
  }
})

test('a rate that is chosen while deliveries wait holds from then on, and one that is taken away no longer does', async () => {
  await makeOther()
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  const webhook = await engine.makeWebhook('/hook', transactions)
  await engine.publish(...entities(40))
  await engine.receiver.count('/hook', 10)
  await change(webhook, { rateLimit: 3 })
  held.open()
  await settled(13)
  await nextSecond()
  await settled(16)
  await change(webhook, { rateLimit: 1 })
  await nextSecond()
  await settled(17)
  await change(webhook, { rateLimit: null })
  await nextSecond()
  await settled(40)
})

test('a second node that takes a lane over keeps to the rate, also when it is told to hurry', async () => {
  await engine.close()
  engine = await openEngine({ ROLES: 'api' })
  await makeOther()
  const webhook = await engine.makeWebhook('/hook', { ...transactions, rateLimit: 2 })
  const first = await engine.openNode({ ROLES: 'worker' })
  await engine.publish(...entities(6))
  await settled(2)
  const second = await engine.openNode({ ROLES: 'worker' })
  await first.close()
  await settled(2)
  const { id } = webhook
  const answer = await engine.call('POST', `/v2/webhooks/${id}/recover`, { since: now().getTime() - 1 })
  assert.equal(answer.status, 201, answer.text)
  for (const act of ['pause', 'resume']) await engine.call('POST', `/v2/webhooks/${id}/${act}`)
  await eventually('the second node holds it', async () => (await engine.cursor(webhook)).holder !== null)
  await settled(2)
  await nextSecond()
  await settled(4)
  await nextSecond()
  await settled(6)
  await second.close()
})

test('headers that a partner chose go with every attempt, beside ours and never in place of them', async () => {
  engine.receiver.on('/hook', fail)
  const headers = { Authorization: 'Bearer of-the-receiver', 'X-Route': 'blue green' }
  const webhook = await engine.makeWebhook('/hook', { ...transactions, headers })
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  engine.receiver.on('/hook', accept)
  await change(webhook, { headers: { 'x-route': 'red', authorization: null, 'X-Api-Key': 'k1' } })
  await engine.advanceToNextLook()
  await engine.receiver.count('/hook', 2)
  const [first, second] = engine.receiver.at('/hook')
  const chosenOf = ({ authorization, 'x-route': route, 'x-api-key': key }: Record<string, string>) => [
    authorization,
    route,
    key,
  ]
  assert.deepEqual(chosenOf(first!.headers), ['Bearer of-the-receiver', 'blue green', undefined])
  assert.deepEqual(chosenOf(second!.headers), [undefined, 'red', 'k1'])
  for (const { headers: sent, body } of [first!, second!]) {
    const expected = createHmac('sha256', engine.client.secret).update(body).digest('hex')
    assert.equal(sent['x-webhook-signature'], expected, 'what is signed is the body, as specified')
    assert.deepEqual(
      [sent['content-type'], sent['user-agent']],
      ['application/json', 'Countersign-Webhooks/1'],
    )
  }
})

test('a header whose key is gone is not left out in silence: the attempt says so', async () => {
  const webhook = await engine.makeWebhook('/hook', {
    ...transactions,
    headers: { authorization: 'Bearer x' },
  })
  await engine.sql(`UPDATE webhook_headers SET sealed = '\\x00'`)
  await engine.publish({})
  await eventually('an attempt', async () => (await engine.attempts(webhook))[0]?.why === 'no-secret')
  assert.equal(requests(), 0)
})
