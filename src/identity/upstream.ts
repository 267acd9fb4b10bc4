/**
 * A provider as it says it is: its metadata and its keys, kept in the database for every node. It is asked
 * when a user signs in, never at a start; one that does not answer is away, and what it said before holds for
 * a day for users who are on their way already.
 */
import type * as library from 'openid-client'
import { after, type Clock, hour, minute, second, systemClock } from '../clock.ts'
import { openFlights } from '../concurrency/single-flight.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { fetchTimeoutMs, findUnreachable, type GuardedFetch } from '../network/guarded-fetch.ts'
import { findIssuedMs } from './claims.ts'
import { askForKeys, type DiscoveryResult, discover, readJson } from './discovery.ts'
import { importPrivateKey } from './private-key.ts'
import { type Provider, type ProviderFacts, readCredential } from './provider.ts'
import type { ProviderCredential, ProviderDraft } from './provider-draft.ts'
import * as table from './providers.sql.ts'

const staleMs = 24 * hour
/** No user is sent to a provider that was last seen longer ago: it is looked at first. */
const seenLatelyMs = minute
/** One that is away is looked at once in so long, however many wait. */
const lookAgainMs = 10 * second

export class ProviderAway extends Error {
  override readonly name = 'ProviderAway'
  readonly provider: Provider
  readonly since: Date
  constructor(provider: Provider, since: Date, why: string) {
    super(`${provider.label} is away: ${why}`)
    this.provider = provider
    this.since = since
  }
}

export interface Upstreams {
  /**
   * Throws `ProviderAway`, with `mayBeAway` only where nothing is left of what it said within a day; and
   * `ProviderFault`.
   */
  open(provider: Provider, how: { readonly mayBeAway: boolean }): Promise<Upstream>
  /** Asks the provider now, whatever was kept. Throws `ProviderAway` and `ProviderFault`. */
  ask(provider: Provider): Promise<DiscoveryResult & { readonly upstream: Upstream }>
  /** The same of one that is not written down: nothing that it says is kept. Throws `Unreachable` where it is away. */
  askDraft(draft: ProviderDraft): Promise<DiscoveryResult & { readonly upstream: AnyUpstream }>
}

/** Of a provider that may be a draft. */
export interface AnyUpstream {
  readonly library: typeof library
  readonly configuration: library.Configuration
  readonly metadata: library.ServerMetadata
  /**
   * Those that it signs with, fetched within a minute or, where it is away, before. For a key that is not
   * among them it is asked again, each ten seconds at most.
   */
  keys(kid?: string): Promise<library.JWKS>
}

export interface Upstream extends AnyUpstream {
  readonly provider: Provider
}

interface UpstreamDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly clock: Clock
  readonly fetch: GuardedFetch
  /** Whether a provider on this machine may do without TLS. */
  readonly allowLoopback: boolean
}

type FetchKeys = (id: number, fetch: () => Promise<library.JWKS>) => Promise<library.JWKS>

/**
 * Callers that ask meanwhile, or within ten seconds, get the same answer, also when there was none: no client
 * can make us ask a provider over and over.
 */
function openKeyFetcher(clock: Clock): FetchKeys {
  const asked = new Map<number, { readonly at: Date; readonly answer: Promise<library.JWKS> }>()
  return (id, fetch) => {
    const last = asked.get(id)
    if (last && last.at > after(clock.now(), -lookAgainMs)) return last.answer
    const answer = fetch()
    asked.set(id, { at: clock.now(), answer })
    return answer
  }
}

interface StoredDocument<Document> {
  readonly document: Document
  readonly fetchedAt: Date
}

interface Documents {
  readonly metadata?: StoredDocument<library.ServerMetadata>
  readonly keys?: StoredDocument<library.JWKS>
}

export function openUpstreams(deps: UpstreamDependencies): Upstreams {
  const { db, clock } = deps
  const looking = openFlights(look, (provider: Provider) => provider.id)
  const fetchKeys = openKeyFetcher(clock)

  async function look(provider: Provider): Promise<DiscoveryResult> {
    try {
      const discovered = await discover(deps.fetch, provider, deps.allowLoopback)
      await db.query(table.upsertDocument, {
        providerId: provider.id,
        kind: 'metadata',
        document: discovered.metadata,
        fetchedAt: clock.now(),
      })
      await db.query(table.markThere, { id: provider.id, lookedAt: clock.now() })
      return discovered
    } catch (error) {
      const unreachable = findUnreachable(error)
      if (!unreachable) throw error
      const why = unreachable.message
      const [away] = await db.query(table.markAway, { id: provider.id, lookedAt: clock.now(), awayWhy: why })
      throw new ProviderAway(provider, away?.awaySince ?? clock.now(), why)
    }
  }

  async function getMetadata(provider: Provider, kept: Documents['metadata'], mayBeAway: boolean) {
    const now = clock.now()
    const { awaySince, lookedAt, awayWhy } = provider
    if (kept && !awaySince && kept.fetchedAt > after(now, -(mayBeAway ? hour : seenLatelyMs)))
      return kept.document
    const wasJustAway = awaySince !== null && lookedAt !== null && lookedAt > after(now, -lookAgainMs)
    const looked = wasJustAway
      ? Promise.reject(new ProviderAway(provider, awaySince, awayWhy ?? ''))
      : looking.join(provider).then(({ metadata }) => metadata)
    return looked.catch((error: unknown) => {
      if (mayBeAway && kept && error instanceof ProviderAway) return kept.document
      throw error
    })
  }

  return {
    async open(provider, { mayBeAway }) {
      const kept = await readDocuments(deps, provider)
      return configure(
        deps,
        fetchKeys,
        provider,
        await getMetadata(provider, kept.metadata, mayBeAway),
        kept.keys,
      )
    },
    async ask(provider) {
      const discovered = await look(provider)
      const askKeys: FetchKeys = (_id, fetch) => fetch()
      return {
        ...discovered,
        upstream: await configure(deps, askKeys, provider, discovered.metadata, undefined),
      }
    },
    async askDraft(draft) {
      const discovered = await discover(deps.fetch, draft, deps.allowLoopback)
      const { metadata } = discovered
      const keys = () => askForKeys(deps.fetch, metadata.jwks_uri!)
      return {
        ...discovered,
        upstream: { ...(await configureClient(deps, draft, draft, metadata, deps.fetch)), metadata, keys },
      }
    },
  }
}

async function readDocuments({ db, clock }: UpstreamDependencies, { id }: Provider): Promise<Documents> {
  const rows = await db.query(table.selectDocuments, { providerId: id, since: after(clock.now(), -staleMs) })
  return Object.fromEntries(rows.map((row) => [row.kind, row]))
}

async function configure(
  deps: UpstreamDependencies,
  fetchKeys: FetchKeys,
  provider: Provider,
  metadata: library.ServerMetadata,
  kept: Documents['keys'],
): Promise<Upstream> {
  const credential = await readCredential(deps.db, deps.vault, provider)
  const fetch = measuring(deps, provider, metadata, keepingKeys(deps, provider, metadata, kept))
  const configured = await configureClient(deps, provider, credential, metadata, fetch)
  const { library: client, configuration } = configured
  if (kept) {
    const ageMs = Math.max(0, deps.clock.now().getTime() - kept.fetchedAt.getTime())
    const fetchedMs = systemClock.now().getTime() - ageMs
    client.setJwksCache(configuration, { jwks: kept.document, uat: Math.floor(fetchedMs / second) })
  }
  const isYoung = kept !== undefined && kept.fetchedAt > after(deps.clock.now(), -seenLatelyMs)
  const keys = async (kid?: string) => {
    const isThere = kid === undefined || kept?.document.keys.some((key) => key.kid === kid)
    if (isYoung && isThere) return kept.document
    return fetchKeys(provider.id, () => askForKeys(fetch, metadata.jwks_uri!))
  }
  return { ...configured, metadata, provider, keys }
}

async function configureClient(
  { clock, allowLoopback }: UpstreamDependencies,
  { clientId }: Pick<ProviderFacts, 'clientId'>,
  credential: ProviderCredential,
  metadata: library.ServerMetadata,
  fetch: GuardedFetch,
) {
  const client = await import('openid-client')
  // The library asks the machine, and is told how far that is from our time.
  const aheadMs = clock.now().getTime() - systemClock.now().getTime()
  const skew = { [client.clockSkew]: Math.round(aheadMs / second), [client.clockTolerance]: 30 }
  const proof = await proofOf(client, credential)
  const configuration = new client.Configuration(metadata, clientId, skew, proof)
  configuration.timeout = fetchTimeoutMs / second
  configuration[client.customFetch] = fetch
  if (allowLoopback) client.allowInsecureRequests(configuration)
  client.enableNonRepudiationChecks(configuration)
  return { library: client, configuration }
}

async function proofOf(client: typeof library, given: ProviderCredential): Promise<library.ClientAuth> {
  const { proof, credential } = given
  switch (proof) {
    case 'client_secret_basic':
      return client.ClientSecretBasic(credential)
    case 'client_secret_post':
      return client.ClientSecretPost(credential)
    case 'private_key_jwt':
      return client.PrivateKeyJwt((await importPrivateKey(credential))!)
  }
}

/** Keys that were fetched are kept; when they cannot be, those of before will do. */
function keepingKeys(
  { db, clock, fetch }: UpstreamDependencies,
  { id }: Provider,
  metadata: library.ServerMetadata,
  kept: Documents['keys'],
): GuardedFetch {
  return async (url, options) => {
    if (options.method !== 'GET' || url !== metadata.jwks_uri) return fetch(url, options)
    try {
      const document = await askForKeys(fetch, url)
      await db.query(table.upsertDocument, {
        providerId: id,
        kind: 'keys',
        document,
        fetchedAt: clock.now(),
      })
      return Response.json(document)
    } catch (error) {
      if (kept && findUnreachable(error)) return Response.json(kept.document)
      throw error
    }
  }
}

/**
 * What time it is there stands in the ID tokens that it issues, also in those that are then refused for it.
 */
function measuring(
  { db, clock }: UpstreamDependencies,
  { id }: Provider,
  metadata: library.ServerMetadata,
  fetch: GuardedFetch,
): GuardedFetch {
  return async (url, options) => {
    const answer = await fetch(url, options)
    if (url !== metadata.token_endpoint || !answer.ok) return answer
    const issuedMs = findIssuedMs(await readJson(answer.clone()))
    const now = clock.now()
    if (issuedMs !== undefined)
      await db.query(table.markAhead, { id, aheadMs: now.getTime() - issuedMs, aheadAt: now })
    return answer
  }
}
