import { bytes, instant, int, list, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const deleteCodes = statement({
  name: 'delete_recovery_codes',
  takes: { userId: text },
  text: 'DELETE FROM recovery_codes WHERE user_id = :userId',
})

export const insertCodes = statement({
  name: 'insert_recovery_codes',
  takes: { userId: text, hashes: list(bytes), createdAt: instant },
  text: `INSERT INTO recovery_codes (user_id, hash, created_at)
   SELECT :userId, unnest(:hashes::bytea[]), :createdAt`,
})

/** One code, one use. */
export const useCode = statement({
  name: 'use_recovery_code',
  takes: { userId: text, hash: bytes, usedAt: instant },
  gives: { id: int },
  text: `UPDATE recovery_codes SET used_at = :usedAt
   WHERE user_id = :userId AND hash = :hash AND used_at IS NULL RETURNING id`,
})

export const countCodes = statement({
  name: 'count_recovery_codes',
  takes: { userId: text },
  gives: { left: int },
  text: 'SELECT count(*) AS left FROM recovery_codes WHERE user_id = :userId AND used_at IS NULL',
})
