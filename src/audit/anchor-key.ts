/**
 * What anchors are signed with: a key of the log's own, sealed by the vault. Whoever can write the database or the file of anchors, and
 * cannot read the vault's keys, can sign none. It stays the same when the vault's keys are replaced, so that old anchors can be judged.
 */
import { randomBytes } from 'node:crypto'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, statement } from '../database/database.ts'
import type { SealedTable } from '../database/reseal.ts'

const purpose = 'audit-anchor-key'

const selectKey = statement('select_anchor_key', 'SELECT sealed FROM audit_anchor_keys WHERE id = 1')
/** Of several nodes that begin at once, one makes the key. */
const insertKey = statement(
  'insert_anchor_key',
  'INSERT INTO audit_anchor_keys (id, sealed) VALUES (1, $1) ON CONFLICT DO NOTHING',
)

/** Undefined before the first anchor was written, and when the vault cannot open it. */
export async function findAnchorKey(sql: Sql, vault: Vault): Promise<Buffer | undefined> {
  const [row] = await sql.query<{ sealed: Buffer }>(selectKey)
  const text = row && vault.open(purpose, row.sealed)
  return text === undefined ? undefined : Buffer.from(text, 'base64url')
}

export async function getAnchorKey(sql: Sql, vault: Vault): Promise<Buffer> {
  await sql.query(insertKey, [vault.seal(purpose, randomBytes(32).toString('base64url'))])
  const key = await findAnchorKey(sql, vault)
  if (!key) throw new Error('The key of the audit anchors is sealed with a key that is not configured.')
  return key
}

interface KeyRow {
  readonly id: number
  readonly sealed: Buffer
}

const page = 'SELECT id, sealed FROM audit_anchor_keys WHERE id > $1 ORDER BY id LIMIT $2'

export const sealedAnchorKey: SealedTable<KeyRow> = {
  select: statement('select_sealed_anchor_key', `${page} FOR UPDATE`),
  read: statement('read_sealed_anchor_key', page),
  update: statement('update_sealed_anchor_key', 'UPDATE audit_anchor_keys SET sealed = $2 WHERE id = $1'),
  purposeOf: () => purpose,
}
