import { statement } from '../database/database.ts'

/** In one order, so that nodes that write at the same moment wait for each other and never in a circle. */
export const addUses = statement(
  'add_authorization_uses',
  `INSERT INTO authorization_uses AS u (authorization_id, day, scope, uses, last_used_at)
   SELECT id, (at AT TIME ZONE 'UTC')::date, scope, uses, at
   FROM unnest($1::bigint[], $2::text[], $3::int[], $4::timestamptz[]) AS noted (id, scope, uses, at) ORDER BY 1, 2, 3
   ON CONFLICT (authorization_id, day, scope) DO UPDATE SET
     uses = least(2000000000, u.uses::bigint + excluded.uses), last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
)

export const selectActivity = statement(
  'select_authorization_activity',
  `SELECT authorization_id AS "authorizationId", scope, sum(uses)::bigint AS uses, max(last_used_at) AS "lastUsedAt"
   FROM authorization_uses
   WHERE authorization_id = ANY ($1::bigint[]) AND day > ($2::timestamptz AT TIME ZONE 'UTC')::date
   GROUP BY authorization_id, scope`,
)

export const deleteOldActivity = statement(
  'delete_old_authorization_uses',
  `DELETE FROM authorization_uses WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM authorization_uses WHERE day <= ($1::timestamptz AT TIME ZONE 'UTC')::date LIMIT $2)) RETURNING day`,
)
