import { statement } from '../database/database.ts'

const columns = `id, name, kind, label, issuer, client_id AS "clientId", proof, scopes, link_claim AS "linkClaim", link_source AS "linkSource",
   strong_acr AS "strongAcr", strong_amr AS "strongAmr", own_second_step AS "ownSecondStep", roles_claim AS "rolesClaim", role_map AS "roleMap",
   created_at AS "createdAt", coalesce(credential_at, created_at) AS "credentialAt", enabled_at AS "enabledAt", logout_ends AS "logoutEnds",
   looked_at AS "lookedAt", answered_at AS "answeredAt", away_since AS "awaySince", away_why AS "awayWhy", ahead_ms AS "aheadMs", ahead_at AS "aheadAt"`

export const insertProvider = statement(
  'insert_identity_provider',
  `INSERT INTO identity_providers (name, kind, label, issuer, client_id, proof, sealed, scopes, link_claim, link_source, strong_acr, strong_amr,
     own_second_step, roles_claim, role_map, logout_ends, created_at, enabled_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) RETURNING ${columns}`,
)

/** At which people sign in. */
export const selectProviders = statement(
  'select_identity_providers',
  `SELECT ${columns} FROM identity_providers WHERE enabled_at IS NOT NULL ORDER BY kind, label, id`,
)

export const selectEveryProvider = statement(
  'select_every_identity_provider',
  `SELECT ${columns} FROM identity_providers ORDER BY kind, label, id`,
)

export const selectProvider = statement(
  'select_identity_provider',
  `SELECT ${columns} FROM identity_providers WHERE name = $1 AND enabled_at IS NOT NULL`,
)

export const selectAnyProvider = statement(
  'select_any_identity_provider',
  `SELECT ${columns} FROM identity_providers WHERE name = $1`,
)

/** Once. */
export const enableDraft = statement(
  'enable_identity_provider',
  `UPDATE identity_providers SET enabled_at = $2 WHERE id = $1 AND enabled_at IS NULL RETURNING ${columns}`,
)

export const selectProviderById = statement(
  'select_identity_provider_by_id',
  `SELECT ${columns} FROM identity_providers WHERE id = $1`,
)

/** Sessions that it vouched for go with it. Whom it means stays known, for when it is added again. */
export const deleteProvider = statement(
  'delete_identity_provider',
  'DELETE FROM identity_providers WHERE id = $1 RETURNING id',
)

export const lockProvider = statement(
  'lock_identity_provider',
  `SELECT ${columns} FROM identity_providers WHERE id = $1 FOR NO KEY UPDATE`,
)

export const updateProvider = statement(
  'update_identity_provider',
  `UPDATE identity_providers SET label = $2, client_id = $3, scopes = $4, link_claim = $5, link_source = $6, strong_acr = $7, strong_amr = $8,
     own_second_step = $9, roles_claim = $10, role_map = $11, logout_ends = $12 WHERE id = $1`,
)

export const updateIssuer = statement(
  'update_provider_issuer',
  'UPDATE identity_providers SET issuer = $2, sealed = $3, looked_at = NULL, away_since = NULL, away_why = NULL WHERE id = $1',
)

export const deleteDocuments = statement(
  'delete_provider_documents',
  'DELETE FROM provider_documents WHERE provider_id = $1',
)

/** Both at once: a secret is never sent as if it were a key. */
export const selectCredential = statement(
  'select_provider_credential',
  'SELECT proof, sealed FROM identity_providers WHERE id = $1',
)

export const updateCredential = statement(
  'update_provider_credential',
  'UPDATE identity_providers SET proof = $2, sealed = $3, credential_at = $4 WHERE id = $1 RETURNING id',
)

const sealed = 'SELECT id, issuer, sealed FROM identity_providers WHERE id > $1 ORDER BY id LIMIT $2'
export const selectSealed = statement('select_sealed_providers', `${sealed} FOR NO KEY UPDATE`)
export const readSealed = statement('read_sealed_providers', sealed)
export const updateSealed = statement(
  'update_sealed_provider',
  'UPDATE identity_providers SET sealed = $2 WHERE id = $1',
)

/** Of several nodes that look at once, the first says since when. */
export const markAway = statement(
  'mark_provider_away',
  `UPDATE identity_providers SET looked_at = $2, away_since = coalesce(away_since, $2), away_why = $3 WHERE id = $1
   RETURNING away_since AS "awaySince"`,
)

export const markThere = statement(
  'mark_provider_there',
  'UPDATE identity_providers SET looked_at = $2, answered_at = $2, away_since = NULL, away_why = NULL WHERE id = $1',
)

/** Once in a minute at most, however many sign in. */
export const markAhead = statement(
  'mark_provider_ahead',
  `UPDATE identity_providers SET ahead_ms = $2, ahead_at = $3, answered_at = $3
   WHERE id = $1 AND (ahead_at IS NULL OR ahead_at <= $3::timestamptz - interval '1 minute' OR ahead_at > $3)`,
)

export const upsertDocument = statement(
  'upsert_provider_document',
  `INSERT INTO provider_documents (provider_id, kind, document, fetched_at)
   SELECT id, $2, $3, $4 FROM identity_providers WHERE id = $1
   ON CONFLICT (provider_id, kind) DO UPDATE SET document = excluded.document, fetched_at = excluded.fetched_at`,
)

export const selectDocuments = statement(
  'select_provider_documents',
  'SELECT kind, document, fetched_at AS "fetchedAt" FROM provider_documents WHERE provider_id = $1 AND fetched_at > $2',
)
