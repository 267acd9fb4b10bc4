import { statement } from '../database/database.ts'

/** Of somebody who is no longer staff, or locked out, there are none. */
const counting = `SELECT DISTINCT r.role FROM staff_roles r JOIN users u ON u.id = r.user_id
   WHERE r.user_id = $1 AND u.role = 'operator' AND u.status = 'active'`

export const selectStaffRoles = statement('select_staff_roles', `${counting} ORDER BY r.role`)

export const selectSessionRoles = statement(
  'select_session_roles',
  `${counting} AND r.source IN ('hand', 'provider:' || $2::text) ORDER BY r.role`,
)

/** Of one of its people, or of all. */
export const deleteRolesFrom = statement(
  'delete_roles_from_provider',
  `DELETE FROM staff_roles WHERE source = $1 AND ($2::text IS NULL OR user_id = $2) AND role <> ALL ($3::text[])
   RETURNING user_id AS "userId", role`,
)

export const lockStaffMember = statement(
  'lock_staff_member',
  `SELECT id FROM users WHERE id = $1 AND role = 'operator' FOR NO KEY UPDATE`,
)

/** Whatever gave the role, and also while they are locked out. */
export const selectIsAdministrator = statement(
  'select_is_administrator',
  `SELECT EXISTS (SELECT FROM staff_roles WHERE user_id = $1 AND role = 'administrator') AS "isAdministrator"`,
)

/** Administrators by hand who can sign in. */
export const selectAdministrators = statement(
  'select_administrators',
  `SELECT u.id FROM staff_roles r JOIN users u ON u.id = r.user_id
   WHERE r.role = 'administrator' AND r.source = 'hand' AND u.role = 'operator' AND u.status = 'active'`,
)

const memberWithRoles = `SELECT u.id, u.username, u.name, u.status, r.role, r.source, r.given_at AS "givenAt",
     EXISTS (SELECT FROM totp_factors f WHERE f.user_id = u.id) OR EXISTS (SELECT FROM passkeys k WHERE k.user_id = u.id) AS "isGuarded"
   FROM users u LEFT JOIN staff_roles r ON r.user_id = u.id`

/** By what is indexed: whoever can act, or has a role. Among everybody they would have to be looked for. */
export const selectStaff = statement(
  'select_staff',
  `${memberWithRoles} WHERE u.role = 'operator'
     AND u.id IN (SELECT id FROM users WHERE role = 'operator' AND status = 'active' UNION SELECT user_id FROM staff_roles)
   ORDER BY u.name, u.id, r.role, r.source LIMIT $1`,
)

export const selectStaffMember = statement(
  'select_staff_member',
  `${memberWithRoles} WHERE u.role = 'operator' AND u.id = $1 ORDER BY r.role, r.source`,
)

export const selectRolesFrom = statement(
  'select_roles_from',
  'SELECT role FROM staff_roles WHERE user_id = $1 AND source = $2 ORDER BY role',
)

export const insertStaffRoles = statement(
  'insert_staff_roles',
  `INSERT INTO staff_roles (user_id, role, source, given_at) SELECT $1, role, $3, $4 FROM unnest($2::text[]) AS role
   ON CONFLICT (user_id, role, source) DO NOTHING RETURNING role`,
)

export const deleteStaffRoles = statement(
  'delete_staff_roles',
  'DELETE FROM staff_roles WHERE user_id = $1 AND role = ANY ($2::text[]) AND source = $3 RETURNING role',
)
