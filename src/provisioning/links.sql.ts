import { statement } from '../database/database.ts'

/** While the source has said nothing of them: whatever it says has a version. */
export const linkUser = statement(
  'link_user_to_source',
  `UPDATE users SET source = $2, external_id = $3, updated_at = $4 WHERE id = $1 AND version IS NULL RETURNING id`,
)

export const lockAccount = statement(
  'lock_account_to_link',
  'SELECT environment, version IS NOT NULL AS "isKnown" FROM accounts WHERE account_number = $1 FOR NO KEY UPDATE',
)

export const linkAccount = statement(
  'link_account_to_source',
  'UPDATE accounts SET source = $2, external_id = $3 WHERE account_number = $1',
)
