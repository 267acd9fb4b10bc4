import { statement } from '../database/database.ts'

/** As a block's hash covers them (block.ts). */
const entryColumns =
  'id, at, actor, action, subject, environment, address, request_id AS "requestId", details::text AS details'

/** One node at a time, whichever has it (a leader lock). */
export const tryLock = statement('try_lock_chain', 'SELECT pg_try_advisory_xact_lock($1) AS locked')

export const lock = statement('lock_chain', 'SELECT true AS locked FROM pg_advisory_xact_lock($1)')

export const selectHead = statement(
  'select_chain_head',
  'SELECT position, hash FROM audit_blocks ORDER BY position DESC LIMIT 1',
)

export const isUnsealed = 'EXISTS (SELECT FROM audit_unsealed)'

export const takeUnsealed = statement(
  'take_unsealed_entries',
  `WITH taken AS (
     DELETE FROM audit_unsealed WHERE entry_id = ANY (ARRAY(SELECT entry_id FROM audit_unsealed ORDER BY entry_id LIMIT $1))
     RETURNING entry_id)
   SELECT ${entryColumns} FROM audit_entries JOIN taken ON entry_id = id ORDER BY id`,
)

export const insertBlock = statement(
  'insert_audit_block',
  'INSERT INTO audit_blocks (position, entry_ids, hash, sealed_at, root) VALUES ($1, $2, $3, $4, $5)',
)

export const selectHash = statement('select_block_hash', 'SELECT hash FROM audit_blocks WHERE position = $1')

export const selectBlock = statement(
  'select_audit_block',
  'SELECT entry_ids AS "entryIds", hash, root FROM audit_blocks WHERE position = $1',
)

export const selectEntries = statement(
  'select_block_entries',
  `SELECT ${entryColumns} FROM unnest($1::bigint[]) WITH ORDINALITY AS b (id, place)
   JOIN audit_entries USING (id) ORDER BY place`,
)

export const countLoose = statement(
  'count_loose_entries',
  `SELECT (SELECT count(*) FROM audit_entries) - (SELECT count(*) FROM audit_unsealed)
        - (SELECT coalesce(sum(cardinality(entry_ids)), 0) FROM audit_blocks) AS loose`,
)

export const selectHashes = statement(
  'select_block_hashes',
  'SELECT position, hash FROM audit_blocks WHERE position = ANY ($1::bigint[])',
)
