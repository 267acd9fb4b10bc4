import { bool, bytes, instant, int, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { userRoles } from '../vocabulary/user-role.ts'

/**
 * A new one ends the one before; the same again stays as it is. A transaction that changes the address
 * meanwhile waits, and ends it. Nothing is made for a user who is locked, nor for an address that was changed
 * lately.
 */
export const upsertReset = statement({
  name: 'upsert_password_reset',
  takes: {
    userId: text,
    tokenHash: bytes,
    seed: text,
    madeAt: instant,
    expiresAt: instant,
    changedUntil: instant,
  },
  gives: { userId: text },
  text: `INSERT INTO password_resets (user_id, token_hash, seed, made_at, expires_at)
   SELECT id, :tokenHash, :seed, :madeAt, :expiresAt FROM users WHERE id = :userId AND status = 'active'
     AND (email_changed_at IS NULL OR email_changed_at <= :changedUntil) FOR SHARE
   ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, seed = excluded.seed,
     made_at = excluded.made_at, expires_at = excluded.expires_at
   RETURNING user_id AS "userId"`,
})

export const selectAddressChanged = statement({
  name: 'select_address_changed',
  takes: { id: text },
  gives: { changedAt: orNull(instant) },
  text: 'SELECT email_changed_at AS "changedAt" FROM users WHERE id = :id',
})

export const selectGood = statement({
  name: 'select_good_password_reset',
  takes: { userId: text, until: instant },
  gives: { tokenHash: bytes, seed: text, expiresAt: instant },
  text: `SELECT token_hash AS "tokenHash", seed, expires_at AS "expiresAt" FROM password_resets
    WHERE user_id = :userId AND expires_at >= :until`,
})

/**
 * Users whom a provider knows, so that there is no password to be had here. A customer who has none: linked
 * to a provider, or known to one by their external id. Staff who are linked, whatever they have: an operator
 * who set a password for them could come in as them.
 */
export const selectProvided = statement({
  name: 'select_provided_person',
  takes: { id: text },
  gives: { id: text },
  text: `SELECT u.id FROM users u WHERE u.id = :id AND (
     (u.role = 'operator' AND EXISTS (SELECT FROM identities i JOIN identity_providers p
       ON p.issuer = i.issuer WHERE i.user_id = u.id))
     OR (u.role = 'holder' AND u.password_hash IS NULL
       AND (EXISTS (SELECT FROM identities i JOIN identity_providers p ON p.issuer = i.issuer
         AND p.enabled_at IS NOT NULL WHERE i.user_id = u.id)
         OR EXISTS (SELECT FROM identity_providers p WHERE p.kind = 'holder' AND p.enabled_at IS NOT NULL
           AND p.link_claim IS NOT NULL AND p.link_source = u.source))))`,
})

export const selectReset = statement({
  name: 'select_password_reset',
  takes: { tokenHash: bytes, now: instant },
  gives: { username: text, role: oneOf(...userRoles) },
  text: `SELECT u.username, u.role FROM password_resets r JOIN users u ON u.id = r.user_id
   WHERE r.token_hash = :tokenHash AND r.expires_at > :now AND u.status = 'active'`,
})

/**
 * It counts once, on whichever node. The user is locked first, as by transactions that change the user and so
 * end it.
 */
export const takeReset = statement({
  name: 'take_password_reset',
  takes: { tokenHash: bytes, now: instant, holdersUsePasswords: bool },
  gives: { userId: text },
  text: `WITH reader AS MATERIALIZED (
     SELECT u.id FROM password_resets r JOIN users u ON u.id = r.user_id
     WHERE r.token_hash = :tokenHash AND r.expires_at > :now AND u.status = 'active'
       AND (u.role = 'operator' OR :holdersUsePasswords)
       FOR NO KEY UPDATE OF u)
   DELETE FROM password_resets r USING reader WHERE r.token_hash = :tokenHash AND r.user_id = reader.id
     RETURNING r.user_id AS "userId"`,
})

export const deleteOldResets = statement({
  name: 'delete_old_password_resets',
  takes: { now: instant, most: int },
  gives: { userId: text },
  text: `DELETE FROM password_resets WHERE user_id = ANY (ARRAY(
     SELECT user_id FROM password_resets WHERE expires_at <= :now LIMIT :most))
   RETURNING user_id AS "userId"`,
})
