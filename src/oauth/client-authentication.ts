/**
 * Decides whether presented credentials are a client's (or, for introspection, a brokerage service's). A
 * refusal is never given from memory: an unknown client and a wrong secret both cost one read of the
 * database, and a secret that was made a moment ago on another node is known here.
 */
import { equalBytes, fingerprint, sha256 } from '../crypto/hash.ts'
import type { Changes } from '../database/changes.ts'
import type { Sql } from '../database/database.ts'
import { openMemory } from '../database/memory.ts'
import type { Registration } from '../partners/client.ts'
import { findService, type Service } from '../services/service.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { ClientCredentials } from './client-credentials.ts'
import { type ClientDirectory, wellFormed } from './client-directory.ts'
import { profileOf, weightOf } from './profile.ts'

export interface AuthenticatedClient {
  readonly client: Registration
  readonly secretId: number
  /** Set while the client still uses a secret that is being replaced. */
  readonly secretEndsAt: Date | undefined
  /** When the secret that replaces it was made; undefined once that one is revoked. */
  readonly secretReplacedAt: Date | undefined
}

const decoy = sha256('no secret has this hash')

/** Clients by the fingerprint of the header that let them in, until something about them changes. */
export interface KnownClients {
  /** A connection that sends the header it sent before costs no hash. */
  recall(
    connection: object,
    authorization: string,
    environment: Environment,
    now: Date,
  ): AuthenticatedClient | undefined
  authenticate(
    authorization: string | undefined,
    readings: readonly ClientCredentials[],
    environment: Environment,
    now: Date,
  ): Promise<AuthenticatedClient | undefined>
}

export function openKnownClients(directory: ClientDirectory, changes: Changes): KnownClients {
  const memory = openMemory<AuthenticatedClient>(changes)
  const said = new WeakMap<object, { readonly authorization: string; readonly fingerprint: string }>()
  function fingerprintOnce(connection: object, authorization: string): string {
    const before = said.get(connection)
    if (before?.authorization === authorization) return before.fingerprint
    const now = { authorization, fingerprint: fingerprint(authorization) }
    said.set(connection, now)
    return now.fingerprint
  }
  return {
    recall(connection, authorization, environment, now) {
      const known = memory.recall(fingerprintOnce(connection, authorization))
      if (known?.client.environment !== environment || !takesSecrets(known.client, now)) return undefined
      return known.secretEndsAt !== undefined && known.secretEndsAt <= now ? undefined : known
    },
    authenticate(authorization, readings, environment, now) {
      const look = () => authenticateClient(directory, readings, environment, now)
      if (authorization === undefined) return look()
      return memory.learn(fingerprint(authorization), async () => {
        const value = await look()
        return value && { value, tags: [`client:${value.client.id}`, `branch:${value.client.branchId}`] }
      })
    },
  }
}

async function authenticateClient(
  directory: ClientDirectory,
  readings: readonly ClientCredentials[],
  environment: Environment,
  now: Date,
): Promise<AuthenticatedClient | undefined> {
  for (const reading of readings) {
    const match = matchSecret(await directory.findAnew(reading.id), reading.secret, environment, now)
    if (match) return match
  }
  return undefined
}

function matchSecret(
  client: Registration | undefined,
  secret: string,
  environment: Environment,
  now: Date,
): AuthenticatedClient | undefined {
  const presented = sha256(secret)
  const living =
    client?.secrets.filter((each) => each.expiresAt === null || new Date(each.expiresAt) > now) ?? []
  let found: (typeof living)[number] | undefined
  for (const each of living) if (equalBytes(presented, Buffer.from(each.hash, 'hex'))) found = each
  if (living.length === 0) equalBytes(presented, decoy)
  if (!client || !found || client.environment !== environment || !takesSecrets(client, now)) return undefined
  const { id, expiresAt } = found
  const next = expiresAt === null ? undefined : living.find((each) => each.id > id)
  return {
    ...{ client, secretId: id, secretEndsAt: expiresAt === null ? undefined : new Date(expiresAt) },
    secretReplacedAt: next && new Date(next.createdAt),
  }
}

/** Where a profile demands more than a secret, there is none. */
export function takesSecrets(client: Registration, now: Date): boolean {
  return weightOf('key', profileOf(client, now)) !== 'demanded'
}

/** When it ends, by itself or with the profile of its client, if nothing changes before. */
export function secretEndsAtMs({ client, secretEndsAt }: AuthenticatedClient): number {
  const ends = [secretEndsAt, client.fapi2From].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY)
  return Math.min(...ends)
}

export interface KnownServices {
  /** From memory alone. */
  recall(readings: readonly ClientCredentials[], environment: Environment): Service | undefined
  authenticate(readings: readonly ClientCredentials[], environment: Environment): Promise<Service | undefined>
}

export function openKnownServices(db: Sql, changes: Changes): KnownServices {
  const memory = openMemory<Service & { hash: Buffer }>(changes)
  const read = async (id: string) => {
    const value = await findService(db, wellFormed(id))
    return value && { value, tags: [`service:${id}`] }
  }
  const matches = (
    service: (Service & { hash: Buffer }) | undefined,
    secret: string,
    environment: Environment,
  ) =>
    equalBytes(sha256(secret), service?.hash ?? decoy) && service?.environment === environment
      ? service
      : undefined
  return {
    recall(readings, environment) {
      for (const { id, secret } of readings) {
        const known = memory.recall(id)
        const match = known && matches(known, secret, environment)
        if (match) return match
      }
      return undefined
    },
    async authenticate(readings, environment) {
      for (const { id, secret } of readings) {
        const match = matches(await memory.learn(id, () => read(id)), secret, environment)
        if (match) return match
      }
      return undefined
    },
  }
}
