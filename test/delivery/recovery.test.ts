/** After a receiver was mended nobody waits for a backoff, and what was given up meanwhile is sent again, once. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { hour, minute } from '../../src/clock.ts'
import { lockPart } from '../../src/webhooks/part.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, entities, fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, answer, fail } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

interface RecoveryAnswer {
  readonly id: number
  readonly state: string
  readonly total: number
  readonly done: number
  readonly pulled: number
}

const now = () => engine.house.clock.now().getTime()
const recover = (body: object) => engine.call('POST', `/v2/webhooks/${webhook.id}/recover`, body)

async function finished(answered: { json<T>(): T; status: number; text: string }): Promise<RecoveryAnswer> {
  assert.equal(answered.status, 201, answered.text)
  const { id } = answered.json<RecoveryAnswer>()
  let last: RecoveryAnswer | undefined
  await eventually('the end of the recovery', async () => {
    last = (await engine.call('GET', `/v2/webhooks/${webhook.id}/replays/${id}`)).json<RecoveryAnswer>()
    return last.state === 'finished'
  })
  return last!
}

const received = () => engine.receiver.at('/hook').map((request) => JSON.parse(request.body).entity as string)

test('what waits in its backoff is tried now, and an open breaker probes at once', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(20))
  await engine.receiver.count('/hook', 5)
  await engine.idle()
  assert.ok((await engine.lane(webhook)).evidence >= 5, 'the breaker is open')
  const before = engine.receiver.at('/hook').length
  engine.receiver.on('/hook', accept)
  const { pulled, total } = await finished(await recover({ since: now() - hour }))
  assert.equal(total, 0)
  assert.ok(pulled > 0 && pulled <= before, `${pulled} of ${before}`)
  // The clock stands still: nothing of this is the schedule's.
  await engine.receiver.count('/hook', before + 20)
  await engine.idle()
  assert.ok((await engine.deliveries(webhook)).every((each) => each.state === 'delivered'))
  assert.equal((await engine.lane(webhook)).evidence, 0)
  const [entry] = await findEntries(engine.db, { action: 'webhook.recovered', limit: 10 })
  assert.deepEqual(entry!.details, { since: now() - hour, total: 0 })
})

test('a receiver that is not mended is asked once, and nothing else loses an attempt', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(20))
  await engine.receiver.count('/hook', 5)
  await engine.idle()
  const before = engine.receiver.at('/hook').length
  await finished(await recover({ since: now() }))
  await engine.receiver.count('/hook', before + 1)
  await engine.idle()
  assert.equal(engine.receiver.at('/hook').length, before + 1)
})

test('a receiver that asked to be left alone is asked at once when its owner says that it is well', async () => {
  engine.receiver.on('/hook', answer(503, { 'retry-after': '3600' }))
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  engine.receiver.on('/hook', accept)
  await finished(await recover({ since: now() }))
  await engine.receiver.count('/hook', 2)
})

test('what was given up since then is sent again once: not what was given up earlier, was delivered since, or was skipped', async () => {
  const old = { count: 2, state: 'exhausted' }
  await fillWithSettled(engine, webhook, { ...old, prefix: 'early' })
  engine.house.clock.advance(hour)
  const since = now()
  engine.house.clock.advance(minute)
  await fillWithSettled(engine, webhook, { ...old, prefix: 'within' })
  await fillWithSettled(engine, webhook, { ...old, prefix: 'mended' })
  await fillWithSettled(engine, webhook, { prefix: 'fine', count: 2, state: 'delivered' })
  await fillWithSettled(engine, webhook, { prefix: 'skipped', count: 2, state: 'canceled' })
  // A replay of before made these good, or gave them up once more.
  await engine.sql(`INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, created_at, settled_at, repeats)
    SELECT id + 1000, webhook_id, event_id, entity, 'delivered', created_at, settled_at, id FROM settled_deliveries WHERE entity LIKE 'mended:%'`)
  await engine.sql(`INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, created_at, settled_at, repeats)
    SELECT id + 1000, webhook_id, event_id, entity, 'exhausted', created_at, settled_at, id FROM settled_deliveries WHERE entity = 'within:1'`)
  const counted = await engine.call('POST', `/v2/webhooks/${webhook.id}/recover/dry-run`, { since })
  assert.deepEqual([counted.status, counted.json()], [200, { total: 2, waiting: 0 }])
  engine.receiver.on('/hook', fail)
  const first = await finished(await recover({ since }))
  assert.deepEqual([first.total, first.done], [2, 2])
  await engine.receiver.count('/hook', 2)
  await engine.idle()
  const again = await finished(await recover({ since }))
  assert.deepEqual([again.total, again.pulled], [0, 2], 'what is under way is not asked for twice')
  await engine.receiver.count('/hook', 4)
  await engine.idle()
  const repeated = await engine.sql<{ entity: string }>('SELECT entity FROM queued_deliveries ORDER BY entity')
  assert.deepEqual(
    repeated.map(({ entity }) => entity),
    ['within:1', 'within:2'],
  )
  assert.equal(received().length, 4)
})

test('a disabled webhook is resumed, a paused one is its owner’s to resume, and the future is refused', async () => {
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  const paused = await recover({ since: now() })
  assert.equal(paused.status, 409)
  assert.match(paused.text, /Resume it, then recover/)
  await engine.sql(`UPDATE webhooks SET state = 'disabled', disabled_reason = 'x' WHERE id = $1`, [webhook.id])
  await engine.publish({})
  const future = await recover({ since: now() + minute })
  assert.deepEqual(
    [future.status, future.json<{ fields: object[] }>().fields],
    [400, [{ field: 'since', problem: 'must not lie in the future' }]],
  )
  await finished(await recover({ since: now() }))
  await engine.receiver.count('/hook', 1)
})

test('of two at once one is refused, and more than a bite goes in turns until all are due', async () => {
  const quiet = await openEngine({ ROLES: 'api' })
  try {
    const target = await quiet.makeWebhook('/hook')
    const at = quiet.house.clock.now()
    await quiet.sql(
      `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at, attempts)
       SELECT n, $1, n, 'transaction:' || n, n % 2, $2::timestamptz + interval '3 h', $2, 5 FROM generate_series(1, 2500) n`,
      [target.id, at],
    )
    const body = { since: at.getTime() }
    const path = `/v2/webhooks/${target.id}/recover`
    const counted = await quiet.call('POST', `${path}/dry-run`, body)
    assert.deepEqual(counted.json(), { total: 0, waiting: 1_000 })
    let calls: ReturnType<Engine['call']>[] = []
    // Whoever is first cannot pull anything forward yet, and so is still under way.
    const refused = await quiet.db.transaction(async (sql) => {
      await sql.query(lockPart, [partOf(quiet.branchId)])
      await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
      calls = [quiet.call('POST', path, body), quiet.call('POST', path, body)]
      return { status: (await Promise.race(calls)).status }
    })
    assert.equal(refused.status, 409)
    const answers = await Promise.all(calls)
    const { id, pulled } = answers.find(({ status }) => status === 201)!.json<RecoveryAnswer>()
    assert.ok(pulled >= 1_000, 'the first bite goes with the request')
    await eventually('the end', async () => {
      const answered = await quiet.call('GET', `/v2/webhooks/${target.id}/replays/${id}`)
      return answered.json<RecoveryAnswer>().state === 'finished'
    })
    const [left] = await quiet.sql<{ later: number; tried: number }>(
      'SELECT count(*) FILTER (WHERE due_at > $1) AS later, count(*) FILTER (WHERE attempts = 5) AS tried FROM queued_deliveries',
      [at],
    )
    assert.deepEqual(left, { later: 0, tried: 2_500 })
  } finally {
    await quiet.close()
  }
})
