import { bytes, instant, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { tokenFacts } from '../vocabulary/token-fact.ts'

const columns = `id, name, environment, may_provision AS "mayProvision", sees, audience, created_at AS "createdAt",
    revoked_at AS "revokedAt", hint, secret_at AS "secretAt"`

const row = {
  id: text,
  name: text,
  environment: oneOf(...environments),
  mayProvision: list(text),
  sees: list(oneOf(...tokenFacts)),
  audience: orNull(text),
  createdAt: instant,
  revokedAt: orNull(instant),
  hint: orNull(text),
  secretAt: orNull(instant),
}

export const insertService = statement({
  name: 'insert_service',
  takes: {
    id: text,
    name: text,
    environment: text,
    hash: bytes,
    createdAt: instant,
    mayProvision: list(text),
    sees: list(text),
    audience: orNull(text),
  },
  gives: row,
  text: `INSERT INTO services (id, name, environment, hash, created_at, may_provision, sees, audience)
    VALUES (:id, :name, :environment, :hash, :createdAt, :mayProvision, :sees, :audience)
    RETURNING ${columns}`,
})

/** What it protects, and what it learns of a token. */
export const updateReading = statement({
  name: 'update_service_reading',
  takes: { id: text, sees: list(text), audience: orNull(text) },
  gives: row,
  text: `UPDATE services SET sees = :sees, audience = :audience
    WHERE id = :id AND revoked_at IS NULL RETURNING ${columns}`,
})

export const updateSecret = statement({
  name: 'update_service_secret',
  takes: { id: text, hash: bytes, hint: text, secretAt: instant },
  gives: row,
  text: `UPDATE services SET hash = :hash, hint = :hint, secret_at = :secretAt
    WHERE id = :id AND revoked_at IS NULL RETURNING ${columns}`,
})

export const selectServicesByIds = statement({
  name: 'select_services_by_ids',
  takes: { ids: list(text) },
  gives: row,
  text: `SELECT ${columns} FROM services WHERE id = ANY (:ids::text[]) AND revoked_at IS NULL`,
})

export const lockService = statement({
  name: 'lock_service',
  takes: { id: text },
  gives: row,
  text: `SELECT ${columns} FROM services WHERE id = :id AND revoked_at IS NULL FOR UPDATE`,
})

export const selectServices = statement({
  name: 'select_services',
  gives: row,
  text: `SELECT ${columns} FROM services ORDER BY created_at, id`,
})

/** Those that no living service of the site protects. */
export const selectUnknownAudiences = statement({
  name: 'select_unknown_audiences',
  takes: { audiences: list(text), environment: text },
  gives: { audience: text },
  text: `SELECT asked AS audience FROM unnest(:audiences::text[]) AS asked
    WHERE NOT EXISTS (SELECT FROM services s
      WHERE s.audience = asked AND s.environment = :environment AND s.revoked_at IS NULL)`,
})

export const selectService = statement({
  name: 'select_service',
  takes: { id: text },
  gives: { ...row, hash: bytes },
  text: `SELECT ${columns}, hash FROM services WHERE id = :id AND revoked_at IS NULL`,
})

export const updateMayProvision = statement({
  name: 'update_service_may_provision',
  takes: { id: text, added: list(text), withdrawn: list(text) },
  gives: row,
  text: `UPDATE services SET may_provision = ARRAY(
     SELECT DISTINCT source FROM unnest(may_provision || :added::text[]) AS source
       WHERE source <> ALL (:withdrawn::text[]) ORDER BY source)
   WHERE id = :id AND revoked_at IS NULL RETURNING ${columns}`,
})

/** Those of these names that are no source of the site. */
export const selectUnknownSources = statement({
  name: 'select_unknown_sources',
  takes: { sources: list(text), environment: text },
  gives: { source: text, environment: orNull(oneOf(...environments)) },
  text: `SELECT named.source, s.environment FROM unnest(:sources::text[]) AS named (source)
    LEFT JOIN sources s ON s.name = named.source
   WHERE s.environment IS DISTINCT FROM :environment LIMIT 1`,
})

export const updateRevoked = statement({
  name: 'revoke_service',
  takes: { id: text, revokedAt: instant },
  gives: { id: text },
  text: 'UPDATE services SET revoked_at = :revokedAt WHERE id = :id AND revoked_at IS NULL RETURNING id',
})

export const selectServiceNames = statement({
  name: 'select_service_names',
  takes: { ids: list(text) },
  gives: { id: text, name: text },
  text: 'SELECT id, name FROM services WHERE id = ANY (:ids::text[])',
})
