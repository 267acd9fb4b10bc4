import { bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

/** A credential belongs to the user who registered it first. */
export const insertPasskey = statement({
  name: 'insert_passkey',
  takes: {
    userId: text,
    environment: text,
    credentialId: text,
    publicKey: bytes,
    counter: int,
    transports: list(text),
    name: text,
    createdAt: instant,
  },
  gives: { id: int },
  text: `INSERT INTO passkeys (user_id, environment, credential_id, public_key, counter, transports, name,
    created_at)
   VALUES (:userId, :environment, :credentialId, :publicKey, :counter, :transports, :name, :createdAt)
   ON CONFLICT (credential_id) DO NOTHING RETURNING id`,
})

export const selectPasskeys = statement({
  name: 'select_passkeys',
  takes: { userId: text },
  gives: {
    id: int,
    environment: oneOf(...environments),
    credentialId: text,
    transports: list(text),
    name: text,
    createdAt: instant,
    lastUsedAt: orNull(instant),
  },
  text: `SELECT id, environment, credential_id AS "credentialId", transports, name, created_at AS "createdAt",
          last_used_at AS "lastUsedAt"
   FROM passkeys WHERE user_id = :userId ORDER BY created_at, id`,
})

export const selectOwner = statement({
  name: 'select_passkey_owner',
  takes: { environment: text, credentialId: text },
  gives: { userId: text },
  text: `SELECT user_id AS "userId" FROM passkeys
   WHERE environment = :environment AND credential_id = :credentialId`,
})

export const selectPasskey = statement({
  name: 'select_passkey',
  takes: { userId: text, environment: text, credentialId: text },
  gives: { id: int, credentialId: text, publicKey: bytes, counter: int, transports: list(text) },
  text: `SELECT id, credential_id AS "credentialId", public_key AS "publicKey", counter, transports
   FROM passkeys
   WHERE user_id = :userId AND environment = :environment AND credential_id = :credentialId`,
})

/** A counter that does not grow betrays a copy; authenticators without one always say 0. */
export const usePasskey = statement({
  name: 'use_passkey',
  takes: { id: int, counter: int, lastUsedAt: instant },
  gives: { id: int },
  text: `UPDATE passkeys SET counter = :counter, last_used_at = :lastUsedAt
   WHERE id = :id AND (counter < :counter OR (counter = 0 AND :counter = 0)) RETURNING id`,
})

export const deletePasskey = statement({
  name: 'delete_passkey',
  takes: { id: int, userId: text },
  gives: { name: text },
  text: 'DELETE FROM passkeys WHERE id = :id AND user_id = :userId RETURNING name',
})

export const deletePasskeysOf = statement({
  name: 'delete_passkeys_of',
  takes: { userId: text },
  text: 'DELETE FROM passkeys WHERE user_id = :userId',
})

export const spendChallenge = statement({
  name: 'spend_challenge',
  takes: { challenge: text, spentAt: instant },
  gives: { challenge: text },
  text: `INSERT INTO spent_challenges (challenge, spent_at) VALUES (:challenge, :spentAt)
   ON CONFLICT DO NOTHING RETURNING challenge`,
})

export const deleteOldChallenges = statement({
  name: 'delete_old_challenges',
  takes: { until: instant, most: int },
  gives: { challenge: text },
  text: `DELETE FROM spent_challenges WHERE challenge = ANY (ARRAY(
     SELECT challenge FROM spent_challenges WHERE spent_at <= :until LIMIT :most)) RETURNING challenge`,
})
