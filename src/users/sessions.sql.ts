import { bool, bytes, instant, int, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { userRoles } from '../vocabulary/user-role.ts'
import { endHalfWay } from './second-step-failures.sql.ts'

export const insertSession = statement({
  name: 'insert_session',
  takes: {
    hash: bytes,
    userId: text,
    environment: text,
    createdAt: instant,
    address: text,
    userAgent: text,
    firstSeenAt: instant,
    authenticatedAt: orNull(instant),
    strongAt: orNull(instant),
    byPasskey: bool,
    parentId: orNull(int),
    providerId: orNull(int),
    providerSubject: orNull(text),
    providerSid: orNull(text),
    providerVouches: orNull(bool),
    ownSecondStep: orNull(bool),
    idToken: orNull(bytes),
    providerVouchedAt: orNull(instant),
  },
  gives: { id: int },
  text: `INSERT INTO sessions (hash, user_id, environment, created_at, last_seen_at, address, user_agent,
     first_seen_at, authenticated_at, strong_at, by_passkey, provider_id, provider_subject, provider_sid,
     provider_vouches, own_second_step, id_token, provider_vouched_at, parent_id)
   VALUES (:hash, :userId, :environment, :createdAt, :createdAt, :address, :userAgent,
     :firstSeenAt, :authenticatedAt, :strongAt, :byPasskey, :providerId, :providerSubject, :providerSid,
     :providerVouches, :ownSecondStep, :idToken, :providerVouchedAt, :parentId) RETURNING id`,
})

const limits = { seenAfter: instant, openedAfter: instant }

/**
 * Alive means: seen within the idle time, younger than the absolute limit, of a user who may sign in; of
 * staff whom a provider vouched for, lately; of a test holder, while their partner has the sandbox. A session
 * that comes from the live site lives while that one does.
 */
export const selectSession = statement({
  name: 'select_session',
  takes: { hash: bytes, environment: text, ...limits, vouchedAfter: instant },
  gives: {
    id: int,
    parentId: orNull(int),
    authenticatedAt: orNull(instant),
    lastSeenAt: instant,
    firstSeenAt: instant,
    strongAt: orNull(instant),
    byPasskey: bool,
    providerId: orNull(int),
    providerSubject: orNull(text),
    providerSid: orNull(text),
    providerVouches: orNull(bool),
    ownSecondStep: orNull(bool),
    idToken: orNull(bytes),
    providerVouchedAt: orNull(instant),
    userId: text,
    username: text,
    name: text,
    role: oneOf(...userRoles),
    testOf: orNull(int),
    status: oneOf('disabled', 'active'),
    createdAt: instant,
  },
  text: `SELECT s.id, s.parent_id AS "parentId", s.authenticated_at AS "authenticatedAt", s.last_seen_at AS "lastSeenAt",
          s.first_seen_at AS "firstSeenAt", s.strong_at AS "strongAt", s.by_passkey AS "byPasskey",
          s.provider_id AS "providerId", s.provider_subject AS "providerSubject",
            s.provider_sid AS "providerSid",
          s.provider_vouches AS "providerVouches", s.own_second_step AS "ownSecondStep",
            s.id_token AS "idToken",
          s.provider_vouched_at AS "providerVouchedAt",
          u.id AS "userId", u.username, u.name, u.role, u.test_of AS "testOf", u.status, u.created_at AS "createdAt"
   FROM sessions s JOIN users u ON u.id = s.user_id
   WHERE s.hash = :hash AND s.environment = :environment
     AND s.last_seen_at > :seenAfter AND s.created_at > :openedAfter AND u.status = 'active'
     AND (u.role <> 'operator' OR s.provider_vouched_at IS NULL OR s.provider_vouched_at > :vouchedAfter)
     AND (s.parent_id IS NULL OR EXISTS (SELECT FROM sessions l WHERE l.id = s.parent_id
       AND l.last_seen_at > :seenAfter AND l.created_at > :openedAfter))
     AND (u.test_of IS NULL OR EXISTS (SELECT FROM partners p WHERE p.branch_id = u.test_of
       AND may_act(p.status, s.environment)))`,
})

/** A session that takes the place of another has what came from it. */
export const adoptSessions = statement({
  name: 'adopt_sessions',
  takes: { id: int, instead: int },
  text: 'UPDATE sessions SET parent_id = :id WHERE parent_id = :instead',
})

/** With the one on the live site that it comes from: the person is there. */
export const touchSession = statement({
  name: 'touch_session',
  takes: { id: int, parentId: orNull(int), lastSeenAt: instant },
  text: 'UPDATE sessions SET last_seen_at = :lastSeenAt WHERE id IN (:id, :parentId)',
})

export const deleteSession = statement({
  name: 'delete_session',
  takes: { hash: bytes },
  text: 'DELETE FROM sessions WHERE hash = :hash',
})

export const deleteSessionsOf = statement({
  name: 'delete_sessions_of',
  takes: { userId: text },
  text: `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = :userId`,
})

export const selectSessionsOf = statement({
  name: 'select_sessions_of',
  takes: { userId: text, ...limits },
  gives: {
    id: int,
    environment: oneOf(...environments),
    firstSeenAt: instant,
    lastSeenAt: instant,
    address: text,
    userAgent: text,
  },
  text: `SELECT id, environment, first_seen_at AS "firstSeenAt",
          last_seen_at AS "lastSeenAt", address, user_agent AS "userAgent"
   FROM sessions WHERE user_id = :userId AND last_seen_at > :seenAfter AND created_at > :openedAfter
     ORDER BY last_seen_at DESC, id DESC`,
})

export const deleteSessionOf = statement({
  name: 'delete_session_of',
  takes: { id: int, userId: text },
  gives: { address: text, userAgent: text },
  text: `DELETE FROM sessions WHERE id = :id AND user_id = :userId
   RETURNING address, user_agent AS "userAgent"`,
})

export const deleteOtherSessions = statement({
  name: 'delete_other_sessions',
  takes: { userId: text, hash: bytes },
  gives: { id: int },
  text: `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = :userId AND hash <> :hash RETURNING id`,
})

export const deleteEverySession = statement({
  name: 'delete_every_session',
  takes: { userId: text },
  gives: { id: int },
  text: `WITH ${endHalfWay} DELETE FROM sessions WHERE user_id = :userId RETURNING id`,
})

export const deleteDeadSessions = statement({
  name: 'delete_dead_sessions',
  takes: limits,
  gives: { id: int },
  text: 'DELETE FROM sessions WHERE last_seen_at <= :seenAfter OR created_at <= :openedAfter RETURNING id',
})
