import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { isOfDay } from './days.ts'

/** Any number of events in one statement, numbered in their order, and with each its entry in the inbox. None where the day is not open. */
export const insertEvents = statement(
  'insert_events',
  `WITH numbered AS MATERIALIZED (
     SELECT d.event_offset + nextval('event_numbers') AS id, e.*
     FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $10::text[])
       WITH ORDINALITY AS e (uid, environment, branch_id, kind, action, entity, body, simulated, traceparent, place)
     CROSS JOIN days d WHERE d.day = $11 ORDER BY place),
   stored AS (
     INSERT INTO events (id, uid, environment, branch_id, kind, action, entity, body, simulated, created_at, traceparent)
     SELECT id, uid, environment, branch_id, kind, action, entity, body, simulated, $9, traceparent FROM numbered),
   noted AS (
     INSERT INTO inbox (part, event_id, branch_id, environment, kind, action, entity, simulated)
     SELECT branch_id % 16, id, branch_id, environment, kind, action, entity, simulated FROM numbered)
   SELECT id FROM numbered ORDER BY place`,
)

/** For one webhook alone. In the transaction that stores the event. */
export const aimEvent = statement('aim_event', 'UPDATE events SET webhook_id = $2 WHERE id = $1')

export const selectBranches = statement(
  'select_branches',
  'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = ANY ($1::bigint[])',
)

/** Many at once, in one order: two that want the same keys cannot wait for each other in a circle. */
export const insertIdempotencyKeys = statement(
  'insert_idempotency_keys',
  `INSERT INTO idempotency_keys (owner, key, request_hash, event_uids, created_at)
   SELECT owner, key, request_hash, event_uids::uuid[], $5
   FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) AS k (owner, key, request_hash, event_uids)
   ORDER BY owner, key ON CONFLICT DO NOTHING RETURNING owner, key`,
)

export const selectIdempotencyKey = statement(
  'select_idempotency_key',
  'SELECT request_hash AS "requestHash", event_uids AS "eventUids" FROM idempotency_keys WHERE owner = $1 AND key = $2',
)

/** The days that hold a branch's numbers from one on, oldest first. */
export const selectLogDays = statement(
  'select_branch_log_days',
  `SELECT day FROM branch_days WHERE branch_id = $1 AND environment = $2 AND (last IS NULL OR (last > $3 AND first <= last)) ORDER BY day`,
)

export const selectLog = statementOfDay(
  'select_branch_log',
  (day) => `SELECT l.sequence, l.event_id AS "eventId" FROM branch_log l
   WHERE l.day = ${day} AND l.branch_id = $1 AND l.environment = $2 AND l.sequence > $3 ORDER BY l.sequence LIMIT $4`,
)

export const selectLogged = statementOfDay(
  'select_logged_events',
  (day) =>
    `SELECT id, uid, kind, action, entity, body, simulated, created_at AS "createdAt" FROM events WHERE id = ANY ($1::bigint[]) AND ${isOfDay('id', day)}`,
)

/** Where the numbers of a branch begin and end, as far as they are kept. */
export const selectLogHead = statement(
  'select_branch_log_head',
  `SELECT coalesce((SELECT first FROM branch_days WHERE branch_id = $1 AND environment = $2 ORDER BY day LIMIT 1), 1) AS first,
     coalesce((SELECT coalesce(d.last, (
         SELECT max(sequence) FROM branch_log l WHERE l.branch_id = $1 AND l.environment = $2 AND l.day = d.day), d.first - 1)
       FROM branch_days d WHERE d.branch_id = $1 AND d.environment = $2 ORDER BY d.day DESC LIMIT 1), 0) AS last`,
)
