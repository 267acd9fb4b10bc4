/**
 * A part of a house with twenty thousand webhooks: what looks at it each minute looks at so many rows and no
 * more, and in turns at everything.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, minute } from '../../src/clock.ts'
import { step } from '../../src/database/database.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import { allParts, partOf } from '../../src/webhooks/events/part.ts'
import { findBrokenCursors } from '../../src/webhooks/health/invariants.sql.ts'
import { findBroken } from '../../src/webhooks/health/invariants.ts'
import { onPlainOnly } from '../support/citus.ts'
import { openEngine } from '../support/engine.ts'
import { followByHand } from '../support/follow.ts'

interface PlanNode {
  readonly Plans?: readonly PlanNode[]
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
}

const readOf = (node: PlanNode, table: string): number =>
  (node['Relation Name']?.startsWith(table) ? node['Actual Rows'] * node['Actual Loops'] : 0) +
  (node.Plans ?? []).reduce((sum, each) => sum + readOf(each, table), 0)

test('of 1,300 webhooks in a part the sweep looks at a thousand entries or so each minute, and in turns finds what is lost of any', {
  skip: onPlainOnly('it reads a plan'),
}, async (t) => {
  const engine = await openEngine({ ROLES: 'api' })
  t.after(() => engine.close())
  const { sql, house, branchId } = engine
  const now = house.clock.now()
  const part = partOf(branchId)
  await sql(
    `WITH made AS (
       INSERT INTO partners (name, status, created_at, updated_at)
       SELECT 'Other ' || n, 'approved', $1::timestamptz, $1 FROM generate_series(1, $3) n
         RETURNING branch_id)
     INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
     SELECT branch_id, 'live', 'https://other.example/hook', '{TRANSACTION}', $1, $1
       FROM made, generate_series(1, 100) WHERE part_of(branch_id) = $2`,
    [now, part, 13 * allParts.length],
  )
  for (const text of followByHand.split(';').filter((each) => each.trim())) await sql(text)
  await sql(
    `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
     SELECT part, feed, $1, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}'
       FROM (SELECT DISTINCT part, feed FROM cursors) f, generate_series(1, 30) n`,
    [now],
  )
  await sql('SELECT FROM look($1, $2, 100000)', [part, now])
  await sql(
    `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
      outcome)
     SELECT l.part, c.webhook_id, l.seq, 0, 1, l.day, $1, 5, 200, 'delivered', 'accepted' FROM cursors c
       JOIN log l ON l.part = c.part AND l.feed = c.feed`,
    [now],
  )
  await sql(`UPDATE cursors SET position = 30, wake_at = 'infinity', rested_at = $1`, [now])
  assert.equal((await sql('SELECT FROM cursors')).length, 1_300)

  const bounds = { part, rowsAtMost: 1_000, turn: 0 }
  const { statement, values } = step(findBrokenCursors, { ...bounds, now, gone: [] })
  const [explained] = await sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`,
    values,
  )
  const looked = readOf(explained!['QUERY PLAN'][0]!.Plan, 'log')
  assert.ok(looked > 0 && looked <= 2_000, `${looked} entries`)

  const [lost] = await sql<{ webhook: number }>(
    `DELETE FROM outcomes WHERE seq = 20 AND webhook_id = (SELECT max(webhook_id) - 7 FROM cursors)
      RETURNING webhook_id AS webhook`,
  )
  const scope = { parts: [part], rowsAtMost: 1_000, fromDay: dayOf(now), keysAtMost: 1 }
  const found = new Set<string>()
  for (let turn = 0; turn < 30; turn++)
    for (const { subject } of await findBroken(engine.db, after(now, turn * 2 * minute), scope))
      found.add(subject)
  assert.deepEqual([...found], [`delivery:${lost!.webhook}-20`])
})
