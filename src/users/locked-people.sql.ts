import { bool, instant, int, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { userRoles } from '../vocabulary/user-role.ts'

/** Longest first. */
export const selectLockedPeople = statement({
  name: 'select_locked_people',
  takes: { reason: text, since: instant, most: int },
  gives: {
    userId: text,
    name: text,
    username: text,
    role: oneOf(...userRoles),
    reason: oneOf('locked', 'app locked', 'must wait'),
    since: instant,
    isAdministrator: bool,
  },
  text: `SELECT u.id AS "userId", u.name, u.username, u.role, l.reason, l.since,
     EXISTS (SELECT FROM staff_roles r
       WHERE r.user_id = u.id AND r.role = 'administrator') AS "isAdministrator"
   FROM locked_people l JOIN users u ON u.id = l.user_id
   WHERE l.reason = :reason AND l.since > :since ORDER BY l.since LIMIT :most`,
})

export const deleteOldWaits = statement({
  name: 'delete_old_waits',
  takes: { until: instant },
  text: `DELETE FROM locked_people WHERE reason = 'must wait' AND since <= :until
   RETURNING user_id AS "userId"`,
})
