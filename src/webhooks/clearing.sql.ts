import { advisoryLocks } from '../database/advisory-locks.ts'
import { statement } from '../database/database.ts'
import { ownerOf, placeOf } from './queue-key.ts'

const toBeCleared = `state = 'deleted' AND cleared_at IS NULL`

export const areToBeCleared = `EXISTS (SELECT FROM webhooks WHERE ${toBeCleared})`

export const selectDeleted = statement(
  'select_webhooks_to_clear',
  `SELECT id, branch_id AS "branchId" FROM webhooks WHERE ${toBeCleared} ORDER BY id LIMIT 1`,
)

/** From $4 on, where they lie: what is canceled leaves the queue for the day of its number. */
export const cancelQueued = statement(
  'cancel_queued',
  `WITH gone AS (
     DELETE FROM queued_deliveries WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM queued_deliveries q WHERE (${ownerOf('q')}, ${placeOf('q')}) > ($1, $4::bigint) AND ${ownerOf('q')} = $1
       ORDER BY ${ownerOf('q')}, ${placeOf('q')} LIMIT $3)) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats, reason)
   SELECT id, webhook_id, event_id, entity, 'canceled', attempts, created_at, $2, repeats, 'webhook deleted' FROM gone RETURNING id`,
)

/** One node at a time: more would only keep the part from those who deliver. */
export const tryToClear = statement(
  'try_to_clear',
  `SELECT pg_try_advisory_xact_lock(${advisoryLocks.clearing}) AS locked`,
)

export const noteCleared = statement('note_cleared', 'UPDATE webhooks SET cleared_at = $2 WHERE id = $1')
