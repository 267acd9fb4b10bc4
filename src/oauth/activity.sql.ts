import { instant, int, list, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { scopes } from '../vocabulary/scope.ts'

/** In one order, so that nodes that write at the same moment wait for each other and never in a circle. */
export const addUses = statement({
  name: 'add_authorization_uses',
  takes: { ids: list(int), scopes: list(text), counts: list(int), ats: list(instant) },
  text: `INSERT INTO authorization_uses AS u (authorization_id, day, scope, uses, last_used_at)
   SELECT id, (at AT TIME ZONE 'UTC')::date, scope, uses, at
   FROM unnest(:ids::bigint[], :scopes::text[], :counts::int[], :ats::timestamptz[])
     AS noted (id, scope, uses, at) ORDER BY 1, 2, 3
   ON CONFLICT (authorization_id, day, scope) DO UPDATE SET
     uses = least(2000000000, u.uses::bigint + excluded.uses),
     last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
})

export const selectActivity = statement({
  name: 'select_authorization_activity',
  takes: { authorizationIds: list(int), since: instant },
  gives: { authorizationId: int, scope: oneOf(...scopes), uses: int, lastUsedAt: instant },
  text: `SELECT authorization_id AS "authorizationId", scope, sum(uses)::bigint AS uses,
    max(last_used_at) AS "lastUsedAt"
   FROM authorization_uses
   WHERE authorization_id = ANY (:authorizationIds::bigint[])
     AND day > (:since::timestamptz AT TIME ZONE 'UTC')::date
   GROUP BY authorization_id, scope`,
})

export const deleteOldActivity = statement({
  name: 'delete_old_authorization_uses',
  takes: { before: instant, most: int },
  text: `DELETE FROM authorization_uses WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM authorization_uses WHERE day <= (:before::timestamptz AT TIME ZONE 'UTC')::date
     LIMIT :most)) RETURNING day`,
})
