import { bytes, instant, int, orNull, sure, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** Of a token that comes twice, on whichever nodes, one counts. */
export const spendLogoutToken = statement({
  name: 'spend_logout_token',
  takes: {
    providerId: int,
    jtiHash: bytes,
    spentAt: instant,
    subjectHash: orNull(bytes),
    sidHash: orNull(bytes),
  },
  gives: { providerId: int },
  text: `INSERT INTO spent_logout_tokens (provider_id, jti_hash, spent_at, sub_hash, sid_hash)
    VALUES (:providerId, :jtiHash, :spentAt, :subjectHash, :sidHash)
   ON CONFLICT DO NOTHING RETURNING provider_id AS "providerId"`,
})

/**
 * By the provider's session where one is named, and by whose it is where ours does not know which; otherwise
 * all of theirs. On both sites.
 */
export const deleteEndedSessions = statement({
  name: 'delete_ended_sessions',
  takes: { providerId: int, subject: orNull(text), sid: orNull(text) },
  gives: { userId: text },
  text: `DELETE FROM sessions
   WHERE provider_id = :providerId AND (:subject::text IS NULL OR provider_subject = :subject)
     AND (:sid::text IS NULL OR provider_sid = :sid OR (provider_sid IS NULL AND :subject IS NOT NULL))
   RETURNING user_id AS "userId"`,
})

/** Whose session it is, where a token names the session alone. */
export const selectSubjectOfSession = statement({
  name: 'select_subject_of_provider_session',
  takes: { providerId: int, sid: text },
  gives: { subject: sure(text) },
  text: `SELECT provider_subject AS subject FROM sessions
   WHERE provider_id = :providerId AND provider_sid = :sid LIMIT 1`,
})

/** The same, of half a sign-in of a subject and, where it has one, of the provider's session. */
export const selectEnded = statement({
  name: 'select_ended_by_logout',
  takes: { providerId: int, since: instant, subjectHash: bytes, sidHash: orNull(bytes) },
  gives: { providerId: int },
  text: `SELECT provider_id AS "providerId" FROM spent_logout_tokens
   WHERE provider_id = :providerId AND spent_at >= :since
     AND (sub_hash IS NULL OR sub_hash = :subjectHash)
     AND (sid_hash IS NULL OR sid_hash = :sidHash OR (:sidHash::bytea IS NULL AND sub_hash IS NOT NULL))
   LIMIT 1`,
})

export const deleteSpentTokens = statement({
  name: 'delete_spent_logout_tokens',
  takes: { until: instant, most: int },
  gives: { hash: bytes },
  text: `DELETE FROM spent_logout_tokens WHERE (provider_id, jti_hash) IN (
     SELECT provider_id, jti_hash FROM spent_logout_tokens WHERE spent_at <= :until LIMIT :most)
       RETURNING jti_hash AS hash`,
})
