/**
 * The public keys that a client proves itself by. Several live at once: a partner adds the next one, signs
 * with it, and removes the one before.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { algorithmOf, type PublicJwk, type SignatureAlgorithm } from '../crypto/jwk.ts'
import type { Sql } from '../database/database.ts'
import type { RowOf } from '../database/statement.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { getClient } from './client.ts'
import * as table from './client-keys.sql.ts'
import { lockClient } from './clients.sql.ts'
import { type ClientJwk, findJwksProblems, mostKeys, type ReadJwks, type ReadKey } from './jwks.ts'

export interface ClientKey {
  readonly id: number
  readonly clientId: string
  readonly thumbprint: string
  readonly jwk: ClientJwk
  readonly kid: string | null
  readonly algorithm: SignatureAlgorithm
  readonly hasCertificate: boolean
  readonly addedAt: Date
  readonly lastUsedAt: Date | null
}

interface KeyOwner {
  readonly id: string
}

/** At once. Answers those that are new; the same key again changes nothing. */
export async function addKeys(
  db: Sql,
  client: KeyOwner,
  given: ReadJwks,
  act: Act,
): Promise<readonly string[]> {
  const faults = findJwksProblems(given)
  if (faults.length > 0) throw new Invalid(faults)
  return db.transaction(async (sql) => {
    await lockGivenKeys(sql, client.id, 'Add the key there.')
    const added = await storeKeys(sql, client.id, given.keys, act)
    const living = await sql.query(table.selectKeys, { clientId: client.id })
    if (living.length > mostKeys)
      throw new Conflict(`The client would have more than ${mostKeys} keys. Remove those of before first.`)
    return added
  })
}

/** Exactly these from now on. */
export async function setKeys(db: Sql, client: KeyOwner, given: ReadJwks, act: Act): Promise<void> {
  const faults = findJwksProblems(given)
  if (faults.length > 0) throw new Invalid(faults)
  await db.transaction(async (sql) => {
    await lockGivenKeys(sql, client.id, 'Declare the keys there.')
    await replaceKeys(sql, client.id, given.keys, act)
  })
}

export async function removeKey(db: Sql, client: KeyOwner, keyId: number, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await lockGivenKeys(sql, client.id, 'Remove the key there.')
    const [removed] = await sql.query(table.deleteKey, { clientId: client.id, id: keyId })
    if (!removed) throw new NotFound(`The client has no key ${keyId}.`)
    await recordAct(sql, act, 'client.key_removed', `client:${client.id}`, { ...removed })
  })
}

/** Refuses where they are read at an address. */
async function lockGivenKeys(sql: Sql, clientId: string, remedy: string): Promise<void> {
  await sql.query(lockClient, { id: clientId })
  if ((await getClient(sql, clientId)).jwksUri !== null)
    throw new Conflict(`The keys of this client are read at its own address. ${remedy}`)
}

export async function listKeys(sql: Sql, clientId: string): Promise<ClientKey[]> {
  return (await sql.query(table.selectKeys, { clientId })).map(readRow)
}

export async function listKeysOfClients(sql: Sql, clientIds: readonly string[]): Promise<ClientKey[]> {
  return (await sql.query(table.selectKeysOfClients, { clientIds })).map(readRow)
}

/** Those of all clients of a partner. */
export async function listKeysOfBranch(sql: Sql, branchId: number): Promise<ClientKey[]> {
  return (await sql.query(table.selectKeysOfBranch, { branchId })).map(readRow)
}

function readRow(row: RowOf<typeof table.selectKeys>): ClientKey {
  const { jwk } = row
  return {
    ...row,
    kid: jwk.kid ?? null,
    algorithm: algorithmOf(jwk),
    hasCertificate: jwk.x5c !== undefined,
  }
}

/** As they stand at the client's address: what is not among them leaves. */
export async function replaceKeys(
  sql: Sql,
  clientId: string,
  keys: readonly ReadKey[],
  act: Act,
): Promise<void> {
  const thumbprints = keys.map((key) => key.thumbprint)
  for (const removed of await sql.query(table.deleteKeysBut, { clientId, thumbprints }))
    await recordAct(sql, act, 'client.key_removed', `client:${clientId}`, { ...removed })
  await storeKeys(sql, clientId, keys, act)
}

async function storeKeys(
  sql: Sql,
  clientId: string,
  keys: readonly ReadKey[],
  act: Act,
): Promise<readonly string[]> {
  const stored = await sql.query(table.insertKeys, {
    clientId,
    thumbprints: keys.map((key) => key.thumbprint),
    jwks: keys.map((key) => JSON.stringify(key.jwk)),
    addedAt: act.at,
  })
  const added = new Set(stored.map((row) => row.thumbprint))
  for (const { thumbprint, algorithm, jwk } of keys)
    if (added.has(thumbprint))
      await recordAct(
        sql,
        act,
        'client.key_added',
        `client:${clientId}`,
        describe(thumbprint, algorithm, jwk),
      )
  return [...added]
}

function describe(thumbprint: string, algorithm: SignatureAlgorithm, { kid }: PublicJwk) {
  return { thumbprint, algorithm, ...(kid !== undefined && { kid }) }
}
