/**
 * The keys that belong to a database. A key file is made once: for a database in which nothing is sealed yet.
 */
import { existsSync } from 'node:fs'
import { type KeySource, makeKeyFile, openVault, type Vault } from '../crypto/vault.ts'
import type { Sql } from './database.ts'
import { selectIsSealed } from './keys.sql.ts'

/**
 * Throws where the key file is away and something is sealed: with a new key none of it could be opened, and
 * whatever is sealed from then on only by that.
 */
export async function openKeys(sql: Sql, source: KeySource): Promise<Vault> {
  if (source.kind === 'file' && !existsSync(source.path)) {
    const [found] = await sql.query(selectIsSealed)
    if (found?.isSealed)
      throw new Error(
        `The key file ${source.path} does not exist, and this database holds secrets that only its keys open. No new key was made. Put the file back, from a backup or from another node, or name where it is in SECRET_KEY_FILE.`,
      )
    makeKeyFile(source.path)
  }
  return openVault(source)
}
