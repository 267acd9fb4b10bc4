import { statement } from '../database/database.ts'

export const deleteCodes = statement('delete_recovery_codes', 'DELETE FROM recovery_codes WHERE user_id = $1')

export const insertCodes = statement(
  'insert_recovery_codes',
  'INSERT INTO recovery_codes (user_id, hash, created_at) SELECT $1, unnest($2::bytea[]), $3',
)

/** One code, one use. */
export const useCode = statement(
  'use_recovery_code',
  'UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at IS NULL RETURNING id',
)

export const countCodes = statement(
  'count_recovery_codes',
  'SELECT count(*) AS left FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL',
)
