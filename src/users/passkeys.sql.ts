import { statement } from '../database/database.ts'

/** A credential belongs to whoever registered it first. */
export const insertPasskey = statement(
  'insert_passkey',
  `INSERT INTO passkeys (user_id, environment, credential_id, public_key, counter, transports, name, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (credential_id) DO NOTHING RETURNING id`,
)

export const selectPasskeys = statement(
  'select_passkeys',
  `SELECT id, environment, credential_id AS "credentialId", transports, name, created_at AS "createdAt",
          last_used_at AS "lastUsedAt"
   FROM passkeys WHERE user_id = $1 ORDER BY created_at, id`,
)

export const selectPasskey = statement(
  'select_passkey',
  `SELECT id, credential_id AS "credentialId", public_key AS "publicKey", counter, transports FROM passkeys
   WHERE user_id = $1 AND environment = $2 AND credential_id = $3`,
)

/** A counter that does not grow betrays a copy; authenticators without one always say 0. */
export const usePasskey = statement(
  'use_passkey',
  `UPDATE passkeys SET counter = $2, last_used_at = $3
   WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0)) RETURNING id`,
)

export const deletePasskey = statement(
  'delete_passkey',
  'DELETE FROM passkeys WHERE id = $1 AND user_id = $2 RETURNING name',
)

export const deletePasskeysOf = statement('delete_passkeys_of', 'DELETE FROM passkeys WHERE user_id = $1')

export const spendChallenge = statement(
  'spend_challenge',
  'INSERT INTO spent_challenges (challenge, spent_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING challenge',
)

export const deleteOldChallenges = statement(
  'delete_old_challenges',
  `DELETE FROM spent_challenges WHERE challenge = ANY (ARRAY(
     SELECT challenge FROM spent_challenges WHERE spent_at <= $1 LIMIT $2)) RETURNING challenge`,
)
