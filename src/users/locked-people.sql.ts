import { statement } from '../database/database.ts'

/** Longest first. */
export const selectLockedPeople = statement(
  'select_locked_people',
  `SELECT u.id AS "userId", u.name, u.username, u.role, l.reason, l.since,
     EXISTS (SELECT FROM staff_roles r WHERE r.user_id = u.id AND r.role = 'administrator') AS "isAdministrator"
   FROM locked_people l JOIN users u ON u.id = l.user_id
   WHERE l.reason = $1 AND l.since > $2 ORDER BY l.since LIMIT $3`,
)

export const deleteOldWaits = statement(
  'delete_old_waits',
  `DELETE FROM locked_people WHERE reason = 'must wait' AND since <= $1 RETURNING user_id AS "userId"`,
)
