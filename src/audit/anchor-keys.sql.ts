import { statement } from '../database/database.ts'

export const selectKey = statement('select_anchor_key', 'SELECT sealed FROM audit_anchor_keys WHERE id = 1')

/** Of several nodes that begin at once, one makes the key. */
export const insertKey = statement(
  'insert_anchor_key',
  'INSERT INTO audit_anchor_keys (id, sealed) VALUES (1, $1) ON CONFLICT DO NOTHING',
)

const page = 'SELECT id, sealed FROM audit_anchor_keys WHERE id > $1 ORDER BY id LIMIT $2'

export const selectSealedKeys = statement('select_sealed_anchor_key', `${page} FOR UPDATE`)

export const readSealedKeys = statement('read_sealed_anchor_key', page)

export const updateSealedKey = statement(
  'update_sealed_anchor_key',
  'UPDATE audit_anchor_keys SET sealed = $2 WHERE id = $1',
)
