import { type Statement, statement } from '../database/database.ts'

/**
 * One request, one answer: who comes second finds the request answered and changes nothing. What was approved before is replaced: an
 * authorization is what its owner said last.
 */
export const approveRequest = statement(
  'approve_request',
  `WITH answered AS (
     INSERT INTO answered_requests (request_id, answered_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING request_id),
   paused AS (
     SELECT FROM authorizations WHERE user_id = $3 AND client_id = $4 AND revoked_at IS NULL AND paused_at IS NOT NULL),
   approved AS (
     INSERT INTO authorizations AS a (user_id, client_id, scopes, account_numbers, approved_at, updated_at)
     SELECT $3, $4, $5::text[], $6::text[], $2, $2 FROM answered
     ON CONFLICT (user_id, client_id) WHERE revoked_at IS NULL DO UPDATE SET
       scopes = excluded.scopes, account_numbers = excluded.account_numbers, updated_at = excluded.updated_at, paused_at = NULL
     RETURNING id, xmax = 0 AS is_new)
   INSERT INTO grants (authorization_id, client_id, user_id, scopes, account_numbers, callback_url, code_challenge,
                       code_hash, code_expires_at, approved_at)
   SELECT id, $4, $3, $5::text[], $6::text[], $7, $8, $9, $10, $2 FROM approved
   RETURNING id, authorization_id AS "authorizationId", EXISTS (SELECT FROM paused) AS resumed, (SELECT is_new FROM approved) AS "isNew"`,
)

export const denyRequest = statement(
  'deny_request',
  'INSERT INTO answered_requests (request_id, answered_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING request_id AS "requestId"',
)

/** What an authorization is good for now: of what was approved, what the client is still allowed and the holder still holds. */
const goodFor = `ARRAY(SELECT scope FROM unnest(a.scopes) AS scope WHERE scope = ANY (c.scopes)) AS scopes,
          ARRAY(SELECT account_number FROM holdings h JOIN accounts USING (account_number)
                WHERE h.user_id = a.user_id AND h.status = 'active' AND a.scopes <@ h.scopes
                  AND accounts.environment = c.environment AND accounts.status = 'active'
                  AND account_number = ANY (a.account_numbers) ORDER BY account_number) AS "accountNumbers"`

export const selectStanding = statement(
  'select_standing_authorization',
  `SELECT ${goodFor}, a.paused_at AS "pausedAt" FROM authorizations a JOIN clients c ON c.id = a.client_id
   WHERE a.user_id = $1 AND a.client_id = $2 AND a.revoked_at IS NULL`,
)

/** Those that live, newest first. */
function selectLiving(name: string, which: string): Statement {
  return statement(
    name,
    `SELECT a.id, a.user_id AS "userId", a.client_id AS "clientId", ${goodFor},
            cardinality(a.account_numbers) > 0 AS "sharedAccounts", a.approved_at AS "approvedAt", a.updated_at AS "updatedAt",
            a.last_used_at AS "lastUsedAt", a.paused_at AS "pausedAt",
            c.name AS "clientName", c.environment, c.callback_url AS "callbackUrl", c.status AS "clientStatus",
            p.name AS "partnerName", p.status AS "partnerStatus",
            EXISTS (SELECT FROM grants g JOIN refresh_tokens r ON r.grant_id = g.id
                    WHERE g.authorization_id = a.id AND g.revoked_at IS NULL) AND p.refresh_access AS lasting
     FROM authorizations a JOIN clients c ON c.id = a.client_id JOIN partners p USING (branch_id)
     WHERE a.revoked_at IS NULL ${which}
     ORDER BY a.updated_at DESC, a.id DESC`,
  )
}

export const selectAll = selectLiving('select_authorizations', '')

export const selectOfUser = selectLiving('select_authorizations_of_user', 'AND a.user_id = $1')

export const selectOfClient = selectLiving('select_authorizations_of_client', 'AND a.client_id = $1')

export const revokeAuthorization = statement(
  'revoke_authorization',
  `UPDATE authorizations SET revoked_at = $2, revoked_reason = $3, updated_at = $2
   WHERE id = $1 AND ($4::text IS NULL OR user_id = $4) AND revoked_at IS NULL RETURNING user_id AS "userId", client_id AS "clientId"`,
)

/** With $3, pauses; without, resumes. A second click finds nothing to change. */
export const setPaused = statement(
  'set_authorization_paused',
  `UPDATE authorizations SET paused_at = $3::timestamptz, updated_at = $4
   WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL AND (paused_at IS NULL) = ($3::timestamptz IS NOT NULL)
   RETURNING client_id AS "clientId"`,
)

export const pauseAll = statement(
  'pause_authorizations',
  `UPDATE authorizations SET paused_at = $2, updated_at = $2
   WHERE user_id = $1 AND revoked_at IS NULL AND paused_at IS NULL RETURNING id, client_id AS "clientId"`,
)

export const touchAuthorizations = statement(
  'touch_authorizations',
  `UPDATE authorizations a SET last_used_at = used.at FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)
   WHERE a.id = used.id AND (a.last_used_at IS NULL OR a.last_used_at < used.at)`,
)

export const deleteOldAnswers = statement(
  'delete_old_answers',
  `DELETE FROM answered_requests WHERE request_id = ANY (ARRAY(
     SELECT request_id FROM answered_requests WHERE answered_at <= $1 LIMIT $2)) RETURNING request_id AS "requestId"`,
)
