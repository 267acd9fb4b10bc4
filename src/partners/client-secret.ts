/**
 * Up to two secrets of a client live at once, so that a partner can move from one to the other without a gap.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import { issueToken, type Token, tokenHint } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, violates } from '../database/database.ts'
import type { SealedTable } from '../database/reseal.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './clients.sql.ts'

/** The client that it is a secret of. */
interface SecretOwner {
  readonly id: string
  readonly environment: Environment
}

export interface ClientSecret {
  readonly id: number
  readonly clientId: string
  readonly slot: number
  readonly hint: string
  readonly createdAt: Date
  /** From when on it signs webhooks, unless there is no other. */
  readonly signsFrom: Date
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

const noSecret =
  'The client has FAPI 2.0 and no secret. It proves itself by its keys or its certificate: add a key instead.'

/** Binds a sealed secret to its client: moved to another row, it does not open. */
const purposeOf = (clientId: string) => `client-secret:${clientId}`

export async function addSecret(
  sql: Sql,
  vault: Vault,
  client: SecretOwner,
  act: Act,
  signsFrom: Date = act.at,
): Promise<{ id: number; secret: Token }> {
  const secret = issueToken('clientSecret', client.environment)
  await sql.query(table.retireExpiredSecrets, { clientId: client.id, now: act.at })
  const living = await sql.query(table.selectSecrets, { clientId: client.id, now: act.at })
  const slot = living.some((each) => each.slot === 1) ? 2 : 1
  const sealed = vault.seal(purposeOf(client.id), secret.text)
  const created = await sql
    .one(table.insertSecret, {
      clientId: client.id,
      slot,
      hash: secret.hash,
      sealed,
      hint: tokenHint(secret),
      createdAt: act.at,
      signsFrom,
    })
    .catch((error: unknown) => {
      if (violates(error, 'client_secrets_by_slot'))
        throw new Conflict('The client has two live secrets already. Revoke one first.')
      throw violates(error, 'client_secrets_of_standard') ? new Conflict(noSecret) : error
    })
  await recordAct(sql, act, 'client.secret_issued', `client:${client.id}`, { secretId: created.id })
  return { id: created.id, secret }
}

interface SecretRotation {
  /** How long the old one lives. */
  readonly overlapMs: number
  /** From when on the new one signs webhooks: at once unless given. */
  readonly switchAt?: Date | undefined
}

const latestSwitchMs = 7 * day

/** Issues a new secret; the others die when the overlap ends, and sign until the new one does. */
export async function rotateSecret(
  db: Sql,
  vault: Vault,
  client: SecretOwner,
  { overlapMs, switchAt }: SecretRotation,
  act: Act,
): Promise<{ secret: Token; oldSecretEndsAt: Date; signsFrom: Date }> {
  const signsFrom = switchAt ?? act.at
  const oldSecretEndsAt = after(act.at, overlapMs)
  if (signsFrom < act.at || signsFrom > oldSecretEndsAt || signsFrom > after(act.at, latestSwitchMs)) {
    throw new Invalid([
      {
        field: 'switchAt',
        problem: 'must lie between now and the end of the old secret, at most seven days from now',
      },
    ])
  }
  return db.transaction(async (sql) => {
    await sql.query(table.lockClient, { id: client.id })
    const { id: newestId, secret } = await addSecret(sql, vault, client, act, signsFrom)
    await sql.query(table.expireSecrets, { clientId: client.id, newestId, endsAt: oldSecretEndsAt })
    return { secret, oldSecretEndsAt, signsFrom }
  })
}

export async function revokeSecret(db: Sql, client: SecretOwner, secretId: number, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(table.revokeSecret, {
      clientId: client.id,
      id: secretId,
      revokedAt: act.at,
    })
    if (!revoked) throw new NotFound(`The client has no live secret ${secretId}.`)
    await recordAct(sql, act, 'client.secret_revoked', `client:${client.id}`, { secretId })
  })
}

/** Those that count for nothing since a moment, so that they do not come back. */
export async function revokeSecretsOfBefore(
  sql: Sql,
  clientId: string,
  since: Date,
  act: Act,
): Promise<void> {
  for (const { id: secretId } of await sql.query(table.revokeSecrets, { clientId, revokedAt: since }))
    await recordAct(sql, act, 'client.secret_revoked', `client:${clientId}`, { secretId })
}

export function listSecrets(sql: Sql, clientId: string, now: Date): Promise<ClientSecret[]> {
  return sql.query(table.selectSecrets, { clientId, now })
}

export function listSecretsOfClients(
  sql: Sql,
  clientIds: readonly string[],
  now: Date,
): Promise<ClientSecret[]> {
  return sql.query(table.selectSecretsOfClients, { clientIds, now })
}

/** Those of all clients of a partner. */
export function listSecretsOfBranch(sql: Sql, branchId: number, now: Date): Promise<ClientSecret[]> {
  return sql.query(table.selectSecretsOfBranch, { branchId, now })
}

export const sealedClientSecrets: SealedTable<{ id: number; clientId: string; sealed: Buffer }> = {
  select: table.selectSealed,
  read: table.readSealed,
  update: table.updateSealed,
  purposeOf: (row) => purposeOf(row.clientId),
}

/** For signing webhooks. Undefined when its key is gone. */
export function openClientSecret(vault: Vault, clientId: string, sealed: Buffer): string | undefined {
  return vault.open(purposeOf(clientId), sealed)
}
