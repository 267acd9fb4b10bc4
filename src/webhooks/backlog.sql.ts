import { statement } from '../database/database.ts'

/** The oldest that wait at a webhook, by pairs, because only the index of the webhook has that order; so many and no more. */
export const selectHeldEntities = statement(
  'select_held_entities',
  `WITH looked AS MATERIALIZED (
     SELECT id, entity, attempts, after_id, created_at FROM queued_deliveries
     WHERE (webhook_id + 0, id + 0) > ($1, 0) AND (webhook_id + 0, id + 0) < ($1::bigint + 1, 0) ORDER BY webhook_id + 0, id + 0 LIMIT $2),
   held AS MATERIALIZED (
     SELECT entity, count(*) AS waiting, count(*) FILTER (WHERE after_id IS NOT NULL) AS behind, min(created_at) AS since, max(attempts) AS attempts,
       min(id) AS "deliveryId"
     FROM looked GROUP BY entity)
   SELECT held.*, (SELECT count(*) FROM held) AS entities, (SELECT count(*) FROM looked) AS looked,
     (SELECT count(*) FROM looked WHERE after_id IS NOT NULL) AS blocked
   FROM held ORDER BY behind DESC, since, "deliveryId" LIMIT $3`,
)
