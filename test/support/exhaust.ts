import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { parseDeliveryId } from '../../src/webhooks/engine/delivery-id.ts'
import { ask } from './ask.ts'

const give = `WITH k AS (SELECT part_of(w.branch_id) AS part, feed_of(w.branch_id, w.environment) AS feed FROM webhooks w
    WHERE w.id = $1),
   first AS MATERIALIZED (
     SELECT k.part, k.feed, x.day, x.entity, x.attempts, touch_cursor(k.part, $1) AS touched FROM k
       JOIN exceptions x ON x.part = k.part AND x.webhook_id = $1 AND x.seq = $2),
   written AS (
     INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
       outcome)
     SELECT part, $1, $2, 0, attempts + 1, day, $3, 5, 500, 'exhausted', 'refused' FROM first RETURNING seq)
   SELECT part, feed, entity FROM first WHERE EXISTS (SELECT FROM written)`
const goOn =
  "SELECT advance_exception($1::smallint, $2::bigint, $3::int, $4, $5::bigint, feed_head($1::smallint, $3::int), $6), announce('webhook:' || $2::bigint)"

/**
 * One that failed and waits for its next attempt is given up, as after the last of them: by an act beside the
 * worker, which hears of it.
 */
export async function exhaust(db: Database, deliveryId: string, now: Date): Promise<void> {
  const { webhookId, seq } = parseDeliveryId(deliveryId)!
  await db.transaction(async (sql) => {
    const [first] = await ask<{ part: number; feed: number; entity: string }>(sql, give, [
      webhookId,
      seq,
      now,
    ])
    assert.ok(first, `${deliveryId} does not wait for its next attempt`)
    await ask(sql, goOn, [first.part, webhookId, first.feed, first.entity, seq, now])
  })
}
