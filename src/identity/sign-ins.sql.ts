import { bytes, instant, int } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const insertSignIn = statement({
  name: 'insert_provider_sign_in',
  takes: { stateHash: bytes, browserHash: bytes, providerId: int, sealed: bytes, startedAt: instant },
  text: `INSERT INTO provider_sign_ins (state_hash, browser_hash, provider_id, sealed, started_at)
   SELECT :stateHash, :browserHash, id, :sealed, :startedAt FROM identity_providers
   WHERE id = :providerId AND enabled_at IS NOT NULL`,
})

/** It comes back once, to the provider's own address, into the browser that it left from. */
export const takeSignIn = statement({
  name: 'take_provider_sign_in',
  takes: { stateHash: bytes, browserHash: bytes, providerId: int },
  gives: { sealed: bytes, startedAt: instant },
  text: `DELETE FROM provider_sign_ins
   WHERE state_hash = :stateHash AND browser_hash = :browserHash AND provider_id = :providerId
   RETURNING sealed, started_at AS "startedAt"`,
})

export const deleteOldSignIns = statement({
  name: 'delete_old_provider_sign_ins',
  takes: { until: instant, most: int },
  gives: { providerId: int },
  text: `DELETE FROM provider_sign_ins WHERE state_hash = ANY (ARRAY(
     SELECT state_hash FROM provider_sign_ins WHERE started_at <= :until LIMIT :most))
       RETURNING provider_id AS "providerId"`,
})
