import { statement } from '../database/database.ts'

/** Of a token that comes twice, on whichever nodes, one counts. */
export const spendLogoutToken = statement(
  'spend_logout_token',
  `INSERT INTO spent_logout_tokens (provider_id, jti_hash, spent_at) VALUES ($1, $2, $3)
   ON CONFLICT DO NOTHING RETURNING provider_id AS "providerId"`,
)

/** By the provider's session where one is named, and by whose it is where ours does not know which; otherwise all of theirs. On both sites. */
export const deleteEndedSessions = statement(
  'delete_ended_sessions',
  `DELETE FROM sessions WHERE provider_id = $1 AND ($2::text IS NULL OR provider_subject = $2)
     AND ($3::text IS NULL OR provider_sid = $3 OR (provider_sid IS NULL AND $2 IS NOT NULL))
   RETURNING user_id AS "userId"`,
)

export const deleteSpentTokens = statement(
  'delete_spent_logout_tokens',
  `DELETE FROM spent_logout_tokens WHERE (provider_id, jti_hash) IN (
     SELECT provider_id, jti_hash FROM spent_logout_tokens WHERE spent_at <= $1 LIMIT $2) RETURNING jti_hash AS hash`,
)
