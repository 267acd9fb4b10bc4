import { bytes, instant, int, list, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/** With the sealed values, for the worker that sends them. */
export const selectHeaders = statement({
  name: 'select_webhook_headers',
  takes: { webhookIds: list(int) },
  gives: { webhookId: int, name: text, sealed: bytes },
  text: `SELECT webhook_id AS "webhookId", name, sealed FROM webhook_headers
    WHERE webhook_id = ANY (:webhookIds::bigint[])
    ORDER BY webhook_id, name`,
})

export const selectHeaderNames = statement({
  name: 'select_webhook_header_names',
  takes: { webhookIds: list(int) },
  gives: { webhookId: int, name: text },
  text: `SELECT webhook_id AS "webhookId", name FROM webhook_headers
    WHERE webhook_id = ANY (:webhookIds::bigint[])
    ORDER BY webhook_id, name`,
})

export const upsertHeaders = statement({
  name: 'upsert_webhook_headers',
  takes: { webhookId: int, names: list(text), sealed: list(bytes), now: instant },
  text: `INSERT INTO webhook_headers (webhook_id, name, sealed, created_at)
   SELECT :webhookId, name, sealed, :now FROM unnest(:names::text[], :sealed::bytea[]) AS h (name, sealed)
   ON CONFLICT (webhook_id, name) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`,
})

export const deleteHeaders = statement({
  name: 'delete_webhook_headers',
  takes: { webhookId: int, names: list(text) },
  text: 'DELETE FROM webhook_headers WHERE webhook_id = :webhookId AND name = ANY (:names::text[])',
})

export const deleteAllHeaders = statement({
  name: 'delete_all_webhook_headers',
  takes: { webhookId: int },
  text: 'DELETE FROM webhook_headers WHERE webhook_id = :webhookId',
})

const webhookHeaderRow = { id: int, webhookId: int, name: text, sealed: bytes }

export const selectSealedHeaders = statement({
  name: 'select_sealed_webhook_headers',
  takes: { id: int, most: int },
  gives: webhookHeaderRow,
  text: `SELECT id, webhook_id AS "webhookId", name, sealed FROM webhook_headers WHERE id > :id ORDER BY id
    LIMIT :most
    FOR UPDATE`,
})

export const readSealedHeaders = statement({
  name: 'read_sealed_webhook_headers',
  takes: { id: int, most: int },
  gives: webhookHeaderRow,
  text: `SELECT id, webhook_id AS "webhookId", name, sealed FROM webhook_headers WHERE id > :id ORDER BY id
    LIMIT :most`,
})

export const updateSealedHeader = statement({
  name: 'update_sealed_webhook_header',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE webhook_headers SET sealed = :sealed WHERE id = :id',
})
