import { statement } from '../database/database.ts'

/** Of somebody who is no longer staff, or locked out, there are none. */
export const selectStaffRoles = statement(
  'select_staff_roles',
  `SELECT DISTINCT r.role FROM staff_roles r JOIN users u ON u.id = r.user_id
   WHERE r.user_id = $1 AND u.role = 'operator' AND u.status = 'active' ORDER BY r.role`,
)

export const lockStaffMember = statement(
  'lock_staff_member',
  `SELECT id FROM users WHERE id = $1 AND role = 'operator' FOR NO KEY UPDATE`,
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
