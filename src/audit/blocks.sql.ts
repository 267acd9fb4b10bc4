import { bool, bytes, instant, int, list, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** As a block's hash covers them (block.ts). */
const entryColumns =
  'id, at, actor, action, subject, environment, address, request_id AS "requestId", details::text AS details'

const entryRow = {
  id: int,
  at: instant,
  actor: text,
  action: text,
  subject: text,
  environment: orNull(text),
  address: orNull(text),
  requestId: orNull(text),
  details: text,
}

/** One node at a time, whichever has it (a leader lock). */
export const tryLock = statement({
  name: 'try_lock_chain',
  takes: { lock: int },
  gives: { locked: bool },
  text: 'SELECT pg_try_advisory_xact_lock(:lock) AS locked',
})

export const lock = statement({
  name: 'lock_chain',
  takes: { lock: int },
  gives: { locked: bool },
  text: 'SELECT true AS locked FROM pg_advisory_xact_lock(:lock)',
})

export const selectHead = statement({
  name: 'select_chain_head',
  gives: { position: int, hash: bytes },
  text: 'SELECT position, hash FROM audit_blocks ORDER BY position DESC LIMIT 1',
})

export const isUnsealed = 'EXISTS (SELECT FROM audit_unsealed)'

export const takeUnsealed = statement({
  name: 'take_unsealed_entries',
  takes: { most: int },
  gives: entryRow,
  text: `WITH taken AS (
     DELETE FROM audit_unsealed WHERE entry_id = ANY (ARRAY(SELECT entry_id FROM audit_unsealed
       ORDER BY entry_id LIMIT :most))
     RETURNING entry_id)
   SELECT ${entryColumns} FROM audit_entries JOIN taken ON entry_id = id ORDER BY id`,
})

export const insertBlock = statement({
  name: 'insert_audit_block',
  takes: { position: int, entryIds: list(int), hash: bytes, sealedAt: instant, root: bytes },
  text: `INSERT INTO audit_blocks (position, entry_ids, hash, sealed_at, root)
   VALUES (:position, :entryIds, :hash, :sealedAt, :root)`,
})

export const selectHash = statement({
  name: 'select_block_hash',
  takes: { position: int },
  gives: { hash: bytes },
  text: 'SELECT hash FROM audit_blocks WHERE position = :position',
})

export const selectBlock = statement({
  name: 'select_audit_block',
  takes: { position: int },
  gives: { entryIds: list(int), hash: bytes, root: bytes },
  text: 'SELECT entry_ids AS "entryIds", hash, root FROM audit_blocks WHERE position = :position',
})

export const selectEntries = statement({
  name: 'select_block_entries',
  takes: { ids: list(int) },
  gives: entryRow,
  text: `SELECT ${entryColumns} FROM unnest(:ids::bigint[]) WITH ORDINALITY AS b (id, place)
   JOIN audit_entries USING (id) ORDER BY place`,
})

export const countLoose = statement({
  name: 'count_loose_entries',
  gives: { loose: int },
  text: `SELECT (SELECT count(*) FROM audit_entries) - (SELECT count(*) FROM audit_unsealed)
        - (SELECT coalesce(sum(cardinality(entry_ids)), 0) FROM audit_blocks) AS loose`,
})

export const selectHashes = statement({
  name: 'select_block_hashes',
  takes: { positions: list(int) },
  gives: { position: int, hash: bytes },
  text: 'SELECT position, hash FROM audit_blocks WHERE position = ANY (:positions::bigint[])',
})
