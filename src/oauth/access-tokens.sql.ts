import { bool, bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { acrs } from '../vocabulary/acr.ts'
import { scopes } from '../vocabulary/scope.ts'
import { accountsLeft, scopesLeft, stillHolds } from './reach.sql.ts'

/** Everything that decides whether an access token counts, in one look-up. */
export const selectAccessToken = statement({
  name: 'select_access_token',
  takes: { hash: bytes },
  gives: {
    id: int,
    scopes: list(oneOf(...scopes)),
    issuedAt: instant,
    expiresAt: instant,
    grantId: int,
    authorizationId: int,
    accountNumbers: list(text),
    holds: bool,
    resources: list(text),
    binding: orNull(text),
    demandsDpopNonces: bool,
    authenticatedAt: orNull(instant),
    acr: orNull(oneOf(...acrs)),
    userId: text,
    username: text,
    customer: orNull(text),
    clientId: text,
    branchId: int,
    paused: bool,
    inForce: bool,
  },
  text: `SELECT t.id, ${scopesLeft('t.scopes')} AS scopes, t.issued_at AS "issuedAt",
          CASE WHEN t.binding IS NULL AND c.fapi2_ends_bearers THEN least(t.expires_at, c.fapi2_from)
            ELSE t.expires_at END AS "expiresAt", t.grant_id AS "grantId", g.authorization_id AS "authorizationId",
          ${accountsLeft} AS "accountNumbers", ${stillHolds} AS holds,
          t.resources, t.binding,
          c.demands_dpop_nonces AS "demandsDpopNonces", g.authenticated_at AS "authenticatedAt", g.acr,
          u.id AS "userId", u.username, u.external_id AS customer, c.id AS "clientId",
          c.branch_id AS "branchId",
          a.paused_at IS NOT NULL AS paused,
          (t.revoked_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND may_act(p.status, c.environment)) AS "inForce"
   FROM access_tokens t JOIN grants g ON g.id = t.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE t.hash = :hash`,
})

/** RFC 7009: only the client that a token was issued to can revoke it. */
export const revokeAccessToken = statement({
  name: 'revoke_access_token',
  takes: { hash: bytes, clientId: text, at: instant },
  gives: { id: int, userId: text },
  text: `UPDATE access_tokens t SET revoked_at = :at FROM grants g
   WHERE t.hash = :hash AND g.id = t.grant_id AND g.client_id = :clientId AND t.revoked_at IS NULL
     RETURNING t.id, g.user_id AS "userId"`,
})

/** Revoking a refresh token ends the grant, and with it every access token that came of it. */
export const revokeByRefreshToken = statement({
  name: 'revoke_by_refresh_token',
  takes: { hash: bytes, clientId: text, at: instant },
  gives: { id: int, userId: text },
  text: `UPDATE grants g SET revoked_at = :at, revoked_reason = 'refresh token revoked' FROM refresh_tokens r
   WHERE r.hash = :hash AND g.id = r.grant_id AND g.client_id = :clientId AND g.revoked_at IS NULL
     RETURNING g.id, g.user_id AS "userId"`,
})

export const selectRefreshToken = statement({
  name: 'select_refresh_token',
  takes: { hash: bytes },
  gives: {
    issuedAt: instant,
    scopes: list(oneOf(...scopes)),
    clientId: text,
    userId: text,
    username: text,
    inForce: bool,
  },
  text: `SELECT r.issued_at AS "issuedAt", ${scopesLeft('g.scopes')} AS scopes,
          g.client_id AS "clientId", u.id AS "userId", u.username,
          (${stillHolds} AND r.replaced_at IS NULL AND g.revoked_at IS NULL AND a.revoked_at IS NULL
            AND a.paused_at IS NULL
           AND u.status = 'active' AND c.status = 'active' AND may_act(p.status, c.environment)
             AND p.refresh_access) AS "inForce"
   FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id JOIN authorizations a ON a.id = g.authorization_id
   JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id JOIN partners p USING (branch_id)
   WHERE r.hash = :hash`,
})

export const deleteExpiredAccessTokens = statement({
  name: 'delete_expired_access_tokens',
  takes: { now: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM access_tokens WHERE id = ANY (ARRAY(
     SELECT id FROM access_tokens WHERE expires_at <= :now LIMIT :most)) RETURNING id`,
})
