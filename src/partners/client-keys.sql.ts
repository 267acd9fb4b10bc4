import { instant, int, json, list, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { ClientJwk } from './jwks.ts'

const columns = `id, client_id AS "clientId", thumbprint, jwk, added_at AS "addedAt", last_used_at AS "lastUsedAt"`

const row = {
  id: int,
  clientId: text,
  thumbprint: text,
  jwk: json<ClientJwk>(),
  addedAt: instant,
  lastUsedAt: orNull(instant),
}

export const selectKeys = statement({
  name: 'select_client_keys',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM client_keys WHERE client_id = :clientId ORDER BY id`,
})

export const selectKeysOfClients = statement({
  name: 'select_keys_of_clients',
  takes: { clientIds: list(text) },
  gives: row,
  text: `SELECT ${columns} FROM client_keys WHERE client_id = ANY (:clientIds::text[]) ORDER BY id`,
})

export const selectKeysOfBranch = statement({
  name: 'select_client_keys_of_branch',
  takes: { branchId: int },
  gives: row,
  text: `SELECT ${columns} FROM client_keys
   WHERE client_id IN (SELECT id FROM clients WHERE branch_id = :branchId) ORDER BY id`,
})

/** The rows that are new, or whose key now has another name or certificate. */
export const insertKeys = statement({
  name: 'insert_client_keys',
  takes: { clientId: text, thumbprints: list(text), jwks: list(text), addedAt: instant },
  gives: { thumbprint: text },
  text: `INSERT INTO client_keys AS kept (client_id, thumbprint, jwk, added_at)
   SELECT :clientId, thumbprint, jwk::jsonb, :addedAt
     FROM unnest(:thumbprints::text[], :jwks::text[]) AS given (thumbprint, jwk)
   ON CONFLICT (client_id, thumbprint) DO UPDATE SET jwk = excluded.jwk WHERE kept.jwk <> excluded.jwk
   RETURNING kept.thumbprint`,
})

export const deleteKey = statement({
  name: 'delete_client_key',
  takes: { clientId: text, id: int },
  gives: { thumbprint: text },
  text: 'DELETE FROM client_keys WHERE client_id = :clientId AND id = :id RETURNING thumbprint',
})

export const deleteKeysBut = statement({
  name: 'delete_client_keys_but',
  takes: { clientId: text, thumbprints: list(text) },
  gives: { thumbprint: text },
  text: `DELETE FROM client_keys WHERE client_id = :clientId AND thumbprint <> ALL (:thumbprints::text[])
   RETURNING thumbprint`,
})

export const touchKeys = statement({
  name: 'touch_client_keys',
  takes: { ids: list(int), ats: list(instant) },
  text: `UPDATE client_keys k SET last_used_at = used.at
    FROM unnest(:ids::bigint[], :ats::timestamptz[]) AS used (id, at)
   WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)`,
})
