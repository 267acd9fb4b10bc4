import { statement } from '../database/database.ts'

export const insertSignIn = statement(
  'insert_provider_sign_in',
  `INSERT INTO provider_sign_ins (state_hash, browser_hash, provider_id, sealed, started_at)
   SELECT $1, $2, id, $4, $5 FROM identity_providers WHERE id = $3 AND enabled_at IS NOT NULL`,
)

/** It comes back once, to the provider's own address, into the browser that it left from. */
export const takeSignIn = statement(
  'take_provider_sign_in',
  `DELETE FROM provider_sign_ins WHERE state_hash = $1 AND browser_hash = $2 AND provider_id = $3
   RETURNING sealed, started_at AS "startedAt"`,
)

export const deleteOldSignIns = statement(
  'delete_old_provider_sign_ins',
  `DELETE FROM provider_sign_ins WHERE state_hash = ANY (ARRAY(
     SELECT state_hash FROM provider_sign_ins WHERE started_at <= $1 LIMIT $2)) RETURNING provider_id AS "providerId"`,
)
