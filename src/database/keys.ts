/**
 * The keys that belong to a database. A key file is made once: for a database in which nothing is sealed yet.
 */
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { type KeySource, makeKeyFile, openVaultOf, type Vault } from '../crypto/vault.ts'
import type { Listener, Sql } from './database.ts'
import { announceKeys, countWithoutKey, declareKeys, selectIsSealed } from './keys.sql.ts'

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
  return openVaultOf(source)
}

const answerTimeoutMs = 2_500
const lookAgainMs = 100

/** Says of this process which keys it holds, for as long as the connection lives. */
export function declareHeldKeys(listener: Listener, { keyIds }: Vault): Promise<unknown> {
  const numbers = keyIds.map((id) => Buffer.from(id, 'hex').readInt32BE())
  return listener.query(declareKeys, { numbers }, answerTimeoutMs)
}

/** Running processes read the keys again. */
export async function tellOfKeys(sql: Sql): Promise<void> {
  await sql.query(announceKeys)
}

/**
 * Tells running processes to read the keys again, and waits until each of them holds the one that will seal:
 * what is sealed with it can be opened everywhere from the first moment.
 */
export async function shareKeys(sql: Sql, { currentKeyId }: Vault, timeoutMs: number): Promise<void> {
  await tellOfKeys(sql)
  const number = Buffer.from(currentKeyId, 'hex').readUInt32BE()
  for (const until = performance.now() + timeoutMs; ; await wait(lookAgainMs)) {
    const { processes } = await sql.one(countWithoutKey, { number })
    if (processes === 0) return
    if (performance.now() >= until)
      throw new Error(
        `${processes === 1 ? 'One running process does' : `${processes} running processes do`} not have the key ${currentKeyId}; its log says why. Nothing was sealed with it: give every node the key, behind the older ones, and rotate again.`,
      )
  }
}
