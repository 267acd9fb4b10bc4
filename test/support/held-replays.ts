/** Replays that run for as long as a test does: no worker takes them up. */

import type { TestContext } from 'node:test'
import { ask } from './ask.ts'

import type { TestGateway } from './gateway.ts'
import { holdLanes } from './held-lane.ts'

const insertRunning = `WITH lane AS (UPDATE cursors SET rounds = rounds + $4 WHERE webhook_id = $1
    RETURNING part, webhook_id, position, rounds)
   INSERT INTO replay_cursors (part, webhook_id, round, position, last, failed, since, entity, total,
     created_at)
   SELECT part, webhook_id, rounds - n, 0, position, $2::timestamptz IS NOT NULL, $2, $5, 1, $3
     FROM lane, generate_series(0, $4 - 1) n`

export async function holdReplays(
  t: TestContext,
  house: TestGateway,
  webhookId: number,
  { since, entity }: { readonly since?: number; readonly entity?: string },
  count = 1,
): Promise<void> {
  await holdLanes(t, house, [webhookId])
  const values = [webhookId, since === undefined ? null : new Date(since), house.clock.now(), count, entity]
  await ask(house.gateway.context.db, insertRunning, values)
}
