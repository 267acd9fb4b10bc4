import { bytes, instant, int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** One request with this key at a time. */
export const lockKey = statement({
  name: 'lock_idempotency_key',
  takes: { credentialId: int, key: text },
  text: `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'answer', :credentialId::bigint,
     :key::text), 0))`,
})

export const selectAnswer = statement({
  name: 'select_admin_answer',
  takes: { credentialId: int, key: text, since: instant },
  gives: { id: int, sealed: bytes },
  text: `SELECT id, sealed FROM admin_answers
   WHERE credential_id = :credentialId AND key = :key AND answered_at > :since`,
})

export const upsertAnswer = statement({
  name: 'upsert_admin_answer',
  takes: { credentialId: int, key: text, sealed: bytes, answeredAt: instant },
  text: `INSERT INTO admin_answers (credential_id, key, sealed, answered_at)
   VALUES (:credentialId, :key, :sealed, :answeredAt)
   ON CONFLICT (credential_id, key) DO UPDATE
     SET sealed = excluded.sealed, answered_at = excluded.answered_at`,
})

export const deleteOldAnswers = statement({
  name: 'delete_old_admin_answers',
  takes: { before: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM admin_answers WHERE id = ANY (ARRAY(
     SELECT id FROM admin_answers WHERE answered_at <= :before LIMIT :most)) RETURNING id`,
})

const sealedRow = { id: int, credentialId: int, key: text, sealed: bytes }
const page = `SELECT id, credential_id AS "credentialId", key, sealed FROM admin_answers WHERE id > :id
   ORDER BY id LIMIT :most`

export const selectSealed = statement({
  name: 'select_sealed_admin_answers',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: `${page} FOR UPDATE`,
})

export const readSealed = statement({
  name: 'read_sealed_admin_answers',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: page,
})

export const updateSealed = statement({
  name: 'update_sealed_admin_answer',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE admin_answers SET sealed = :sealed WHERE id = :id',
})
