/**
 * Acts on more than anybody would count: they touch a row or two, whatever lies behind. Judged by states and
 * rows.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { day, hour } from '../../src/clock.ts'
import { step } from '../../src/database/database.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { replayedAtMost } from '../../src/webhooks/deliveries/replay.ts'
import { countGivenUp } from '../../src/webhooks/deliveries/replays.sql.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { logOf } from '../../src/webhooks/events/branch-log.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, fillWithSettled, openEngine } from '../support/engine.ts'

const many = 80_000

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
  webhook = await engine.makeWebhook('/a')
})
afterEach(() => engine.close())

const count = async (table: string) =>
  (await engine.sql<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`))[0]!.rows
const written = async () => ({
  outcomes: await count('outcomes'),
  agains: await count('agains'),
  exceptions: await count('exceptions'),
})

interface PlanNode {
  readonly Plans?: readonly PlanNode[]
  readonly 'Rows Removed by Join Filter'?: number
}

/** How many pairs a plan compared in vain. */
const comparedInVain = (node: PlanNode): number =>
  (node['Rows Removed by Join Filter'] ?? 0) +
  (node.Plans ?? []).reduce((sum, each) => sum + comparedInVain(each), 0)

interface ReplayStart {
  readonly state: string
  readonly total: number | null
}

test('a recovery of 80,000 that failed in a day is begun by one row, and is not counted to its end', async () => {
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: many, state: 'exhausted' })
  const before = await written()
  const since = engine.house.clock.now().getTime() - hour
  const answer = await engine.call('POST', `/v2/webhooks/${webhook.id}/recover`, { since })
  assert.ok(answer.status < 300, answer.text)
  const { state, total } = answer.json<ReplayStart>()
  assert.deepEqual([state, total], ['running', null])
  assert.deepEqual(await written(), before)
  assert.equal(await count('replay_cursors'), 1)
  // Whatever the statistics say: nobody has counted the tables since they were filled.
  const chosen = { first: 1, failed: true, since: new Date(since), most: replayedAtMost + 1 }
  const { statement, values } = step(countGivenUp, { ...logOf(webhook), webhookId: webhook.id, ...chosen })
  const [explained] = await engine.sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`,
    values,
  )
  assert.equal(comparedInVain(explained!['QUERY PLAN'][0]!.Plan), 0)
})

test('a replay of 80,000 is begun by one row, and another act on the webhook finds it free', async () => {
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: many, state: 'delivered' })
  const before = await written()
  const answer = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays`, { from: 0 })
  assert.deepEqual([answer.status, answer.json<ReplayStart>().total], [201, null])
  assert.equal((await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)).status, 200)
  assert.deepEqual(await written(), before)
})

test('80,000 that a suspended partner has unfinished leave with their day by one row, and the audit log says so', async () => {
  const { house, db, branchId } = engine
  await setPartnerStatus(db, await getPartner(db, String(branchId)), 'suspended', 'a reason', house.act())
  const { position } = await engine.cursor(webhook)
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: many, state: 'delivered' })
  await engine.sql('DELETE FROM outcomes')
  await engine.sql('UPDATE cursors SET position = $1', [position])
  house.clock.advance(91 * day)
  await engine.sql('SELECT open_day(day_of($1))', [house.clock.now()])
  const { days, expired } = await retireOnce(db, { attemptDays: 30, eventDays: 90 }, house.clock.now())
  assert.ok(days >= 1 && expired > 0, `${days} days, ${expired} expired`)
  assert.equal(await count('log'), 0)
  assert.deepEqual(await written(), { outcomes: 0, agains: 0, exceptions: 0 })
  assert.equal(await count('passes'), 1)
  assert.equal((await engine.cursor(webhook)).position, many)
  assert.equal(await count(`audit_entries WHERE action = 'webhook.expired'`), 1)
})
