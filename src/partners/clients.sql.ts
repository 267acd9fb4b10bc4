import { bool, bytes, instant, int, json, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'
import type { ClientJwk } from './jwks.ts'
import { partnerStatuses } from './partner-status.ts'

const columns = `clients.id, clients.branch_id AS "branchId", clients.environment, clients.name,
  clients.callback_url AS "callbackUrl", clients.scopes, clients.scopes_at_most AS "scopesAtMost",
  clients.scopes_required AS "scopesRequired",
  clients.status, clients.rotate_refresh_tokens AS "rotateRefreshTokens", clients.created_at AS "createdAt",
  clients.fapi2_from AS "fapi2From", clients.fapi2_ends_bearers AS "fapi2EndsBearers",
  clients.jwks_uri AS "jwksUri", clients.certificate_subject AS "certificateSubject",
  clients.demands_dpop_nonces AS "demandsDpopNonces"`

const secretColumns = `client_secrets.id, client_secrets.client_id AS "clientId", client_secrets.slot,
  client_secrets.hint, client_secrets.created_at AS "createdAt", client_secrets.signs_from AS "signsFrom",
  client_secrets.expires_at AS "expiresAt", client_secrets.last_used_at AS "lastUsedAt",
  client_secrets.revoked_at AS "revokedAt"`

const row = {
  id: text,
  branchId: int,
  environment: oneOf(...environments),
  name: text,
  callbackUrl: text,
  scopes: list(oneOf(...scopes)),
  scopesAtMost: list(oneOf(...scopes)),
  scopesRequired: list(oneOf(...scopes)),
  status: oneOf('active', 'suspended'),
  rotateRefreshTokens: bool,
  createdAt: instant,
  fapi2From: orNull(instant),
  fapi2EndsBearers: bool,
  jwksUri: orNull(text),
  certificateSubject: orNull(text),
  demandsDpopNonces: bool,
}

export const insertClient = statement({
  name: 'insert_client',
  takes: {
    id: text,
    branchId: int,
    environment: text,
    name: text,
    callbackUrl: text,
    scopes: list(text),
    scopesAtMost: list(text),
    rotateRefreshTokens: bool,
    createdAt: instant,
  },
  gives: row,
  text: `INSERT INTO clients (id, branch_id, environment, name, callback_url, scopes, scopes_at_most,
    rotate_refresh_tokens, created_at, updated_at)
   VALUES (:id, :branchId, :environment, :name, :callbackUrl, :scopes, :scopesAtMost, :rotateRefreshTokens,
     :createdAt, :createdAt) RETURNING ${columns}`,
})

export const selectClient = statement({
  name: 'select_client',
  takes: { id: text },
  gives: row,
  text: `SELECT ${columns} FROM clients WHERE id = :id`,
})

export const selectClientsByIds = statement({
  name: 'select_clients_by_ids',
  takes: { ids: list(text) },
  gives: row,
  text: `SELECT ${columns} FROM clients WHERE id = ANY (:ids::text[])`,
})

export const selectClients = statement({
  name: 'select_clients',
  takes: { branchId: orNull(int) },
  gives: row,
  text: `SELECT ${columns} FROM clients WHERE :branchId::int IS NULL OR branch_id = :branchId
   ORDER BY created_at, id`,
})

export const updateClient = statement({
  name: 'update_client',
  takes: {
    id: text,
    name: text,
    callbackUrl: text,
    scopes: orNull(list(text)),
    rotateRefreshTokens: bool,
    updatedAt: instant,
  },
  gives: row,
  text: `UPDATE clients SET name = :name, callback_url = :callbackUrl, scopes = coalesce(:scopes, scopes),
     rotate_refresh_tokens = :rotateRefreshTokens, updated_at = :updatedAt
   WHERE id = :id RETURNING ${columns}`,
})

/**
 * What is newly allowed is on at once, and what the partner had left out stays out, unless it is said what
 * the client asks for. One that would be left with nothing may ask for all that is allowed.
 */
export const updateScopesAtMost = statement({
  name: 'update_scopes_at_most',
  takes: { id: text, scopesAtMost: list(text), chosen: orNull(list(text)), updatedAt: instant },
  gives: row,
  text: `UPDATE clients SET scopes_at_most = :scopesAtMost::text[], updated_at = :updatedAt,
     scopes_required = ARRAY(
       SELECT scope FROM unnest(clients.scopes_required) AS scope WHERE scope = ANY (:scopesAtMost::text[])),
     scopes = coalesce(:chosen::text[], nullif(ARRAY(
       SELECT scope FROM unnest(:scopesAtMost::text[]) AS scope
       WHERE scope = ANY (clients.scopes) OR scope <> ALL (clients.scopes_at_most)), '{}'),
       :scopesAtMost::text[])
   WHERE id = :id RETURNING ${columns}`,
})

export const updateScopesRequired = statement({
  name: 'update_scopes_required',
  takes: { id: text, scopesRequired: list(text), updatedAt: instant },
  gives: row,
  text: `UPDATE clients SET scopes_required = :scopesRequired, updated_at = :updatedAt
   WHERE id = :id RETURNING ${columns}`,
})

export const updateProfile = statement({
  name: 'update_client_profile',
  takes: { id: text, from: orNull(instant), endsBearers: bool, demandsDpopNonces: bool, updatedAt: instant },
  gives: row,
  text: `UPDATE clients SET fapi2_from = :from, fapi2_ends_bearers = :endsBearers,
     demands_dpop_nonces = :demandsDpopNonces, updated_at = :updatedAt
   WHERE id = :id RETURNING ${columns}`,
})

export const updateCertificateSubject = statement({
  name: 'update_client_certificate_subject',
  takes: { id: text, certificateSubject: orNull(text), updatedAt: instant },
  gives: row,
  text: `UPDATE clients SET certificate_subject = :certificateSubject, updated_at = :updatedAt
   WHERE id = :id RETURNING ${columns}`,
})

/**
 * What it takes a client to have FAPI 2.0 from a moment on: that one, or else the moment that is set, or else
 * now.
 */
export const selectReadiness = statement({
  name: 'select_client_readiness',
  takes: { ids: list(text), at: orNull(instant), now: instant },
  gives: { id: text, signs: list(int), keys: int, keyLastUsedAt: orNull(instant) },
  text: `SELECT c.id, webhooks_signed_by(c.id, coalesce(:at, greatest(c.fapi2_from, :now))) AS signs, k.keys,
     k.last_used_at AS "keyLastUsedAt"
   FROM clients c CROSS JOIN LATERAL (
     SELECT count(*) AS keys, max(last_used_at) AS last_used_at FROM client_keys WHERE client_id = c.id) k
   WHERE c.id = ANY (:ids::text[])`,
})

export const updateClientStatus = statement({
  name: 'update_client_status',
  takes: { id: text, status: text, updatedAt: instant },
  text: 'UPDATE clients SET status = :status, updated_at = :updatedAt WHERE id = :id',
})

/** As it stands in JSON. */
export interface LivingSecret {
  readonly id: number
  readonly hash: string
  readonly createdAt: string
  readonly expiresAt: string | null
}

/** The same. */
export interface LivingKey {
  readonly id: number
  readonly thumbprint: string
  readonly jwk: ClientJwk
}

/**
 * The client as the authorization server sees it: with its partner's state, its living secrets and its keys.
 */
export const selectRegistration = statement({
  name: 'select_registration',
  takes: { id: text },
  gives: {
    ...row,
    partnerName: text,
    partnerStatus: oneOf(...partnerStatuses),
    refreshAccess: bool,
    secrets: json<readonly LivingSecret[]>(),
    keys: json<readonly LivingKey[]>(),
  },
  text: `SELECT ${columns}, p.name AS "partnerName", p.status AS "partnerStatus",
     p.refresh_access AS "refreshAccess",
     coalesce((SELECT json_agg(json_build_object('id', s.id, 'hash', encode(s.hash, 'hex'),
         'createdAt', s.created_at, 'expiresAt', s.expires_at) ORDER BY s.id)
       FROM client_secrets s WHERE s.client_id = clients.id AND s.revoked_at IS NULL), '[]') AS secrets,
     coalesce((SELECT json_agg(json_build_object('id', k.id, 'thumbprint', k.thumbprint, 'jwk', k.jwk) ORDER BY k.id)
       FROM client_keys k WHERE k.client_id = clients.id), '[]') AS keys
   FROM clients JOIN partners p USING (branch_id) WHERE clients.id = :id`,
})

const secretRow = {
  id: int,
  clientId: text,
  slot: int,
  hint: text,
  createdAt: instant,
  signsFrom: instant,
  expiresAt: orNull(instant),
  lastUsedAt: orNull(instant),
  revokedAt: orNull(instant),
}

export const insertSecret = statement({
  name: 'insert_client_secret',
  takes: {
    clientId: text,
    slot: int,
    hash: bytes,
    sealed: bytes,
    hint: text,
    createdAt: instant,
    signsFrom: instant,
  },
  gives: secretRow,
  text: `INSERT INTO client_secrets (client_id, slot, hash, sealed, hint, created_at, signs_from)
    VALUES (:clientId, :slot, :hash, :sealed, :hint, :createdAt, :signsFrom)
   RETURNING ${secretColumns}`,
})

export const retireExpiredSecrets = statement({
  name: 'retire_expired_client_secrets',
  takes: { clientId: text, now: instant },
  text: `UPDATE client_secrets SET revoked_at = expires_at
   WHERE client_id = :clientId AND expires_at <= :now AND revoked_at IS NULL`,
})

/** All but the newest. */
export const expireSecrets = statement({
  name: 'expire_client_secrets',
  takes: { clientId: text, newestId: int, endsAt: instant },
  text: `UPDATE client_secrets SET expires_at = least(expires_at, :endsAt)
   WHERE client_id = :clientId AND id <> :newestId AND revoked_at IS NULL`,
})

export const revokeSecret = statement({
  name: 'revoke_client_secret',
  takes: { clientId: text, id: int, revokedAt: instant },
  gives: { id: int },
  text: `UPDATE client_secrets SET revoked_at = :revokedAt
   WHERE client_id = :clientId AND id = :id AND revoked_at IS NULL RETURNING id`,
})

/** All that live, as from a moment that has passed. */
export const revokeSecrets = statement({
  name: 'revoke_client_secrets',
  takes: { clientId: text, revokedAt: instant },
  gives: { id: int },
  text: `UPDATE client_secrets SET revoked_at = least(expires_at, :revokedAt)
   WHERE client_id = :clientId AND revoked_at IS NULL RETURNING id`,
})

export const selectSecrets = statement({
  name: 'select_client_secrets',
  takes: { clientId: text, now: instant },
  gives: secretRow,
  text: `SELECT ${secretColumns} FROM client_secrets
   WHERE client_id = :clientId AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
   ORDER BY id`,
})

export const selectSecretsOfClients = statement({
  name: 'select_secrets_of_clients',
  takes: { clientIds: list(text), now: instant },
  gives: secretRow,
  text: `SELECT ${secretColumns} FROM client_secrets
   WHERE client_id = ANY (:clientIds::text[]) AND revoked_at IS NULL
     AND (expires_at IS NULL OR expires_at > :now)
   ORDER BY id`,
})

export const selectSecretsOfBranch = statement({
  name: 'select_client_secrets_of_branch',
  takes: { branchId: int, now: instant },
  gives: secretRow,
  text: `SELECT ${secretColumns} FROM clients c JOIN client_secrets ON client_secrets.client_id = c.id
   WHERE c.branch_id = :branchId AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
   ORDER BY client_secrets.id`,
})

export const selectClientNames = statement({
  name: 'select_client_names',
  takes: { ids: list(text) },
  gives: { id: text, name: text },
  text: 'SELECT id, name FROM clients WHERE id = ANY (:ids::text[])',
})

export const lockClient = statement({
  name: 'lock_client',
  takes: { id: text },
  gives: { id: text, scopesAtMost: row.scopesAtMost },
  text: 'SELECT id, scopes_at_most AS "scopesAtMost" FROM clients WHERE id = :id FOR UPDATE',
})

export const touchSecrets = statement({
  name: 'touch_client_secrets',
  takes: { ids: list(int), ats: list(instant) },
  text: `UPDATE client_secrets s SET last_used_at = used.at
    FROM unnest(:ids::bigint[], :ats::timestamptz[]) AS used (id, at)
   WHERE s.id = used.id AND (s.last_used_at IS NULL OR s.last_used_at < used.at)`,
})

const sealedRow = { id: int, clientId: text, sealed: bytes }

export const selectSealed = statement({
  name: 'select_sealed_secrets',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: `SELECT id, client_id AS "clientId", sealed FROM client_secrets WHERE id > :id ORDER BY id LIMIT :most
    FOR UPDATE`,
})

export const readSealed = statement({
  name: 'read_sealed_secrets',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: `SELECT id, client_id AS "clientId", sealed FROM client_secrets WHERE id > :id ORDER BY id
    LIMIT :most`,
})

export const updateSealed = statement({
  name: 'update_sealed_secret',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE client_secrets SET sealed = :sealed WHERE id = :id',
})

export const selectApplicationNames = statement({
  name: 'select_application_names',
  takes: { id: text },
  gives: { client: text, partner: text },
  text: `SELECT c.name AS client, p.name AS partner FROM clients c JOIN partners p USING (branch_id)
    WHERE c.id = :id`,
})

/** With whose they are. */
/** The id, or every word that was typed begins a word of the name. */
export const selectClientsNamed = statement({
  name: 'select_clients_named',
  takes: { typed: text, most: int },
  gives: { id: text, name: text, branchId: int, environment: oneOf(...environments), partner: text },
  text: `SELECT found.id, found.name, found.branch_id AS "branchId", found.environment, p.name AS partner
   FROM (
     SELECT id, name, branch_id, environment FROM clients WHERE id = :typed
     UNION
     (SELECT id, name, branch_id, environment FROM clients WHERE name_words(name) @@
        (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(name_words(:typed)))
      LIMIT :most)
   ) AS found JOIN partners p ON p.branch_id = found.branch_id ORDER BY found.name, found.id LIMIT :most`,
})

export const selectClientPlaces = statement({
  name: 'select_client_places',
  takes: { ids: list(text) },
  gives: { id: text, name: text, branchId: int },
  text: 'SELECT id, name, branch_id AS "branchId" FROM clients WHERE id = ANY (:ids::text[])',
})
