/**
 * What workers would do by themselves, in a house that has none or does not wait for them: numbers for what
 * was published, an end for what waits.
 */

import type { Database } from '../../src/database/database.ts'
import type { Branch } from '../../src/webhooks/events/branch.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { allParts, partOf } from '../../src/webhooks/events/part.ts'
import { ask } from './ask.ts'
import type { TestGateway } from './gateway.ts'
import { lookAtAll, lookInside } from './look-inside.ts'

type House = Pick<TestGateway, 'gateway' | 'clock'>

export async function numberEvents({ gateway, clock }: House): Promise<void> {
  for (const part of allParts) await lookAtAll(gateway.context.db, part, clock.now())
}

/** What is numbered for a webhook and of its kinds, the oldest first, by the names of deliveries. */
export async function deliveriesOf({ gateway }: House, webhookId: number): Promise<string[]> {
  const rows = await ask<{ seq: number }>(
    gateway.context.db,
    `SELECT l.seq FROM log l JOIN cursors c ON c.part = l.part AND c.feed = l.feed
        AND wants_event(c.kinds, c.actions, l.kind, l.action)
       WHERE c.webhook_id = $1 ORDER BY l.seq`,
    [webhookId],
  )
  return rows.map(({ seq }) => `${webhookId}-${seq}`)
}

/** Everything up to its position has ended. */
const advance = `UPDATE cursors c SET position = coalesce((
     SELECT min(l.seq) - 1 FROM log l WHERE l.part = c.part AND l.feed = c.feed AND l.seq > c.position
       AND wants_event(c.kinds, c.actions, l.kind, l.action)
       AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = c.part AND o.webhook_id = c.webhook_id
         AND o.seq = l.seq AND o.round = 0 AND o.state <> 'retrying')),
     feed_head(c.part, c.feed)) WHERE c.webhook_id = $1`

/** A delivery ends, by its name: after one attempt, or after all that are made. */
export async function endDelivery(
  { gateway, clock }: House,
  id: string,
  state: 'delivered' | 'exhausted' = 'delivered',
): Promise<void> {
  const [webhookId, seq, round = 0] = id.split('-').map(Number) as [number, number, number?]
  await gateway.context.db.transaction(async (sql) => {
    const values = [webhookId, seq, round]
    await ask(
      sql,
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
          outcome)
         SELECT l.part, $1, l.seq, $3, CASE $5 WHEN 'delivered' THEN 1 ELSE 11 END, l.day, $4, 5, CASE $5
           WHEN 'delivered' THEN 200 ELSE 500 END, $5,
           CASE $5 WHEN 'delivered' THEN 'accepted' ELSE 'refused' END
         FROM cursors c JOIN log l ON l.part = c.part AND l.feed = c.feed
           WHERE c.webhook_id = $1 AND l.seq = $2`,
      [...values, clock.now(), state],
    )
    await ask(sql, 'DELETE FROM agains WHERE webhook_id = $1 AND seq = $2 AND round = $3', values)
    await ask(sql, 'DELETE FROM exceptions WHERE webhook_id = $1 AND seq = $2 AND $3 = 0', values)
    await ask(sql, advance, [webhookId])
  })
}

/**
 * A webhook's attempts have failed in a row since then: so many entities of events for it alone, none of
 * which is due soon.
 */
export async function failDeliveries(
  { gateway, clock }: House,
  webhookId: number,
  { failures, since, entities = 1 }: { failures: number; since: Date; entities?: number },
): Promise<void> {
  const now = clock.now()
  await gateway.context.db.transaction(async (sql) => {
    const [{ branchId, environment }] = (await ask<Branch>(
      sql,
      'SELECT branch_id AS "branchId", environment FROM webhooks WHERE id = $1',
      [webhookId],
    )) as [Branch]
    const common = { branchId, environment, kind: 'TRANSACTION', action: 'SUBMITTED', body: '{}' } as const
    const names = Array.from({ length: entities }, (_, index) => `failing:${index}:test`)
    await insertEvents(
      sql,
      names.map((entity) => ({ ...common, entity, simulated: true, webhookId })),
      now,
    )
    await lookInside(gateway.context.db, sql, partOf(branchId), now)
    await ask(
      sql,
      `INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
         SELECT l.part, $1, l.entity, l.seq, l.day, 1, $2::timestamptz + interval '1 day', $2 FROM log l
           WHERE l.webhook_id = $1 AND l.entity = ANY ($3)
         ON CONFLICT DO NOTHING`,
      [webhookId, now, names],
    )
    await ask(
      sql,
      `UPDATE cursors SET failures = $2, failing_since = $3, tried_in = term,
          hold_until = $4::timestamptz + interval '1 day', epoch = epoch + 1,
           position = feed_head(part, feed) WHERE webhook_id = $1`,
      [webhookId, failures, since, now],
    )
  })
}

/** Nothing is to be numbered, nothing is in anybody's hands, and nothing could be taken. */
export async function isAtRest(db: Database, now: Date): Promise<boolean> {
  const [row] = await ask<{ rests: boolean }>(
    db,
    `SELECT NOT EXISTS (SELECT FROM outbox) AND NOT EXISTS (
         SELECT FROM cursors WHERE CASE WHEN holder IS NULL
           THEN is_open AND (wake_at <= $1 OR wake_at > '-infinity' AND rested_at > $1)
           ELSE NOT (is_open AND hold_until > $1 AND held_at <= $1) END) AS rests`,
    [now],
  )
  return row!.rests
}

/**
 * What happened, whether it has its number or not, as a part of FROM; of one feed in the order of `place`.
 */
export const happened = `(SELECT seq AS place, uid, feed, kind, action, entity, body, traceparent, created_at
  FROM log
  UNION ALL SELECT 1000000000 + id, uid, feed, kind, action, entity, body, traceparent, created_at
    FROM outbox) AS happened`
