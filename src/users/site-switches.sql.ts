import { bool, bytes, instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { userRow } from './users.sql.ts'

export const upsertSwitch = statement({
  name: 'upsert_site_switch',
  takes: { sessionId: int, codeHash: bytes, browserHash: bytes, madeAt: instant },
  text: `INSERT INTO site_switches (session_id, code_hash, browser_hash, made_at)
   VALUES (:sessionId, :codeHash, :browserHash, :madeAt)
   ON CONFLICT (session_id) DO UPDATE SET code_hash = excluded.code_hash,
     browser_hash = excluded.browser_hash, made_at = excluded.made_at`,
})

/**
 * Used up by whoever presents it; good for the browser that it was made for. The session is held first: one
 * that ends meanwhile takes the code with it.
 */
export const takeSwitch = statement({
  name: 'take_site_switch',
  takes: {
    codeHash: bytes,
    browserHash: bytes,
    madeAfter: instant,
    seenAfter: instant,
    openedAfter: instant,
  },
  gives: {
    ...userRow,
    sessionId: int,
    isGood: bool,
    providerId: orNull(int),
    providerSubject: orNull(text),
    providerSid: orNull(text),
    providerVouchedAt: orNull(instant),
    providerVouches: orNull(bool),
    ownSecondStep: orNull(bool),
  },
  text: `WITH held AS MATERIALIZED (
     SELECT s.* FROM sessions s JOIN site_switches c ON c.session_id = s.id WHERE c.code_hash = :codeHash
     FOR KEY SHARE OF s),
   spent AS (
     DELETE FROM site_switches c USING held WHERE c.session_id = held.id AND c.code_hash = :codeHash
     RETURNING c.browser_hash, c.made_at)
   SELECT held.id AS "sessionId", spent.browser_hash = :browserHash AND spent.made_at > :madeAfter
       AND held.last_seen_at > :seenAfter AND held.created_at > :openedAfter AND u.status = 'active' AS "isGood",
     held.provider_id AS "providerId", held.provider_subject AS "providerSubject",
     held.provider_sid AS "providerSid", held.provider_vouched_at AS "providerVouchedAt",
     held.provider_vouches AS "providerVouches", held.own_second_step AS "ownSecondStep",
     u.id, u.username, u.name, u.role, u.test_of AS "testOf", u.status, u.locked_by AS "lockedBy",
     u.created_at AS "createdAt"
   FROM spent CROSS JOIN held JOIN users u ON u.id = held.user_id`,
})
