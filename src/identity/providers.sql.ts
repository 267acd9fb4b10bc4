import { bool, bytes, instant, int, json, list, oneOf, orNull, sure, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { StaffRole } from '../vocabulary/permission.ts'
import { logoutReaches, providerKinds, providerProofs } from './provider-draft.ts'

const columns = `id, name, kind, label, issuer, client_id AS "clientId", proof, scopes,
  link_claim AS "linkClaim", link_source AS "linkSource",
   strong_acr AS "strongAcr", strong_amr AS "strongAmr", own_second_step AS "ownSecondStep",
     roles_claim AS "rolesClaim", role_map AS "roleMap",
   created_at AS "createdAt", credential_at AS "credentialAt",
     enabled_at AS "enabledAt", logout_ends AS "logoutEnds",
   looked_at AS "lookedAt", answered_at AS "answeredAt", away_since AS "awaySince", away_why AS "awayWhy",
     ahead_ms AS "aheadMs", ahead_at AS "aheadAt", sealed IS NOT NULL AS "hasCredential"`

/** What can be set up otherwise. */
const settings = {
  label: text,
  clientId: text,
  scopes: list(text),
  linkClaim: orNull(text),
  linkSource: text,
  strongAcr: list(text),
  strongAmr: list(text),
  ownSecondStep: bool,
  rolesClaim: orNull(text),
  roleMap: json<Readonly<Record<string, StaffRole>>>(),
  logoutEnds: oneOf(...logoutReaches),
}

const row = {
  id: int,
  name: text,
  kind: oneOf(...providerKinds),
  issuer: text,
  proof: oneOf(...providerProofs),
  ...settings,
  createdAt: instant,
  credentialAt: instant,
  enabledAt: orNull(instant),
  lookedAt: orNull(instant),
  answeredAt: orNull(instant),
  awaySince: orNull(instant),
  awayWhy: orNull(text),
  aheadMs: orNull(int),
  aheadAt: orNull(instant),
  hasCredential: sure(bool),
}

export const insertProvider = statement({
  name: 'insert_identity_provider',
  takes: {
    name: text,
    kind: text,
    issuer: text,
    proof: text,
    sealed: orNull(bytes),
    ...settings,
    createdAt: instant,
    enabledAt: orNull(instant),
  },
  gives: row,
  text: `INSERT INTO identity_providers (name, kind, label, issuer, client_id, proof, sealed, scopes,
     link_claim, link_source, strong_acr, strong_amr, own_second_step, roles_claim, role_map, logout_ends,
     created_at, credential_at, enabled_at)
   VALUES (:name, :kind, :label, :issuer, :clientId, :proof, :sealed, :scopes,
     :linkClaim, :linkSource, :strongAcr, :strongAmr, :ownSecondStep, :rolesClaim, :roleMap, :logoutEnds,
     :createdAt, :createdAt, :enabledAt)
   RETURNING ${columns}`,
})

/** At which people sign in. */
export const selectProviders = statement({
  name: 'select_identity_providers',
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE enabled_at IS NOT NULL ORDER BY kind, label, id`,
})

export const selectEveryProvider = statement({
  name: 'select_every_identity_provider',
  gives: row,
  text: `SELECT ${columns} FROM identity_providers ORDER BY kind, label, id`,
})

export const selectProvider = statement({
  name: 'select_identity_provider',
  takes: { name: text },
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE name = :name AND enabled_at IS NOT NULL`,
})

export const selectAnyProvider = statement({
  name: 'select_any_identity_provider',
  takes: { name: text },
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE name = :name`,
})

/** Once. */
export const enableDraft = statement({
  name: 'enable_identity_provider',
  takes: { id: int, enabledAt: instant },
  gives: row,
  text: `UPDATE identity_providers SET enabled_at = :enabledAt
   WHERE id = :id AND enabled_at IS NULL AND sealed IS NOT NULL
   RETURNING ${columns}`,
})

export const selectProvidersByIds = statement({
  name: 'select_identity_providers_by_ids',
  takes: { ids: list(int) },
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE id = ANY (:ids::bigint[])`,
})

export const selectProviderById = statement({
  name: 'select_identity_provider_by_id',
  takes: { id: int },
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE id = :id`,
})

/** Sessions that it vouched for go with it. Its links stay, for when it is added again. */
export const deleteProvider = statement({
  name: 'delete_identity_provider',
  takes: { id: int },
  gives: { id: int },
  text: 'DELETE FROM identity_providers WHERE id = :id RETURNING id',
})

export const lockProvider = statement({
  name: 'lock_identity_provider',
  takes: { id: int },
  gives: row,
  text: `SELECT ${columns} FROM identity_providers WHERE id = :id FOR NO KEY UPDATE`,
})

export const updateProvider = statement({
  name: 'update_identity_provider',
  takes: { id: int, ...settings },
  text: `UPDATE identity_providers SET label = :label, client_id = :clientId, scopes = :scopes,
     link_claim = :linkClaim, link_source = :linkSource, strong_acr = :strongAcr, strong_amr = :strongAmr,
     own_second_step = :ownSecondStep, roles_claim = :rolesClaim, role_map = :roleMap,
     logout_ends = :logoutEnds
   WHERE id = :id`,
})

export const updateIssuer = statement({
  name: 'update_provider_issuer',
  takes: { id: int, issuer: text, sealed: bytes },
  text: `UPDATE identity_providers SET issuer = :issuer, sealed = :sealed, looked_at = NULL,
     away_since = NULL, away_why = NULL
   WHERE id = :id`,
})

export const deleteDocuments = statement({
  name: 'delete_provider_documents',
  takes: { providerId: int },
  text: 'DELETE FROM provider_documents WHERE provider_id = :providerId',
})

/** Both at once: a secret is never sent as if it were a key. */
export const selectCredential = statement({
  name: 'select_provider_credential',
  takes: { id: int },
  gives: { proof: oneOf(...providerProofs), sealed: orNull(bytes) },
  text: 'SELECT proof, sealed FROM identity_providers WHERE id = :id',
})

export const updateCredential = statement({
  name: 'update_provider_credential',
  takes: { id: int, proof: text, sealed: bytes, credentialAt: instant },
  gives: { id: int },
  text: `UPDATE identity_providers SET proof = :proof, sealed = :sealed, credential_at = :credentialAt
   WHERE id = :id RETURNING id`,
})

const page = `SELECT id, issuer, sealed FROM identity_providers WHERE id > :id AND sealed IS NOT NULL
   ORDER BY id LIMIT :most`
const sealedRow = { id: int, issuer: text, sealed: sure(bytes) }

export const selectSealed = statement({
  name: 'select_sealed_providers',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: `${page} FOR NO KEY UPDATE`,
})

export const readSealed = statement({
  name: 'read_sealed_providers',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: page,
})

export const updateSealed = statement({
  name: 'update_sealed_provider',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE identity_providers SET sealed = :sealed WHERE id = :id',
})

/** Of several nodes that look at once, the first says since when. */
export const markAway = statement({
  name: 'mark_provider_away',
  takes: { id: int, lookedAt: instant, awayWhy: text },
  gives: { awaySince: sure(instant) },
  text: `UPDATE identity_providers SET looked_at = :lookedAt, away_since = coalesce(away_since, :lookedAt),
     away_why = :awayWhy
   WHERE id = :id RETURNING away_since AS "awaySince"`,
})

export const markThere = statement({
  name: 'mark_provider_there',
  takes: { id: int, lookedAt: instant },
  text: `UPDATE identity_providers SET looked_at = :lookedAt, answered_at = :lookedAt, away_since = NULL,
     away_why = NULL
   WHERE id = :id`,
})

/** Once in a minute at most, however many sign in. */
export const markAhead = statement({
  name: 'mark_provider_ahead',
  takes: { id: int, aheadMs: int, aheadAt: instant },
  text: `UPDATE identity_providers SET ahead_ms = :aheadMs, ahead_at = :aheadAt, answered_at = :aheadAt
   WHERE id = :id AND (ahead_at IS NULL OR ahead_at <= :aheadAt::timestamptz - interval '1 minute'
     OR ahead_at > :aheadAt)`,
})

export const upsertDocument = statement({
  name: 'upsert_provider_document',
  takes: { providerId: int, kind: text, document: json<object>(), fetchedAt: instant },
  text: `INSERT INTO provider_documents (provider_id, kind, document, fetched_at)
   SELECT id, :kind, :document, :fetchedAt FROM identity_providers WHERE id = :providerId
   ON CONFLICT (provider_id, kind) DO UPDATE
     SET document = excluded.document, fetched_at = excluded.fetched_at`,
})

export const selectDocuments = statement({
  name: 'select_provider_documents',
  takes: { providerId: int, since: instant },
  gives: { kind: text, document: json<unknown>(), fetchedAt: instant },
  text: `SELECT kind, document, fetched_at AS "fetchedAt" FROM provider_documents
    WHERE provider_id = :providerId AND fetched_at > :since`,
})
