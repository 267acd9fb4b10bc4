import { statement } from '../database/database.ts'

export const insertTotp = statement(
  'insert_totp',
  `INSERT INTO totp_factors (user_id, sealed, last_step, created_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (user_id) DO NOTHING RETURNING id`,
)

const sealedColumns = 'id, user_id AS "userId", sealed'

export const selectTotp = statement(
  'select_totp',
  `SELECT ${sealedColumns}, created_at AS "createdAt", last_used_at AS "lastUsedAt", locked_at AS "lockedAt"
   FROM totp_factors WHERE user_id = $1`,
)

/** One code, one use: of two that come at once, the second finds the step taken. */
export const useStep = statement(
  'use_totp_step',
  'UPDATE totp_factors SET last_step = $2, last_used_at = $3 WHERE id = $1 AND last_step < $2 AND locked_at IS NULL RETURNING id',
)

/** $2: how many of them lock it. Answers when it is locked by this one. */
export const countWrongCode = statement(
  'count_wrong_totp_code',
  `UPDATE totp_factors SET wrong_in_a_row = wrong_in_a_row + 1, locked_at = CASE WHEN wrong_in_a_row + 1 >= $2 THEN $3::timestamptz END
   WHERE user_id = $1 AND locked_at IS NULL RETURNING locked_at AS "lockedAt"`,
)

/** $2: whether it is unlocked too. */
export const forgiveWrongCodes = statement(
  'forgive_wrong_totp_codes',
  `UPDATE totp_factors SET wrong_in_a_row = 0, locked_at = CASE WHEN $2 THEN NULL ELSE locked_at END
   WHERE user_id = $1 AND (wrong_in_a_row > 0 OR locked_at IS NOT NULL)`,
)

export const deleteTotp = statement('delete_totp', 'DELETE FROM totp_factors WHERE user_id = $1 RETURNING id')

const page = `SELECT ${sealedColumns} FROM totp_factors WHERE id > $1 ORDER BY id LIMIT $2`

export const selectSealed = statement('select_sealed_totp', `${page} FOR UPDATE`)

export const readSealed = statement('read_sealed_totp', page)

export const updateSealed = statement('update_sealed_totp', 'UPDATE totp_factors SET sealed = $2 WHERE id = $1')
