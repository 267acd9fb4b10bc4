import { statement } from '../../database/database.ts'

/** With the sealed values, for whoever sends. */
export const selectHeaders = statement(
  'select_webhook_headers',
  'SELECT webhook_id AS "webhookId", name, sealed FROM webhook_headers WHERE webhook_id = ANY ($1::bigint[]) ORDER BY webhook_id, name',
)

export const selectHeaderNames = statement(
  'select_webhook_header_names',
  'SELECT webhook_id AS "webhookId", name FROM webhook_headers WHERE webhook_id = ANY ($1::bigint[]) ORDER BY webhook_id, name',
)

export const upsertHeaders = statement(
  'upsert_webhook_headers',
  `INSERT INTO webhook_headers (webhook_id, name, sealed, created_at)
   SELECT $1, name, sealed, $4 FROM unnest($2::text[], $3::bytea[]) AS h (name, sealed)
   ON CONFLICT (webhook_id, name) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`,
)

export const deleteHeaders = statement(
  'delete_webhook_headers',
  'DELETE FROM webhook_headers WHERE webhook_id = $1 AND name = ANY ($2::text[])',
)

export const deleteAllHeaders = statement(
  'delete_all_webhook_headers',
  'DELETE FROM webhook_headers WHERE webhook_id = $1',
)

export const selectSealedHeaders = statement(
  'select_sealed_webhook_headers',
  'SELECT id, webhook_id AS "webhookId", name, sealed FROM webhook_headers WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE',
)

export const readSealedHeaders = statement(
  'read_sealed_webhook_headers',
  'SELECT id, webhook_id AS "webhookId", name, sealed FROM webhook_headers WHERE id > $1 ORDER BY id LIMIT $2',
)

export const updateSealedHeader = statement(
  'update_sealed_webhook_header',
  'UPDATE webhook_headers SET sealed = $2 WHERE id = $1',
)
