import { bool, bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { partnerStatuses } from '../partners/partner-status.ts'
import { environments } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'

/**
 * One request, one answer: a second transaction finds the request answered and changes nothing. What was
 * approved before is replaced: an authorization is what its owner said last.
 */
export const approveRequest = statement({
  name: 'approve_request',
  takes: {
    requestId: text,
    at: instant,
    userId: text,
    clientId: text,
    scopes: list(text),
    accountNumbers: list(text),
    callbackUrl: text,
    resources: list(text),
    codeChallenge: orNull(text),
    dpopJkt: orNull(text),
    codeHash: bytes,
    codeExpiresAt: instant,
    authenticatedAt: orNull(instant),
    acr: orNull(text),
  },
  gives: { id: int, authorizationId: int, resumed: bool, isNew: bool },
  text: `WITH answered AS (
     INSERT INTO answered_requests (request_id, answered_at) VALUES (:requestId, :at)
     ON CONFLICT DO NOTHING RETURNING request_id),
   paused AS (
     SELECT FROM authorizations WHERE user_id = :userId AND client_id = :clientId AND revoked_at IS NULL
       AND paused_at IS NOT NULL),
   approved AS (
     INSERT INTO authorizations AS a (user_id, client_id, scopes, account_numbers, approved_at, consented_at)
     SELECT :userId, :clientId, :scopes::text[], :accountNumbers::text[], :at, :at FROM answered
     ON CONFLICT (user_id, client_id) WHERE revoked_at IS NULL DO UPDATE SET
       scopes = excluded.scopes, account_numbers = excluded.account_numbers,
       consented_at = excluded.consented_at, paused_at = NULL
     RETURNING id, xmax = 0 AS is_new)
   INSERT INTO grants (authorization_id, client_id, user_id, scopes, account_numbers, callback_url,
     resources, code_challenge, dpop_jkt, code_hash, code_expires_at, approved_at, authenticated_at, acr)
   SELECT id, :clientId, :userId, :scopes::text[], :accountNumbers::text[], :callbackUrl,
     :resources::text[], :codeChallenge, :dpopJkt, :codeHash, :codeExpiresAt, :at, :authenticatedAt, :acr FROM approved
   RETURNING id, authorization_id AS "authorizationId", EXISTS (SELECT FROM paused) AS resumed,
     (SELECT is_new FROM approved) AS "isNew"`,
})

export const selectAnswer = statement({
  name: 'select_answer_to_request',
  takes: { requestId: text },
  gives: { requestId: text },
  text: 'SELECT request_id AS "requestId" FROM answered_requests WHERE request_id = :requestId',
})

export const denyRequest = statement({
  name: 'deny_request',
  takes: { requestId: text, at: instant },
  gives: { requestId: text },
  text: `INSERT INTO answered_requests (request_id, answered_at) VALUES (:requestId, :at)
   ON CONFLICT DO NOTHING RETURNING request_id AS "requestId"`,
})

/**
 * What an authorization is good for now: of what was approved, what the client is still allowed and the
 * holder still holds.
 */
const goodFor = `ARRAY(SELECT scope FROM unnest(a.scopes) AS scope WHERE scope = ANY (c.scopes)) AS scopes,
          ARRAY(SELECT account_number FROM holdings h JOIN accounts USING (account_number)
                WHERE h.user_id = a.user_id AND h.status = 'active' AND a.scopes <@ h.scopes
                  AND accounts.environment = c.environment AND accounts.status = 'active'
                  AND account_number = ANY (a.account_numbers) ORDER BY account_number) AS "accountNumbers"`

const standingRow = {
  scopes: list(oneOf(...scopes)),
  accountNumbers: list(text),
  consentedAt: instant,
  pausedAt: orNull(instant),
}

export const selectStanding = statement({
  name: 'select_standing_authorization',
  takes: { userId: text, clientId: text },
  gives: standingRow,
  text: `SELECT ${goodFor}, a.consented_at AS "consentedAt", a.paused_at AS "pausedAt"
   FROM authorizations a JOIN clients c ON c.id = a.client_id
   WHERE a.user_id = :userId AND a.client_id = :clientId AND a.revoked_at IS NULL`,
})

const row = {
  ...standingRow,
  id: int,
  userId: text,
  clientId: text,
  sharedAccounts: bool,
  approvedAt: instant,
  lastUsedAt: orNull(instant),
  clientName: text,
  environment: oneOf(...environments),
  callbackUrl: text,
  clientStatus: oneOf('active', 'suspended'),
  partnerName: text,
  partnerStatus: oneOf(...partnerStatuses),
  lasting: bool,
}

/** Those that live. */
const standing = (
  which: string,
) => `SELECT a.id, a.user_id AS "userId", a.client_id AS "clientId", ${goodFor},
     cardinality(a.account_numbers) > 0 AS "sharedAccounts", a.approved_at AS "approvedAt",
     a.consented_at AS "consentedAt", a.last_used_at AS "lastUsedAt", a.paused_at AS "pausedAt",
     c.name AS "clientName", c.environment, c.callback_url AS "callbackUrl", c.status AS "clientStatus",
     p.name AS "partnerName", p.status AS "partnerStatus",
     EXISTS (SELECT FROM grants g JOIN refresh_tokens r ON r.grant_id = g.id
             WHERE g.authorization_id = a.id AND g.revoked_at IS NULL) AND p.refresh_access AS lasting
   FROM authorizations a JOIN clients c ON c.id = a.client_id JOIN partners p USING (branch_id)
   WHERE a.revoked_at IS NULL ${which}`

/** Newest first. */
const living = (which: string) => `${standing(which)}
   ORDER BY a.consented_at DESC, a.id DESC`

export const selectAll = statement({ name: 'select_authorizations', gives: row, text: living('') })

export const selectOfUser = statement({
  name: 'select_authorizations_of_user',
  takes: { userId: text },
  gives: row,
  text: living('AND a.user_id = :userId'),
})

export const selectOfClient = statement({
  name: 'select_authorizations_of_client',
  takes: { clientId: text },
  gives: row,
  text: living('AND a.client_id = :clientId'),
})

/** In the order of their numbers, which stays while their owners approve them anew. */
const page = (which: string) => `${standing(`${which} AND c.environment = :environment AND a.id < :before`)}
   ORDER BY a.id DESC LIMIT :most`

export const selectPageOfUser = statement({
  name: 'select_authorization_page_of_user',
  takes: { userId: text, clientId: orNull(text), environment: text, before: int, most: int },
  gives: row,
  text: page('AND a.user_id = :userId AND (:clientId::text IS NULL OR a.client_id = :clientId)'),
})

export const selectPageOfClient = statement({
  name: 'select_authorization_page_of_client',
  takes: { clientId: text, environment: text, before: int, most: int },
  gives: row,
  text: page('AND a.client_id = :clientId'),
})

export const selectOne = statement({
  name: 'select_authorization',
  takes: { id: int },
  gives: row,
  text: standing('AND a.id = :id'),
})

export const revokeAuthorization = statement({
  name: 'revoke_authorization',
  takes: { id: int, userId: orNull(text), at: instant, reason: text },
  gives: { userId: text, clientId: text },
  text: `UPDATE authorizations SET revoked_at = :at, revoked_reason = :reason
   WHERE id = :id AND (:userId::text IS NULL OR user_id = :userId) AND revoked_at IS NULL
     RETURNING user_id AS "userId", client_id AS "clientId"`,
})

/** With `pausedAt`, pauses; without, resumes. A second click finds nothing to change. */
export const setPaused = statement({
  name: 'set_authorization_paused',
  takes: { id: int, userId: text, pausedAt: orNull(instant) },
  gives: { clientId: text },
  text: `UPDATE authorizations SET paused_at = :pausedAt::timestamptz
   WHERE id = :id AND user_id = :userId AND revoked_at IS NULL
     AND (paused_at IS NULL) = (:pausedAt::timestamptz IS NOT NULL)
   RETURNING client_id AS "clientId"`,
})

export const pauseAll = statement({
  name: 'pause_authorizations',
  takes: { userId: text, at: instant },
  gives: { id: int, clientId: text },
  text: `UPDATE authorizations SET paused_at = :at
   WHERE user_id = :userId AND revoked_at IS NULL AND paused_at IS NULL
   RETURNING id, client_id AS "clientId"`,
})

export const touchAuthorizations = statement({
  name: 'touch_authorizations',
  takes: { ids: list(int), ats: list(instant) },
  text: `UPDATE authorizations a SET last_used_at = used.at
    FROM unnest(:ids::bigint[], :ats::timestamptz[]) AS used (id, at)
   WHERE a.id = used.id AND (a.last_used_at IS NULL OR a.last_used_at < used.at)`,
})

export const deleteOldAnswers = statement({
  name: 'delete_old_answers',
  takes: { before: instant, most: int },
  gives: { requestId: text },
  text: `DELETE FROM answered_requests WHERE request_id = ANY (ARRAY(
     SELECT request_id FROM answered_requests WHERE answered_at <= :before LIMIT :most))
   RETURNING request_id AS "requestId"`,
})
