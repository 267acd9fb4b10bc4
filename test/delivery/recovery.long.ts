/**
 * After a receiver was mended nobody waits for a backoff, and what was given up meanwhile is sent again,
 * once.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { hour, minute } from '../../src/clock.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { followByHand } from '../support/follow.ts'
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

/**
 * Every attempt was refused and is written down, and nothing is sent before the next probe, for which the
 * clock does not move.
 */
async function breakerOpens(): Promise<void> {
  await engine.receiver.count('/hook', 10)
  await eventually('an open breaker', async () => {
    const { failures, hold_until: holdUntil } = await engine.cursor(webhook)
    return (
      failures === engine.receiver.at('/hook').length &&
      holdUntil instanceof Date &&
      holdUntil > engine.house.clock.now()
    )
  })
}

const received = () => engine.receiver.at('/hook').map((request) => JSON.parse(request.body).entity as string)

test('what waits in its backoff is tried now, and an open breaker probes at once', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(20))
  await breakerOpens()
  assert.ok((await engine.cursor(webhook)).failures >= 10, 'the breaker is open')
  const before = engine.receiver.at('/hook').length
  engine.receiver.on('/hook', accept)
  const { pulled, total } = await finished(await recover({ since: now() - hour }))
  assert.equal(total, 0)
  assert.ok(pulled > 0 && pulled <= before, `${pulled} of ${before}`)
  // The clock stands still: nothing of this is the schedule's.
  await engine.receiver.count('/hook', before + 20)
  await engine.idle()
  assert.ok((await engine.deliveries(webhook)).every((each) => each.state === 'delivered'))
  assert.equal((await engine.cursor(webhook)).failures, 0)
  const [entry] = await findEntries(engine.db, { action: 'webhook.recovered', limit: 10 })
  assert.deepEqual(entry!.details, { since: now() - hour, total: 0 })
})

test('a receiver that is not mended is asked once, and nothing else loses an attempt', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(20))
  await breakerOpens()
  const before = engine.receiver.at('/hook').length
  await finished(await recover({ since: now() }))
  await engine.receiver.count('/hook', before + 1)
  await breakerOpens()
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
  const repeat = (prefix: string, state: string, outcome: string) =>
    engine.sql(
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
        outcome)
       SELECT o.part, o.webhook_id, o.seq, 1, 1, o.day, o.at, 5, 200, $2, $3 FROM outcomes o
         JOIN log l ON l.part = o.part AND l.seq = o.seq AND l.day = o.day
       WHERE l.entity LIKE $1`,
      [prefix, state, outcome],
    )
  await repeat('mended:%', 'delivered', 'accepted')
  await repeat('within:1', 'exhausted', 'refused')
  await engine.sql('UPDATE cursors SET rounds = 1')
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
  const repeated = await engine.sql<{ entity: string }>('SELECT entity FROM agains ORDER BY entity')
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
  await engine.sql(`UPDATE webhooks SET state = 'disabled', disabled_reason = 'x' WHERE id = $1`, [
    webhook.id,
  ])
  await engine.db.script(followByHand)
  await engine.publish({})
  const future = await recover({ since: now() + minute })
  assert.deepEqual(
    [future.status, future.json<{ fields: object[] }>().fields],
    [400, [{ field: 'since', problem: 'must not lie in the future' }]],
  )
  await finished(await recover({ since: now() }))
  await engine.receiver.count('/hook', 1)
})

test('of two at once one is refused, and everything that waits is due, however much it is', async () => {
  const quiet = await openEngine({ ROLES: 'api' })
  try {
    const target = await quiet.makeWebhook('/hook')
    const at = quiet.house.clock.now()
    await fillWithSettled(quiet, target, { prefix: 'transaction', count: 1_001, state: 'exhausted' })
    await quiet.sql(
      `INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
       SELECT l.part, $1, l.entity, l.seq, l.day, 5, $2::timestamptz + interval '3 h', $2 FROM log l
         WHERE l.seq <= 1000`,
      [target.id, at],
    )
    const body = { since: at.getTime() }
    const path = `/v2/webhooks/${target.id}/recover`
    const counted = await quiet.call('POST', `${path}/dry-run`, body)
    assert.deepEqual(counted.json(), { total: 1, waiting: 1_000 })
    const answers = await Promise.all([quiet.call('POST', path, body), quiet.call('POST', path, body)])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409])
    const { pulled, total } = answers.find(({ status }) => status === 201)!.json<RecoveryAnswer>()
    assert.deepEqual([pulled, total], [1_000, 1])
    const [left] = await quiet.sql<{ later: number; tried: number }>(
      'SELECT count(*) FILTER (WHERE due_at > $1) AS later, count(*) FILTER (WHERE attempts = 5) AS tried FROM exceptions',
      [at],
    )
    assert.deepEqual(left, { later: 0, tried: 1_000 })
  } finally {
    await quiet.close()
  }
})
