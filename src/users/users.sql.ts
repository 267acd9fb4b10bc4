import { statement } from '../database/database.ts'

export const userColumns = 'id, username, name, role, status, locked_by AS "lockedBy", created_at AS "createdAt"'

const withPassword = `${userColumns}, password_hash AS "passwordHash"`

export const insertUser = statement(
  'insert_user',
  `INSERT INTO users (id, username, name, password_hash, role, created_at, updated_at, email) VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
   RETURNING ${userColumns}`,
)

/** Instead of the name $2, and of no other. */
export const replaceName = statement(
  'replace_name',
  'UPDATE users SET name = $3, updated_at = $4 WHERE id = $1 AND name = $2 RETURNING id',
)

export const selectUserByUsername = statement(
  'select_user_by_username',
  `SELECT ${withPassword} FROM users WHERE username = $1`,
)

export const selectUserById = statement('select_user_by_id', `SELECT ${userColumns} FROM users WHERE id = $1`)

/** In one order: of two operators who lock out each other, one comes first and the other finds it done. */
export const lockActiveOperators = statement(
  'lock_active_operators',
  `SELECT id FROM users WHERE role = 'operator' AND status = 'active' ORDER BY id FOR NO KEY UPDATE`,
)

export const selectUserWithPassword = statement(
  'select_user_with_password',
  `SELECT ${withPassword} FROM users WHERE id = $1`,
)

/** Until its transaction ends, nobody gives them another password or locks them. */
export const holdUserWithPassword = statement(
  'hold_user_with_password',
  `SELECT ${withPassword} FROM users WHERE id = $1 FOR SHARE`,
)

/** The password that was checked is still theirs, and stays so until the transaction ends. */
export const holdPassword = statement(
  'hold_password',
  `SELECT id FROM users WHERE id = $1 AND password_hash = $2 AND status = 'active' FOR SHARE`,
)

/** The same with a hash of the cost of today: only instead of the one that was checked. */
export const rehashPassword = statement(
  'rehash_password',
  `UPDATE users SET password_hash = $3, updated_at = $4 WHERE id = $1 AND password_hash = $2 AND status = 'active' RETURNING id`,
)

export const selectPasswordHash = statement(
  'select_password_hash',
  'SELECT password_hash AS "passwordHash" FROM users WHERE id = $1',
)

export const updatePassword = statement(
  'update_password',
  'UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1',
)

/** Only while the old one is still the one that was checked: of two changes at once, one happens. */
export const replacePassword = statement(
  'replace_password',
  'UPDATE users SET password_hash = $3, updated_at = $4 WHERE id = $1 AND password_hash = $2 RETURNING id',
)

/** What is locked here stays locked, whatever the source says of them. */
const setStatus = "UPDATE users SET status = $2, locked_here = ($2 = 'disabled'), updated_at = $3 WHERE id = $1"

export const updateUserStatus = statement('update_user_status', setStatus)

/** Whom the source has locked can be locked here as well. */
export const changeUserStatus = statement(
  'change_user_status',
  `${setStatus} AND (status <> $2 OR ($2 = 'disabled' AND source_status = 'disabled' AND NOT locked_here)) RETURNING id`,
)

export const selectMail = statement(
  'select_mail',
  'SELECT email, declined_notices AS "declinedNotices" FROM users WHERE id = $1',
)

/** Holds still whoever else changes it. */
export const lockMail = statement('lock_mail', 'SELECT email FROM users WHERE id = $1 FOR NO KEY UPDATE')

export const updateEmail = statement('update_email', 'UPDATE users SET email = $2, updated_at = $3 WHERE id = $1')

/** Who acts and when, for what triggers write in this transaction. */
export const nameAct = statement('name_act', "SELECT set_config('countersign.act', $1::jsonb::text, true) AS named")

export const selectFormerEmails = statement(
  'select_former_emails',
  'SELECT email FROM former_emails WHERE user_id = $1 AND replaced_at > $2',
)

export const deleteOldFormerEmails = statement(
  'delete_old_former_emails',
  `DELETE FROM former_emails WHERE (user_id, email) IN (
     SELECT user_id, email FROM former_emails WHERE replaced_at <= $1 LIMIT $2) RETURNING email`,
)

export const updateDeclined = statement(
  'update_declined_notices',
  `UPDATE users SET declined_notices = $2, updated_at = $3 WHERE id = $1 AND declined_notices IS DISTINCT FROM $2::text[]
   RETURNING id`,
)

/** Whoever has no password here, and gives a second factor at their provider, is guarded by it. */
export const countOperators = statement(
  '',
  `SELECT count(*) AS operators, count(*) FILTER (WHERE NOT EXISTS (SELECT FROM totp_factors f WHERE f.user_id = u.id)
       AND NOT EXISTS (SELECT FROM passkeys k WHERE k.user_id = u.id)
       AND NOT (password_hash IS NULL AND EXISTS (SELECT FROM identities i JOIN identity_providers p ON p.issuer = i.issuer AND p.enabled_at IS NOT NULL
         WHERE i.user_id = u.id AND i.factor_at IS NOT NULL))) AS unguarded,
     count(*) FILTER (WHERE email IS NULL) AS unaddressed
   FROM users u WHERE role = 'operator' AND status = 'active'`,
)

export const selectUserNames = statement('select_user_names', 'SELECT id, name FROM users WHERE id = ANY ($1::text[])')
