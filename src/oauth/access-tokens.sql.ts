import { statement } from '../database/database.ts'
import { accountsLeft, scopesLeft, stillHolds } from './reach.sql.ts'

/** Everything that decides whether an access token counts, in one look-up. */
export const selectAccessToken = statement(
  'select_access_token',
  `SELECT t.id, ${scopesLeft('t.scopes')} AS scopes, t.issued_at AS "issuedAt", t.expires_at AS "expiresAt", t.grant_id AS "grantId",
          g.authorization_id AS "authorizationId", ${accountsLeft} AS "accountNumbers", ${stillHolds} AS holds,
          u.id AS "userId", u.username, c.id AS "clientId", c.branch_id AS "branchId",
          a.paused_at IS NOT NULL AS paused,
          (t.revoked_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND may_act(p.status, c.environment)) AS "inForce"
   FROM access_tokens t JOIN grants g ON g.id = t.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE t.hash = $1`,
)

/** RFC 7009: only the client that a token was issued to can revoke it. */
export const revokeAccessToken = statement(
  'revoke_access_token',
  `UPDATE access_tokens t SET revoked_at = $3 FROM grants g
   WHERE t.hash = $1 AND g.id = t.grant_id AND g.client_id = $2 AND t.revoked_at IS NULL RETURNING t.id, g.user_id AS "userId"`,
)

/** Revoking a refresh token ends the grant, and with it every access token that came of it. */
export const revokeByRefreshToken = statement(
  'revoke_by_refresh_token',
  `UPDATE grants g SET revoked_at = $3, revoked_reason = 'refresh token revoked' FROM refresh_tokens r
   WHERE r.hash = $1 AND g.id = r.grant_id AND g.client_id = $2 AND g.revoked_at IS NULL RETURNING g.id, g.user_id AS "userId"`,
)

export const selectRefreshToken = statement(
  'select_refresh_token',
  `SELECT r.issued_at AS "issuedAt", ${scopesLeft('g.scopes')} AS scopes,
          g.client_id AS "clientId", u.id AS "userId", u.username,
          (${stillHolds} AND r.replaced_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL AND a.paused_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND may_act(p.status, c.environment) AND p.refresh_access) AS "inForce"
   FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE r.hash = $1`,
)

export const deleteExpiredAccessTokens = statement(
  'delete_expired_access_tokens',
  `DELETE FROM access_tokens WHERE id = ANY (ARRAY(SELECT id FROM access_tokens WHERE expires_at <= $1 LIMIT $2)) RETURNING id`,
)
