import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { dispatchPart } from '../../src/webhooks/dispatch.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { advanceReplay, cancelReplay } from '../../src/webhooks/replay.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, entities, fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

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
  readonly total: number
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
    `UPDATE settled_deliveries SET state = 'exhausted' WHERE entity IN ('transaction:1', 'transaction:3')`,
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
  // 1,200 deliveries are many pages.
  const settled = { prefix: 'transaction', count: 1_200, state: 'delivered' }
  await fillWithSettled(api, target, settled)
  // As a node would leave it that died after its first page.
  await api.sql(
    `INSERT INTO replays (webhook_id, selection, total, done, last_id, until_id, created_at)
     SELECT $1, '{"from": 0}', 1200, 500, (SELECT id FROM deliveries ORDER BY id OFFSET 499 LIMIT 1), max(id), $2 FROM deliveries`,
    [target.id, api.house.clock.now()],
  )
  const progress = async () => {
    const [row] = await api.sql<{ id: number }>('SELECT id FROM replays')
    return (await api.call('GET', `/v2/webhooks/${target.id}/replays/${row!.id}`)).json<ReplayAnswer>()
  }
  const { dispatch } = api.house.gateway.context
  await eventually('the end of the replay', async () => {
    await dispatchPart(dispatch, partOf(api.branchId))
    return (await progress()).state === 'finished'
  })
  assert.equal((await progress()).done, 1200)
  await dispatchPart(dispatch, partOf(api.branchId))
  const [count] = await api.sql<{ waiting: number }>(
    `SELECT count(*) AS waiting FROM deliveries WHERE state = 'waiting'`,
  )
  assert.equal(count!.waiting, 700, 'the first page is not sent twice')
  await api.openNode({ ROLES: 'worker' })
  await api.receiver.count('/hook', 700)
})

test('a replay asks for its next page when its last has been dispatched: what happens now waits behind one page, not behind all', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const target = await api.makeWebhook('/hook')
  await fillWithSettled(api, target, { prefix: 'transaction', count: 1_200, state: 'delivered' })
  assert.equal((await api.call('POST', `/v2/webhooks/${target.id}/replays`, { from: 0 })).status, 201)
  const { db, house } = api
  const askForAll = async () => {
    while ((await advanceReplay(db, house.clock.now())) > 0);
    const [left] = await api.sql<{ undispatched: number }>(
      'SELECT done - (SELECT count(*) FROM queued_deliveries) AS undispatched FROM replays',
    )
    return left!.undispatched
  }
  // The node asks too: whoever comes second finds the replay taken.
  const asked: number[] = []
  const askedFor = async () => asked.push(await askForAll()) > 0 && asked.at(-1)! > 0
  await eventually('the first page', askedFor)
  await dispatchPart(house.gateway.context.dispatch, partOf(api.branchId))
  await eventually('the next', askedFor)
  assert.deepEqual(new Set(asked.filter((page) => page > 0)), new Set([50]), 'never more than one at once')
})

test('a replay whose webhook was deleted meanwhile sets nothing going: nothing waits for a receiver that is gone', async () => {
  await deliver('transaction')
  await engine.call('DELETE', `/v2/webhooks/${webhook.id}`)
  await engine.sql(
    `INSERT INTO replays (webhook_id, selection, total, until_id, created_at)
     SELECT $1, '{"from": 0}', 3, max(id), $2 FROM deliveries`,
    [webhook.id, engine.house.clock.now()],
  )
  while ((await advanceReplay(engine.db, engine.house.clock.now())) > 0);
  const states = (await engine.deliveries(webhook)).map((delivery) => delivery.state)
  assert.deepEqual(states, ['delivered', 'delivered', 'delivered'])
})

test('a replay that is canceled stops where it is', async () => {
  await deliver('transaction')
  const act = engine.house.act()
  // In one transaction, so that no node can take it in between.
  const canceled = await engine.db.transaction(async (sql) => {
    const text = `INSERT INTO replays (webhook_id, selection, total, until_id, created_at)
      SELECT $1, '{"from": 0}', 3, max(id), $2 FROM deliveries RETURNING id`
    const [made] = await sql.query<{ id: number }>({ name: '', text }, [webhook.id, act.at])
    return cancelReplay(sql, webhook, made!.id, act)
  })
  assert.deepEqual([canceled.state, canceled.done], ['canceled', 0])
  assert.equal(await advanceReplay(engine.db, act.at), 0)
  const states = (await engine.deliveries(webhook)).map((delivery) => delivery.state)
  assert.deepEqual(states, ['delivered', 'delivered', 'delivered'])
})
