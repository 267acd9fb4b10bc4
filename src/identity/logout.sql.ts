import { statement } from '../database/database.ts'

/** Of a token that comes twice, on whichever nodes, one counts. */
export const spendLogoutToken = statement(
  'spend_logout_token',
  `INSERT INTO spent_logout_tokens (provider_id, jti_hash, spent_at, sub_hash, sid_hash) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT DO NOTHING RETURNING provider_id AS "providerId"`,
)

/** By the provider's session where one is named, and by whose it is where ours does not know which; otherwise all of theirs. On both sites. */
export const deleteEndedSessions = statement(
  'delete_ended_sessions',
  `DELETE FROM sessions WHERE provider_id = $1 AND ($2::text IS NULL OR provider_subject = $2)
     AND ($3::text IS NULL OR provider_sid = $3 OR (provider_sid IS NULL AND $2 IS NOT NULL))
   RETURNING user_id AS "userId"`,
)

/** Whose session it is, where a token names the session alone. */
export const selectSubjectOfSession = statement(
  'select_subject_of_provider_session',
  'SELECT provider_subject AS subject FROM sessions WHERE provider_id = $1 AND provider_sid = $2 LIMIT 1',
)

/** The same, of half a sign-in of the subject $3 and, where it has one, the provider's session $4. */
export const selectEnded = statement(
  'select_ended_by_logout',
  `SELECT provider_id AS "providerId" FROM spent_logout_tokens WHERE provider_id = $1 AND spent_at >= $2 AND (sub_hash IS NULL OR sub_hash = $3)
     AND (sid_hash IS NULL OR sid_hash = $4 OR ($4::bytea IS NULL AND sub_hash IS NOT NULL)) LIMIT 1`,
)

export const deleteSpentTokens = statement(
  'delete_spent_logout_tokens',
  `DELETE FROM spent_logout_tokens WHERE (provider_id, jti_hash) IN (
     SELECT provider_id, jti_hash FROM spent_logout_tokens WHERE spent_at <= $1 LIMIT $2) RETURNING jti_hash AS hash`,
)
