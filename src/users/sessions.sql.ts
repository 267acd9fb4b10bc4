import { statement } from '../database/database.ts'
import { endHalfWay } from './second-step-failures.sql.ts'

export const insertSession = statement(
  'insert_session',
  `INSERT INTO sessions (hash, user_id, environment, created_at, last_seen_at, address, user_agent, first_seen_at, authenticated_at, strong_at,
     provider_id, provider_subject, provider_sid, provider_vouches, own_second_step, id_token, provider_vouched_at)
   VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
)

/** Alive means: seen within the idle time, younger than the absolute limit, of a user who may sign in; of staff whom a provider vouched for, since $5. */
export const selectSession = statement(
  'select_session',
  `SELECT s.id, s.authenticated_at AS "authenticatedAt", s.last_seen_at AS "lastSeenAt",
          coalesce(s.first_seen_at, s.created_at) AS "firstSeenAt", s.strong_at AS "strongAt",
          s.provider_id AS "providerId", s.provider_subject AS "providerSubject", s.provider_sid AS "providerSid",
          s.provider_vouches AS "providerVouches", s.own_second_step AS "ownSecondStep", s.id_token AS "idToken",
          s.provider_vouched_at AS "providerVouchedAt",
          u.id AS "userId", u.username, u.name, u.role, u.status, u.created_at AS "createdAt"
   FROM sessions s JOIN users u ON u.id = s.user_id
   WHERE s.hash = $1 AND s.environment = $2 AND s.last_seen_at > $3 AND s.created_at > $4 AND u.status = 'active'
     AND (u.role <> 'operator' OR s.provider_vouched_at IS NULL OR s.provider_vouched_at > $5)`,
)

export const touchSession = statement('touch_session', 'UPDATE sessions SET last_seen_at = $2 WHERE id = $1')

export const deleteSession = statement('delete_session', 'DELETE FROM sessions WHERE hash = $1')

export const deleteSessionsOf = statement(
  'delete_sessions_of',
  `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = $1`,
)

export const selectSessionsOf = statement(
  'select_sessions_of',
  `SELECT id, environment, coalesce(first_seen_at, created_at) AS "firstSeenAt", last_seen_at AS "lastSeenAt", address,
          user_agent AS "userAgent"
   FROM sessions WHERE user_id = $1 AND last_seen_at > $2 AND created_at > $3 ORDER BY last_seen_at DESC, id DESC`,
)

export const deleteSessionOf = statement(
  'delete_session_of',
  'DELETE FROM sessions WHERE id = $1 AND user_id = $2 RETURNING address, user_agent AS "userAgent"',
)

export const deleteOtherSessions = statement(
  'delete_other_sessions',
  `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = $1 AND hash <> $2 RETURNING id`,
)

export const deleteEverySession = statement(
  'delete_every_session',
  `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = $1 RETURNING id`,
)

export const deleteDeadSessions = statement(
  'delete_dead_sessions',
  'DELETE FROM sessions WHERE last_seen_at <= $1 OR created_at <= $2 RETURNING id',
)
