import { statement } from '../../database/database.ts'

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
