import { statement } from '../database/database.ts'

/** A new one ends the one before; the same again stays as it is. Whoever changes the address meanwhile waits, and ends it. Nothing is made for somebody who is locked, nor for an address that was changed after $6. */
export const upsertReset = statement(
  'upsert_password_reset',
  `INSERT INTO password_resets (user_id, token_hash, seed, made_at, expires_at)
   SELECT id, $2, $3, $4, $5 FROM users WHERE id = $1 AND status = 'active' AND (email_changed_at IS NULL OR email_changed_at <= $6) FOR SHARE
   ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, seed = excluded.seed, made_at = excluded.made_at, expires_at = excluded.expires_at
   RETURNING user_id AS "userId"`,
)

export const selectAddressChanged = statement(
  'select_address_changed',
  'SELECT email_changed_at AS "changedAt" FROM users WHERE id = $1',
)

/** Good until $2 at least. */
export const selectGood = statement(
  'select_good_password_reset',
  'SELECT token_hash AS "tokenHash", seed, expires_at AS "expiresAt" FROM password_resets WHERE user_id = $1 AND expires_at >= $2',
)

/**
 * Whom a provider knows, so that there is no password to be had here. A customer who has none: linked to a provider, or known to one by their external id. Staff
 * who are linked, whatever they have: whoever set a password for them would be them.
 */
export const selectProvided = statement(
  'select_provided_person',
  `SELECT u.id FROM users u WHERE u.id = $1 AND (
     (u.role = 'operator' AND EXISTS (SELECT FROM identities i JOIN identity_providers p ON p.issuer = i.issuer WHERE i.user_id = u.id))
     OR (u.role = 'holder' AND u.password_hash IS NULL
       AND (EXISTS (SELECT FROM identities i JOIN identity_providers p ON p.issuer = i.issuer AND p.enabled_at IS NOT NULL WHERE i.user_id = u.id)
         OR EXISTS (SELECT FROM identity_providers p WHERE p.kind = 'holder' AND p.enabled_at IS NOT NULL AND p.link_claim IS NOT NULL AND p.link_source = u.source))))`,
)

export const selectReset = statement(
  'select_password_reset',
  `SELECT u.username, u.role FROM password_resets r JOIN users u ON u.id = r.user_id
   WHERE r.token_hash = $1 AND r.expires_at > $2 AND u.status = 'active'`,
)

/** It counts once, on whichever node. The user is locked first, as by whoever changes them and so ends it. */
export const takeReset = statement(
  'take_password_reset',
  `WITH reader AS MATERIALIZED (
     SELECT u.id FROM password_resets r JOIN users u ON u.id = r.user_id
     WHERE r.token_hash = $1 AND r.expires_at > $2 AND u.status = 'active' AND (u.role = 'operator' OR $3) FOR NO KEY UPDATE OF u)
   DELETE FROM password_resets r USING reader WHERE r.token_hash = $1 AND r.user_id = reader.id RETURNING r.user_id AS "userId"`,
)

export const deleteOldResets = statement(
  'delete_old_password_resets',
  `DELETE FROM password_resets WHERE user_id = ANY (ARRAY(
     SELECT user_id FROM password_resets WHERE expires_at <= $1 LIMIT $2)) RETURNING user_id AS "userId"`,
)
