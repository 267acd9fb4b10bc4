import { bytes, instant, int, list, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

export const selectBranches = statement({
  name: 'select_branches',
  takes: { branchIds: list(int) },
  gives: { branchId: int },
  text: 'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = ANY (:branchIds::bigint[])',
})

/** Many at once, in one order: two that want the same keys cannot wait for each other in a circle. */
export const insertIdempotencyKeys = statement({
  name: 'insert_idempotency_keys',
  takes: {
    owners: list(text),
    keys: list(text),
    requestHashes: list(bytes),
    /** Each as PostgreSQL prints an array. */
    eventUids: list(text),
    now: instant,
  },
  gives: { owner: text, key: text },
  text: `INSERT INTO idempotency_keys (owner, key, request_hash, event_uids, created_at)
   SELECT owner, key, request_hash, event_uids::uuid[], :now
   FROM unnest(:owners::text[], :keys::text[], :requestHashes::bytea[], :eventUids::text[])
     AS k (owner, key, request_hash, event_uids)
   ORDER BY owner, key ON CONFLICT DO NOTHING RETURNING owner, key`,
})

export const selectIdempotencyKey = statement({
  name: 'select_idempotency_key',
  takes: { owner: text, key: text },
  gives: { requestHash: bytes, eventUids: list(uuid) },
  text: `SELECT request_hash AS "requestHash", event_uids AS "eventUids" FROM idempotency_keys
    WHERE owner = :owner AND key = :key`,
})
