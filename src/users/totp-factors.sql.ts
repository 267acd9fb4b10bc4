import { bool, bytes, instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const insertTotp = statement({
  name: 'insert_totp',
  takes: { userId: text, sealed: bytes, lastStep: int, createdAt: instant },
  gives: { id: int },
  text: `INSERT INTO totp_factors (user_id, sealed, last_step, created_at)
   VALUES (:userId, :sealed, :lastStep, :createdAt)
   ON CONFLICT (user_id) DO NOTHING RETURNING id`,
})

const sealedColumns = 'id, user_id AS "userId", sealed'

const row = { id: int, userId: text, sealed: bytes }

export const selectTotp = statement({
  name: 'select_totp',
  takes: { userId: text },
  gives: { ...row, createdAt: instant, lastUsedAt: orNull(instant), lockedAt: orNull(instant) },
  text: `SELECT ${sealedColumns}, created_at AS "createdAt", last_used_at AS "lastUsedAt",
          locked_at AS "lockedAt"
   FROM totp_factors WHERE user_id = :userId`,
})

/** One code, one use: of two that come at once, the second finds the step taken. */
export const useStep = statement({
  name: 'use_totp_step',
  takes: { id: int, lastStep: int, lastUsedAt: instant },
  gives: { id: int },
  text: `UPDATE totp_factors SET last_step = :lastStep, last_used_at = :lastUsedAt
   WHERE id = :id AND last_step < :lastStep AND locked_at IS NULL RETURNING id`,
})

/** Answers when it is locked by this one. */
export const countWrongCode = statement({
  name: 'count_wrong_totp_code',
  takes: { userId: text, wrongCodesThatLock: int, now: instant },
  gives: { lockedAt: orNull(instant) },
  text: `UPDATE totp_factors SET wrong_in_a_row = wrong_in_a_row + 1,
     locked_at = CASE WHEN wrong_in_a_row + 1 >= :wrongCodesThatLock THEN :now::timestamptz END
   WHERE user_id = :userId AND locked_at IS NULL RETURNING locked_at AS "lockedAt"`,
})

export const forgiveWrongCodes = statement({
  name: 'forgive_wrong_totp_codes',
  takes: { userId: text, unlocks: bool },
  text: `UPDATE totp_factors SET wrong_in_a_row = 0,
     locked_at = CASE WHEN :unlocks THEN NULL ELSE locked_at END
   WHERE user_id = :userId AND (wrong_in_a_row > 0 OR locked_at IS NOT NULL)`,
})

export const deleteTotp = statement({
  name: 'delete_totp',
  takes: { userId: text },
  gives: { id: int },
  text: 'DELETE FROM totp_factors WHERE user_id = :userId RETURNING id',
})

const page = `SELECT ${sealedColumns} FROM totp_factors WHERE id > :id ORDER BY id LIMIT :most`

export const selectSealed = statement({
  name: 'select_sealed_totp',
  takes: { id: int, most: int },
  gives: row,
  text: `${page} FOR UPDATE`,
})

export const readSealed = statement({
  name: 'read_sealed_totp',
  takes: { id: int, most: int },
  gives: row,
  text: page,
})

export const updateSealed = statement({
  name: 'update_sealed_totp',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE totp_factors SET sealed = :sealed WHERE id = :id',
})
