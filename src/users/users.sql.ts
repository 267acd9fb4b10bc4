import { instant, int, json, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { declinable } from '../notices/facts.ts'
import { userRoles } from '../vocabulary/user-role.ts'

export const userColumns =
  'id, username, name, role, test_of AS "testOf", status, locked_by AS "lockedBy", created_at AS "createdAt"'

export const userRow = {
  id: text,
  username: text,
  name: text,
  role: oneOf(...userRoles),
  testOf: orNull(int),
  status: oneOf('active', 'disabled'),
  lockedBy: orNull(oneOf('operator', 'source', 'removal')),
  createdAt: instant,
}

const withPassword = `${userColumns}, password_hash AS "passwordHash"`

const rowWithPassword = { ...userRow, passwordHash: orNull(text) }

export const insertUser = statement({
  name: 'insert_user',
  takes: {
    id: text,
    username: text,
    name: text,
    passwordHash: orNull(text),
    role: text,
    createdAt: instant,
    email: orNull(text),
  },
  gives: userRow,
  text: `INSERT INTO users (id, username, name, password_hash, role, created_at, updated_at, email)
    VALUES (:id, :username, :name, :passwordHash, :role, :createdAt, :createdAt, :email)
   RETURNING ${userColumns}`,
})

/** Instead of the name `before`, and of no other. */
export const replaceName = statement({
  name: 'replace_name',
  takes: { id: text, before: text, name: text, updatedAt: instant },
  gives: { id: text },
  text: `UPDATE users SET name = :name, updated_at = :updatedAt WHERE id = :id AND name = :before
   RETURNING id`,
})

export const selectUserByUsername = statement({
  name: 'select_user_by_username',
  takes: { username: text },
  gives: rowWithPassword,
  text: `SELECT ${withPassword} FROM users WHERE username = :username`,
})

export const selectUserById = statement({
  name: 'select_user_by_id',
  takes: { id: text },
  gives: userRow,
  text: `SELECT ${userColumns} FROM users WHERE id = :id`,
})

/** In one order: of two operators who lock out each other, one comes first and the other finds it done. */
export const lockActiveOperators = statement({
  name: 'lock_active_operators',
  gives: { id: text },
  text: `SELECT id FROM users WHERE role = 'operator' AND status = 'active' ORDER BY id FOR NO KEY UPDATE`,
})

export const selectUserWithPassword = statement({
  name: 'select_user_with_password',
  takes: { id: text },
  gives: rowWithPassword,
  text: `SELECT ${withPassword} FROM users WHERE id = :id`,
})

/** Until its transaction ends, no other transaction gives them another password or locks them. */
export const holdUserWithPassword = statement({
  name: 'hold_user_with_password',
  takes: { id: text },
  gives: rowWithPassword,
  text: `SELECT ${withPassword} FROM users WHERE id = :id FOR SHARE`,
})

/** The password that was checked is still theirs, and stays so until the transaction ends. */
export const holdPassword = statement({
  name: 'hold_password',
  takes: { id: text, passwordHash: text },
  gives: { id: text },
  text: `SELECT id FROM users WHERE id = :id AND password_hash = :passwordHash AND status = 'active'
   FOR SHARE`,
})

/** The same of a test holder, whose password follows from the keys, while their partner has the sandbox. */
export const holdTestHolder = statement({
  name: 'hold_test_holder',
  takes: { id: text },
  gives: { id: text },
  text: `SELECT u.id FROM users u JOIN partners p ON p.branch_id = u.test_of
   WHERE u.id = :id AND u.status = 'active' AND may_act(p.status, 'sandbox') FOR SHARE`,
})

/** The same with a hash of the cost of today: only instead of the one that was checked. */
export const rehashPassword = statement({
  name: 'rehash_password',
  takes: { id: text, checked: text, passwordHash: text, updatedAt: instant },
  gives: { id: text },
  text: `UPDATE users SET password_hash = :passwordHash, updated_at = :updatedAt
   WHERE id = :id AND password_hash = :checked AND status = 'active' RETURNING id`,
})

export const selectPasswordHash = statement({
  name: 'select_password_hash',
  takes: { id: text },
  gives: { passwordHash: orNull(text) },
  text: 'SELECT password_hash AS "passwordHash" FROM users WHERE id = :id',
})

export const updatePassword = statement({
  name: 'update_password',
  takes: { id: text, passwordHash: text, updatedAt: instant },
  text: 'UPDATE users SET password_hash = :passwordHash, updated_at = :updatedAt WHERE id = :id',
})

/** Only while the old one is still the one that was checked: of two changes at once, one happens. */
export const replacePassword = statement({
  name: 'replace_password',
  takes: { id: text, checked: orNull(text), passwordHash: text, updatedAt: instant },
  gives: { id: text },
  text: `UPDATE users SET password_hash = :passwordHash, updated_at = :updatedAt
   WHERE id = :id AND password_hash = :checked RETURNING id`,
})

/** What is locked here stays locked, whatever the source says of them. */
const setStatus = `UPDATE users SET status = :status, locked_here = (:status = 'disabled'),
     updated_at = :updatedAt
   WHERE id = :id`

export const updateUserStatus = statement({
  name: 'update_user_status',
  takes: { id: text, status: text, updatedAt: instant },
  text: setStatus,
})

/** A user whom the source has locked can be locked here as well. */
export const changeUserStatus = statement({
  name: 'change_user_status',
  takes: { id: text, status: text, updatedAt: instant },
  gives: { id: text },
  text: `${setStatus}
   AND (status <> :status OR (:status = 'disabled' AND source_status = 'disabled' AND NOT locked_here))
   RETURNING id`,
})

export const selectMail = statement({
  name: 'select_mail',
  takes: { id: text },
  gives: { email: orNull(text), declinedNotices: list(oneOf(...declinable)) },
  text: 'SELECT email, declined_notices AS "declinedNotices" FROM users WHERE id = :id',
})

/** Other transactions that change it wait. */
export const lockMail = statement({
  name: 'lock_mail',
  takes: { id: text },
  gives: { email: orNull(text) },
  text: 'SELECT email FROM users WHERE id = :id FOR NO KEY UPDATE',
})

export const updateEmail = statement({
  name: 'update_email',
  takes: { id: text, email: orNull(text), updatedAt: instant },
  text: 'UPDATE users SET email = :email, updated_at = :updatedAt WHERE id = :id',
})

/** The actor and the moment, for what triggers write in this transaction. */
export const nameAct = statement({
  name: 'name_act',
  takes: { act: json<object>() },
  text: "SELECT set_config('countersign.act', :act::jsonb::text, true) AS named",
})

export const selectFormerEmails = statement({
  name: 'select_former_emails',
  takes: { userId: text, since: instant },
  gives: { email: text },
  text: 'SELECT email FROM former_emails WHERE user_id = :userId AND replaced_at > :since',
})

export const deleteOldFormerEmails = statement({
  name: 'delete_old_former_emails',
  takes: { until: instant, most: int },
  gives: { email: text },
  text: `DELETE FROM former_emails WHERE (user_id, email) IN (
     SELECT user_id, email FROM former_emails WHERE replaced_at <= :until LIMIT :most) RETURNING email`,
})

export const updateDeclined = statement({
  name: 'update_declined_notices',
  takes: { id: text, declinedNotices: list(text), updatedAt: instant },
  gives: { id: text },
  text: `UPDATE users SET declined_notices = :declinedNotices, updated_at = :updatedAt
   WHERE id = :id AND declined_notices IS DISTINCT FROM :declinedNotices::text[] RETURNING id`,
})

/** An operator without a password here, who gives a second factor at their provider, is guarded by it. */
export const countOperators = statement({
  name: '',
  gives: { operators: int, unguarded: int, unaddressed: int },
  text: `SELECT count(*) AS operators, count(*) FILTER (WHERE NOT EXISTS (SELECT FROM totp_factors f
    WHERE f.user_id = u.id)
       AND NOT EXISTS (SELECT FROM passkeys k WHERE k.user_id = u.id)
       AND NOT (password_hash IS NULL AND EXISTS (SELECT FROM identities i JOIN identity_providers p
         ON p.issuer = i.issuer AND p.enabled_at IS NOT NULL
         WHERE i.user_id = u.id AND i.factor_at IS NOT NULL))) AS unguarded,
     count(*) FILTER (WHERE email IS NULL) AS unaddressed
   FROM users u WHERE role = 'operator' AND status = 'active'`,
})

export const selectUserNames = statement({
  name: 'select_user_names',
  takes: { ids: list(text) },
  gives: { id: text, name: text, role: oneOf('holder', 'operator', 'test') },
  text: 'SELECT id, name, role FROM users WHERE id = ANY (:ids::text[])',
})
