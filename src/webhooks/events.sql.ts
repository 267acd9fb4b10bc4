import { statement } from '../database/database.ts'

/** Any number of events in one statement, numbered in their order; a trigger puts them into the inbox and wakes the workers. */
export const insertEvents = statement(
  'insert_events',
  `INSERT INTO events (uid, environment, branch_id, kind, action, entity, body, simulated, created_at, traceparent)
   SELECT uid, environment, branch_id, kind, action, entity, body, simulated, $9, traceparent
   FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $10::text[])
     WITH ORDINALITY AS e (uid, environment, branch_id, kind, action, entity, body, simulated, traceparent, place)
   ORDER BY place RETURNING id`,
)

export const selectBranches = statement(
  'select_branches',
  'SELECT branch_id FROM partners WHERE branch_id = ANY ($1::bigint[])',
)

export const insertIdempotencyKey = statement(
  'insert_idempotency_key',
  `INSERT INTO idempotency_keys (owner, key, request_hash, event_uids, created_at) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT DO NOTHING RETURNING key`,
)

export const selectIdempotencyKey = statement(
  'select_idempotency_key',
  'SELECT request_hash, event_uids FROM idempotency_keys WHERE owner = $1 AND key = $2',
)

export const selectLog = statement(
  'select_branch_log',
  `SELECT l.sequence, e.uid, e.kind, e.action, e.entity, e.body, e.simulated, e.created_at
   FROM branch_log l JOIN events e ON e.id = l.event_id
   WHERE l.branch_id = $1 AND l.environment = $2 AND l.sequence > $3 ORDER BY l.sequence LIMIT $4`,
)

export const selectLogHead = statement(
  'select_branch_log_head',
  `SELECT coalesce(max(last), 0) AS last,
          (SELECT coalesce(min(sequence), 1) FROM branch_log WHERE branch_id = $1 AND environment = $2) AS first
   FROM branch_sequences WHERE branch_id = $1 AND environment = $2`,
)
