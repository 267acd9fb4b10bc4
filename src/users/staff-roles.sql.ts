import { bool, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { staffRoles } from '../vocabulary/permission.ts'

const role = oneOf(...staffRoles)

/** A user who is no longer staff, or locked out, has none. */
const counting = `SELECT DISTINCT r.role FROM staff_roles r JOIN users u ON u.id = r.user_id
   WHERE r.user_id = :userId AND u.role = 'operator' AND u.status = 'active'`

export const selectStaffRoles = statement({
  name: 'select_staff_roles',
  takes: { userId: text },
  gives: { role },
  text: `${counting} ORDER BY r.role`,
})

export const selectSessionRoles = statement({
  name: 'select_session_roles',
  takes: { userId: text, providerId: orNull(text) },
  gives: { role },
  text: `${counting} AND r.source IN ('hand', 'provider:' || :providerId::text) ORDER BY r.role`,
})

/** Of one of its people, or of all. */
export const deleteRolesFrom = statement({
  name: 'delete_roles_from_provider',
  takes: { source: text, userId: orNull(text), kept: list(text) },
  gives: { userId: text, role },
  text: `DELETE FROM staff_roles WHERE source = :source AND (:userId::text IS NULL OR user_id = :userId)
    AND role <> ALL (:kept::text[])
   RETURNING user_id AS "userId", role`,
})

export const lockStaffMember = statement({
  name: 'lock_staff_member',
  takes: { id: text },
  gives: { id: text },
  text: `SELECT id FROM users WHERE id = :id AND role = 'operator' FOR NO KEY UPDATE`,
})

/** Whatever gave the role, and also while they are locked out. */
export const selectIsAdministrator = statement({
  name: 'select_is_administrator',
  takes: { userId: text },
  gives: { isAdministrator: bool },
  text: `SELECT EXISTS (SELECT FROM staff_roles
    WHERE user_id = :userId AND role = 'administrator') AS "isAdministrator"`,
})

/** Administrators by hand who can sign in. */
export const selectAdministrators = statement({
  name: 'select_administrators',
  gives: { id: text },
  text: `SELECT u.id FROM staff_roles r JOIN users u ON u.id = r.user_id
   WHERE r.role = 'administrator' AND r.source = 'hand' AND u.role = 'operator' AND u.status = 'active'`,
})

const memberWithRoles = `SELECT u.id, u.username, u.name, u.status, r.role, r.source, r.given_at AS "givenAt",
     EXISTS (SELECT FROM totp_factors f WHERE f.user_id = u.id) OR EXISTS (SELECT FROM passkeys k
       WHERE k.user_id = u.id) AS "isGuarded"
   FROM users u LEFT JOIN staff_roles r ON r.user_id = u.id`

const memberRow = {
  id: text,
  username: text,
  name: text,
  status: oneOf('disabled', 'active'),
  role: orNull(role),
  source: orNull(text),
  givenAt: orNull(instant),
  isGuarded: bool,
}

/**
 * By what is indexed: users who can act, or have a role. Among all users they would have to be looked for.
 */
export const selectStaff = statement({
  name: 'select_staff',
  takes: { most: int },
  gives: memberRow,
  text: `${memberWithRoles} WHERE u.role = 'operator'
     AND u.id IN (SELECT id FROM users WHERE role = 'operator' AND status = 'active' UNION SELECT user_id
       FROM staff_roles)
   ORDER BY u.name, u.id, r.role, r.source LIMIT :most`,
})

export const selectStaffMember = statement({
  name: 'select_staff_member',
  takes: { id: text },
  gives: memberRow,
  text: `${memberWithRoles} WHERE u.role = 'operator' AND u.id = :id ORDER BY r.role, r.source`,
})

export const selectRolesFrom = statement({
  name: 'select_roles_from',
  takes: { userId: text, source: text },
  gives: { role },
  text: 'SELECT role FROM staff_roles WHERE user_id = :userId AND source = :source ORDER BY role',
})

export const insertStaffRoles = statement({
  name: 'insert_staff_roles',
  takes: { userId: text, roles: list(text), source: text, givenAt: instant },
  gives: { role },
  text: `INSERT INTO staff_roles (user_id, role, source, given_at) SELECT :userId, role, :source, :givenAt
    FROM unnest(:roles::text[]) AS role
   ON CONFLICT (user_id, role, source) DO NOTHING RETURNING role`,
})

export const deleteStaffRoles = statement({
  name: 'delete_staff_roles',
  takes: { userId: text, roles: list(text), source: text },
  gives: { role },
  text: `DELETE FROM staff_roles WHERE user_id = :userId AND role = ANY (:roles::text[]) AND source = :source
   RETURNING role`,
})
