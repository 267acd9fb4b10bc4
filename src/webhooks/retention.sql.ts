import { statement } from '../database/database.ts'
import { lastDay } from './days.ts'

/** From $1 to $2: what is older than the counting of days has numbers of its own below all others. */
const oldBy = (column: 'id' | 'event_id') =>
  `SELECT q.id, w.branch_id % 16 AS part FROM queued_deliveries q JOIN webhooks w ON w.id = q.webhook_id
   WHERE q.${column} >= $1 AND q.${column} < $2 ORDER BY q.${column} LIMIT $3`

export const selectOld = statement('select_old_queued', oldBy('id'))

/** Looks through all that is unfinished: once a day. A delivery may be younger than its event by as much as somebody has it sent again. */
export const selectOfOldEvents = statement('select_queued_of_old_events', oldBy('event_id'))

export const expireQueued = statement(
  'expire_queued',
  `WITH gone AS (DELETE FROM queued_deliveries WHERE id = ANY ($1::bigint[]) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
   SELECT id, webhook_id, event_id, entity, 'expired', attempts, created_at, $2, repeats FROM gone RETURNING id, webhook_id AS "webhookId"`,
)

/**
 * What is to be sent again may be of an event that is older than itself. What the dispatcher has read is not wanted any more, though it may
 * stay in the inbox for as long as its part is quiet.
 */
export const selectWanted = statement(
  'select_wanted_events',
  `SELECT FROM queued_deliveries WHERE event_id >= $1 AND event_id < $2
   UNION ALL SELECT FROM inbox i JOIN inbox_reads r ON r.part = i.part AND r.number = (SELECT max(number) FROM inbox_reads o WHERE o.part = r.part)
     WHERE i.event_id >= $1 AND i.event_id < $2 AND (i.xid >= pg_snapshot_xmax(r.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
       AND (r.at_xid IS NULL OR (i.xid, i.id) > (r.at_xid, r.at_id))
   LIMIT 1`,
)

export const selectKept = statement(
  'select_partitions',
  `SELECT substring(child.relname FROM '_d(\\d+)$')::int AS day FROM pg_inherits i
   JOIN pg_class child ON child.oid = i.inhrelid WHERE i.inhparent = $1::regclass ORDER BY 1`,
)

/** Before the first is opened nothing is old. */
export const selectFirstDay = statement('select_first_day', `SELECT coalesce(min(day), ${lastDay}) AS day FROM days`)

export const dropDay = statement('drop_day', 'SELECT drop_day($1, $2) AS dropped')

export const closeLogDay = statement(
  'close_log_day',
  `UPDATE branch_days d SET last = coalesce((
     SELECT max(sequence) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day), d.first - 1)
   WHERE d.day = $1 AND d.last IS NULL`,
)

/** Where a branch's numbers end must be known for ever: its newest day stays. */
export const forgetLogDay = statement(
  'forget_log_day',
  `DELETE FROM branch_days d WHERE d.day <= $1 AND EXISTS (
     SELECT FROM branch_days later WHERE later.branch_id = d.branch_id AND later.environment = d.environment AND later.day > d.day)`,
)

/** The numbers of a branch of which nothing is kept begin after its last. */
export const emptyLogDay = statement(
  'empty_log_day',
  'UPDATE branch_days SET first = last + 1 WHERE day <= $1 AND last IS NOT NULL',
)

export const deleteKeys = statement(
  'delete_old_idempotency_keys',
  `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT $2)) RETURNING key`,
)
