import { statement } from '../database/database.ts'

const columns =
  'id, name, environment, may_provision AS "mayProvision", created_at AS "createdAt", revoked_at AS "revokedAt"'

export const insertService = statement(
  'insert_service',
  `INSERT INTO services (id, name, environment, hash, created_at, may_provision) VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${columns}`,
)

export const selectServices = statement('select_services', `SELECT ${columns} FROM services ORDER BY created_at, id`)

export const selectService = statement(
  'select_service',
  `SELECT ${columns}, hash FROM services WHERE id = $1 AND revoked_at IS NULL`,
)

/** $2 are added, $3 taken away. */
export const updateMayProvision = statement(
  'update_service_may_provision',
  `UPDATE services SET may_provision = ARRAY(
     SELECT DISTINCT source FROM unnest(may_provision || $2::text[]) AS source WHERE source <> ALL ($3::text[]) ORDER BY source)
   WHERE id = $1 AND revoked_at IS NULL RETURNING ${columns}`,
)

/** Those of these names that are no source of the site. */
export const selectUnknownSources = statement(
  'select_unknown_sources',
  `SELECT named.source, s.environment FROM unnest($1::text[]) AS named (source) LEFT JOIN sources s ON s.name = named.source
   WHERE s.environment IS DISTINCT FROM $2 LIMIT 1`,
)

export const updateRevoked = statement(
  'revoke_service',
  'UPDATE services SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING id',
)

export const selectServiceNames = statement(
  'select_service_names',
  'SELECT id, name FROM services WHERE id = ANY ($1::text[])',
)
