import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { replayedAtMost, startReplay } from '../../src/webhooks/deliveries/replay.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, fail } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

interface ReplayAnswer {
  readonly id: number
  readonly state: string
  readonly total: number | null
  readonly done: number
}

async function replay(selection: object): Promise<ReplayAnswer> {
  const answer = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays`, selection)
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ReplayAnswer>()
}

async function finished({ id }: ReplayAnswer): Promise<ReplayAnswer> {
  let last: ReplayAnswer | undefined
  await eventually('the end of the replay', async () => {
    last = (await engine.call('GET', `/v2/webhooks/${webhook.id}/replays/${id}`)).json<ReplayAnswer>()
    return last.state === 'finished'
  })
  return last!
}

const bodies = () => engine.receiver.at('/hook').map((request) => JSON.parse(request.body).entity as string)

async function deliver(prefix: string, count = 3): Promise<void> {
  const before = engine.receiver.at('/hook').length
  await engine.publish(...entities(count, prefix))
  await engine.receiver.count('/hook', before + count)
  await engine.idle()
}

test('a replay by time sends what happened in that time again, and nothing else', async () => {
  await deliver('before')
  engine.house.clock.advance(minute)
  const from = engine.house.clock.now().getTime()
  await deliver('within')
  engine.house.clock.advance(minute)
  const to = engine.house.clock.now().getTime()
  await deliver('after')
  const counted = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays/dry-run`, { from, to })
  assert.deepEqual([counted.status, counted.json()], [200, { total: 3 }])
  const { done, total } = await finished(await replay({ from, to }))
  assert.deepEqual([done, total], [3, 3])
  await engine.receiver.count('/hook', 12)
  await engine.idle()
  assert.deepEqual(bodies().slice(9).sort(), ['within:0', 'within:1', 'within:2'])
})

test('a replay of what failed sends exactly the exhausted ones', async () => {
  await deliver('transaction', 4)
  await engine.sql(
    `UPDATE outcomes o SET state = 'exhausted', outcome = 'refused', status = 500 FROM log l
     WHERE l.part = o.part AND l.seq = o.seq AND l.day = o.day AND l.entity
       IN ('transaction:1', 'transaction:3')`,
  )
  const { total } = await finished(await replay({ failed: true }))
  assert.equal(total, 2)
  await engine.receiver.count('/hook', 6)
  await engine.idle()
  assert.deepEqual(bodies().slice(4).sort(), ['transaction:1', 'transaction:3'])
})

test('a replay of nothing is finished at once', async () => {
  assert.deepEqual({ ...(await replay({ failed: true })), id: 0 } as object, {
    ...{ id: 0, webhookId: webhook.id, state: 'finished', total: 0, done: 0 },
    createdAt: engine.house.clock.now().getTime(),
    finishedAt: engine.house.clock.now().getTime(),
  })
})

test('a long replay shows its progress and goes on after a restart where it was', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const target = await api.makeWebhook('/hook')
  await fillWithSettled(api, target, { prefix: 'transaction', count: 1_200, state: 'delivered' })
  const { id, total } = await startReplay(api.db, target, { from: 0 }, api.house.act())
  assert.equal(total, 1_200)
  // As a node would leave it that died on the way.
  await api.sql('UPDATE replay_cursors SET position = 500, sent = 500')
  await api.openNode({ ROLES: 'worker' })
  const path = `/v2/webhooks/${target.id}/replays/${id}`
  await eventually(
    'the end of the replay',
    async () => (await api.call('GET', path)).json<ReplayAnswer>().state === 'finished',
  )
  assert.equal((await api.call('GET', path)).json<ReplayAnswer>().done, 1_200)
  assert.equal(api.receiver.at('/hook').length, 700, 'what was sent before is not sent twice')
})

test('however large it is, a replay is begun at once, and says that it is more than is counted', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const target = await api.makeWebhook('/hook')
  await fillWithSettled(api, target, { prefix: 'transaction', count: replayedAtMost, state: 'delivered' })
  const count = async () =>
    (await api.call('POST', `/v2/webhooks/${target.id}/replays/dry-run`, { from: 0 })).json<{
      total: number | null
    }>().total
  assert.equal(await count(), replayedAtMost)
  await fillWithSettled(api, target, { prefix: 'application', count: 1, state: 'delivered' })
  assert.equal(await count(), null)
  const { total } = (
    await api.call('POST', `/v2/webhooks/${target.id}/replays`, { from: 0 })
  ).json<ReplayAnswer>()
  assert.equal(total, null)
})

test('what has not ended is left to its lane: a replay passes it', async () => {
  await deliver('transaction')
  engine.receiver.on('/hook', fail)
  await engine.publish({ entity: 'transaction:0', action: 'APPROVED' })
  await engine.receiver.count('/hook', 4)
  await engine.idle()
  engine.receiver.on('/hook', accept)
  const { total, done } = await finished(await replay({ from: 0 }))
  assert.deepEqual([total, done], [3, 3])
  await engine.receiver.count('/hook', 7)
  await engine.idle()
  const states = (await engine.deliveries(webhook)).map(({ seq, round, state }) => `${seq}-${round} ${state}`)
  assert.deepEqual(states, [
    '1-0 delivered',
    '1-1 delivered',
    '2-0 delivered',
    '2-1 delivered',
    '3-0 delivered',
    '3-1 delivered',
    '4-0 waiting',
  ])
})

test('a replay that is canceled stops where it is', async () => {
  await deliver('transaction')
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  const { id } = await replay({ from: 0 })
  const canceled = await engine.call('DELETE', `/v2/webhooks/${webhook.id}/replays/${id}`)
  assert.deepEqual([canceled.json<ReplayAnswer>().state, canceled.json<ReplayAnswer>().done], ['canceled', 0])
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await deliver('later')
  assert.deepEqual(bodies().slice(3).sort(), ['later:0', 'later:1', 'later:2'])
})

test('a replay goes with its webhook', async () => {
  await deliver('transaction')
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  await replay({ from: 0 })
  await engine.call('DELETE', `/v2/webhooks/${webhook.id}`)
  assert.deepEqual(await engine.sql('SELECT FROM replay_cursors'), [])
  await engine.idle()
  assert.equal(bodies().length, 3)
})
