/**
 * Reads the keys of clients at the addresses that their partners gave, in the worker alone. What cannot be
 * read changes nothing for a week.
 */
import type { Logger } from 'pino'
import { gatewayAct } from '../audit/audit.ts'
import { after, type Clock, day, hour, minute, second } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { GuardPolicy } from '../network/address-guard.ts'
import { type GuardedFetch, openGuardedFetch, Unreachable } from '../network/guarded-fetch.ts'
import { replaceKeys } from './client-keys.ts'
import { lockClient } from './clients.sql.ts'
import { type ReadKey, readJwksAtAddress } from './jwks.ts'
import * as table from './key-sets.sql.ts'
import { findAddressProblem } from './key-sets.ts'

const answerBytes = 64 * 1024
const usualMs = 10 * minute
const leastMs = minute
const mostMs = 24 * hour
const staleMs = 7 * day
const mostAtOnce = 20

interface KeyReaderDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly closing: AbortSignal
  readonly network: {
    readonly policy: GuardPolicy
    readonly dnsServers: readonly string[]
    readonly authority?: string | undefined
  }
}

interface ClaimedSet {
  readonly clientId: string
  readonly jwksUri: string
  readonly etag: string | null
  readonly claimedAt: Date
}

/** `keys` are undefined where they are as they were. */
interface ReadSet {
  readonly keys?: readonly ReadKey[]
  readonly etag: string | null
  readonly leftOut: string | null
  readonly againMs: number
}

interface KeyReader {
  /** Begins with those that are due, as many as it may at once. */
  begin(): Promise<void>
  /** Done with what was begun. */
  close(): Promise<void>
}

export function openKeyReader(deps: KeyReaderDependencies): KeyReader {
  const fetch = openGuardedFetch({ ...deps.network, answerBytes })
  const reading = new Set<Promise<void>>()
  return {
    async begin() {
      const now = deps.clock.now()
      const most = mostAtOnce - reading.size
      if (most === 0 || deps.closing.aborted) return
      for (const claimed of await deps.db.query(table.claimSets, { now, most })) {
        const work = readSet(deps, fetch, { ...claimed, claimedAt: now })
          .catch((err: unknown) => deps.log.warn({ err, client: claimed.clientId }, 'keys were not settled'))
          .finally(() => reading.delete(work))
        reading.add(work)
      }
    },
    async close() {
      await Promise.all(reading)
    },
  }
}

async function readSet(deps: KeyReaderDependencies, fetch: GuardedFetch, claimed: ClaimedSet): Promise<void> {
  try {
    const problem = findAddressProblem(claimed.jwksUri, deps.network.policy)
    if (problem !== undefined) throw new UnusableSet(`The address ${problem}`)
    await settleRead(deps, claimed, await ask(fetch, claimed, deps.closing))
  } catch (error) {
    if (!(error instanceof UnusableSet || error instanceof Unreachable)) throw error
    // Whoever closes has cut it off: another node reads it.
    if (!deps.closing.aborted) await settleFailed(deps, claimed, error.message)
  }
}

/** It was answered, and the answer cannot be used. */
class UnusableSet extends Error {
  override readonly name = 'UnusableSet'
}

async function ask(
  fetch: GuardedFetch,
  { jwksUri, etag }: ClaimedSet,
  signal: AbortSignal,
): Promise<ReadSet> {
  const headers = {
    accept: 'application/jwk-set+json, application/json',
    'user-agent': 'Countersign',
    ...(etag !== null && { 'if-none-match': etag }),
  }
  const answer = await fetch(jwksUri, { method: 'GET', headers, body: undefined, redirect: 'manual', signal })
  const againMs = readMaxAge(answer.headers.get('cache-control') ?? '')
  if (answer.status === 304 && etag !== null) return { etag, leftOut: null, againMs }
  if (answer.status !== 200) throw new UnusableSet(refusalOf(answer.status))
  const type = answer.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json' && type !== 'application/jwk-set+json')
    throw new UnusableSet(
      'The answer must have the content type application/jwk-set+json or application/json',
    )
  const { keys, problems } = readJwksAtAddress(await answer.text())
  if (keys.length === 0) throw new UnusableSet(`The set ${problems.join('; ')}`)
  return {
    keys,
    etag: problems.length === 0 ? readEtag(answer.headers.get('etag')) : null,
    leftOut: problems.length === 0 ? null : cut(problems.join('; ')),
    againMs,
  }
}

function refusalOf(status: number): string {
  return status >= 300 && status < 400
    ? `The address answers with status ${status}: it must answer itself, and is not followed elsewhere`
    : `The address answers with status ${status}`
}

/** RFC 9111, within bounds. */
function readMaxAge(cacheControl: string): number {
  if (/(^|[\s,])no-(cache|store)\b/i.test(cacheControl)) return leastMs
  const seconds = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return seconds === undefined ? usualMs : Math.min(mostMs, Math.max(leastMs, Number(seconds) * second))
}

function readEtag(text: string | null): string | null {
  return text !== null && text.length <= 200 && /^(W\/)?"[!\x23-\x7e]*"$/.test(text) ? text : null
}

const cut = (text: string) => (text.length <= 300 ? text : `${text.slice(0, 299)}…`)

function settleRead(
  { db, clock }: KeyReaderDependencies,
  { clientId, jwksUri, claimedAt }: ClaimedSet,
  { keys, etag, leftOut, againMs }: ReadSet,
): Promise<void> {
  const now = clock.now()
  return db.transaction(async (sql) => {
    const [client] = await sql.query(lockClient, { id: clientId })
    const values = { clientId, jwksUri, claimedAt, now, etag, fault: leftOut, dueAt: after(now, againMs) }
    const [settled] = await sql.query(table.settleRead, values)
    if (client && settled && keys) await replaceKeys(sql, clientId, keys, gatewayAct(now))
  })
}

function settleFailed(
  { db, clock }: KeyReaderDependencies,
  { clientId, jwksUri, claimedAt }: ClaimedSet,
  problem: string,
): Promise<void> {
  const now = clock.now()
  return db.transaction(async (sql) => {
    await sql.query(lockClient, { id: clientId })
    const values = {
      clientId,
      jwksUri,
      claimedAt,
      now,
      fault: cut(problem),
      staleBefore: after(now, -staleMs),
    }
    const [settled] = await sql.query(table.settleFailed, values)
    if (settled?.isStale) await replaceKeys(sql, clientId, [], gatewayAct(now))
  })
}
