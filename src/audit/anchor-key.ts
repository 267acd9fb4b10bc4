/**
 * What anchors are signed with: a key of the log's own, sealed by the vault. A person who can write the
 * database or the file of anchors, and cannot read the vault's keys, can sign none. It stays the same when
 * the vault's keys are replaced, so that old anchors can be judged.
 */
import { randomBytes } from 'node:crypto'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { SealedTable } from '../database/reseal.ts'
import * as table from './anchor-keys.sql.ts'

const purpose = 'audit-anchor-key'

/** Undefined before the first anchor was written, and when the vault cannot open it. */
export async function findAnchorKey(sql: Sql, vault: Vault): Promise<Buffer | undefined> {
  const [row] = await sql.query(table.selectKey)
  const text = row && vault.open(purpose, row.sealed)
  return text === undefined ? undefined : Buffer.from(text, 'base64url')
}

export async function getAnchorKey(sql: Sql, vault: Vault): Promise<Buffer> {
  await sql.query(table.insertKey, { sealed: vault.seal(purpose, randomBytes(32).toString('base64url')) })
  const key = await findAnchorKey(sql, vault)
  if (!key) throw new Error('The key of the audit anchors is sealed with a key that is not configured.')
  return key
}

export const sealedAnchorKey: SealedTable = {
  select: table.selectSealedKeys,
  read: table.readSealedKeys,
  update: table.updateSealedKey,
  purposeOf: () => purpose,
}
