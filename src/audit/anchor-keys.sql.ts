import { bytes, int } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const selectKey = statement({
  name: 'select_anchor_key',
  gives: { sealed: bytes },
  text: 'SELECT sealed FROM audit_anchor_keys WHERE id = 1',
})

/** Of several nodes that begin at once, one makes the key. */
export const insertKey = statement({
  name: 'insert_anchor_key',
  takes: { sealed: bytes },
  text: 'INSERT INTO audit_anchor_keys (id, sealed) VALUES (1, :sealed) ON CONFLICT DO NOTHING',
})

const page = 'SELECT id, sealed FROM audit_anchor_keys WHERE id > :id ORDER BY id LIMIT :most'
const row = { id: int, sealed: bytes }

export const selectSealedKeys = statement({
  name: 'select_sealed_anchor_key',
  takes: { id: int, most: int },
  gives: row,
  text: `${page} FOR UPDATE`,
})

export const readSealedKeys = statement({
  name: 'read_sealed_anchor_key',
  takes: { id: int, most: int },
  gives: row,
  text: page,
})

export const updateSealedKey = statement({
  name: 'update_sealed_anchor_key',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE audit_anchor_keys SET sealed = :sealed WHERE id = :id',
})
