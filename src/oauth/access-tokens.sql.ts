import { statement } from '../database/database.ts'
import { accountsLeft, scopesLeft, stillHolds } from './reach.sql.ts'

/** Everything that decides whether an access token counts, in one look-up. */
export const selectAccessToken = statement(
  'select_access_token',
  `SELECT t.id, ${scopesLeft('t.scopes')} AS scopes, t.issued_at, t.expires_at, t.grant_id, g.authorization_id,
          ${accountsLeft} AS account_numbers, ${stillHolds} AS holds,
          u.id AS user_id, u.username, c.id AS client_id, c.branch_id,
          a.paused_at IS NOT NULL AS paused,
          (t.revoked_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND p.status = 'approved') AS in_force
   FROM access_tokens t JOIN grants g ON g.id = t.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE t.hash = $1`,
)

/** RFC 7009: only the client that a token was issued to can revoke it. */
export const revokeAccessToken = statement(
  'revoke_access_token',
  `UPDATE access_tokens t SET revoked_at = $3 FROM grants g
   WHERE t.hash = $1 AND g.id = t.grant_id AND g.client_id = $2 AND t.revoked_at IS NULL RETURNING t.id, g.user_id`,
)

/** Revoking a refresh token ends the grant, and with it every access token that came of it. */
export const revokeByRefreshToken = statement(
  'revoke_by_refresh_token',
  `UPDATE grants g SET revoked_at = $3, revoked_reason = 'refresh token revoked' FROM refresh_tokens r
   WHERE r.hash = $1 AND g.id = r.grant_id AND g.client_id = $2 AND g.revoked_at IS NULL RETURNING g.id, g.user_id`,
)

export const selectRefreshToken = statement(
  'select_refresh_token',
  `SELECT r.issued_at, ${scopesLeft('g.scopes')} AS scopes, ${accountsLeft} AS account_numbers,
          g.client_id, u.id AS user_id, u.username,
          (${stillHolds} AND r.replaced_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL AND a.paused_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND p.status = 'approved' AND p.refresh_access) AS in_force
   FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE r.hash = $1`,
)

export const deleteExpiredAccessTokens = statement(
  'delete_expired_access_tokens',
  `DELETE FROM access_tokens WHERE id = ANY (ARRAY(SELECT id FROM access_tokens WHERE expires_at <= $1 LIMIT $2)) RETURNING id`,
)
