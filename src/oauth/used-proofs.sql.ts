import { bytes, instant, int, list } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** Those that were new. In one order, so that two nodes never wait for each other. */
export const insertUsedProofs = statement({
  name: 'insert_used_proofs',
  takes: { hashes: list(bytes), expiresAt: list(instant) },
  gives: { hash: bytes },
  text: `INSERT INTO used_proofs (hash, expires_at)
   SELECT hash, expires_at FROM unnest(:hashes::bytea[], :expiresAt::timestamptz[]) AS asked (hash, expires_at)
   ORDER BY hash ON CONFLICT DO NOTHING RETURNING hash`,
})

export const selectUsedProof = statement({
  name: 'select_used_proof',
  takes: { hash: bytes },
  gives: { hash: bytes },
  text: 'SELECT hash FROM used_proofs WHERE hash = :hash',
})

export const deleteOldProofs = statement({
  name: 'delete_old_used_proofs',
  takes: { now: instant, most: int },
  gives: { hash: bytes },
  text: `DELETE FROM used_proofs WHERE hash = ANY (ARRAY(
     SELECT hash FROM used_proofs WHERE expires_at <= :now LIMIT :most)) RETURNING hash`,
})
