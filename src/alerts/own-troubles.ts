/** What the brokerage alone is told of: deliveries that are late, providers, keys and certificates, the audit log. */
import { X509Certificate } from 'node:crypto'
import { readPushState } from '../audit-push/push-state.ts'
import { after, type Clock, day, hour, minute } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import { openProviderFetch } from '../identity/open-providers.ts'
import { listProviders } from '../identity/provider.ts'
import { lookAtProvider } from '../identity/provider-look.ts'
import { markAway, markThere } from '../identity/providers.sql.ts'
import type { AlertFacts } from '../notices/alert.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import { readLaneStates } from '../webhooks/health/lane-state.ts'
import * as table from './alerts.sql.ts'
import { usedLatelyMs } from './due.ts'

interface TroubleDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly config: Config
}

interface Trouble<Kind extends AlertKind = AlertKind> {
  readonly kind: Kind
  /** The same while it is the same. */
  readonly key: string
  readonly facts: AlertFacts[Kind]
  readonly since: Date
}

/** Providers are asked over the network. */
const askedEveryMs = 5 * minute
/** Renewals are ordered weeks ahead. */
const certificateDays = 21
/** People renew a program's credential, in their own time. */
const credentialWarnedMs = 7 * day
/** A collector that is restarted is back by then. */
const unheardWarnedMs = 15 * minute
/** Two sealing keys are as it should be for so long after a rotation. */
const rotationMs = day

export function openOwnTroubles({ db, clock, vault, config }: TroubleDependencies): {
  find(): Promise<number>
} {
  const fetch = openProviderFetch(config)
  let askedAt: Date | undefined
  let twoKeysSince: Date | undefined

  async function findLate(now: Date): Promise<Trouble[]> {
    const states = [...(await readLaneStates(db, now)).values()]
    const late = states.flatMap(({ failures, lateSince }) => (failures === 0 && lateSince ? [lateSince] : []))
    const lasting = late
      .filter((since) => since < after(now, -minute))
      .sort((a, b) => a.getTime() - b.getTime())
    const [since] = lasting
    if (!since) return []
    // It is told again each hour, because what is late changes all the time.
    const key = `lag:${Math.floor(now.getTime() / hour)}`
    return [{ kind: 'lag', key, since, facts: { since: since.toISOString(), webhooks: lasting.length } }]
  }

  async function findProviders(now: Date): Promise<Trouble[]> {
    if (askedAt && now.getTime() - askedAt.getTime() < askedEveryMs && now >= askedAt) return []
    askedAt = now
    const found: Trouble[] = []
    for (const provider of await listProviders(db)) {
      const { id, label, awaySince } = provider
      const { problem } = await lookAtProvider(fetch, clock, provider, isDevelopment(config))
      if (!problem) {
        if (awaySince) await db.query(markThere, { id, lookedAt: now })
        continue
      }
      const [away] = await db.query(markAway, { id, lookedAt: now, awayWhy: problem.why })
      const since = away?.awaySince ?? now
      const key = `provider:${id}:${since.getTime()}`
      found.push({ kind: 'provider', key, since, facts: { provider: label, found: problem.found } })
    }
    return found
  }

  async function findUnheard(now: Date): Promise<Trouble[]> {
    if (!config.auditPush) return []
    const { address, host: collector } = config.auditPush
    const { position, unheardMs, failure } = await readPushState(db, address, now)
    if (unheardMs < unheardWarnedMs) return []
    const since = after(now, -unheardMs)
    const key = `audit:${address.toString('hex', 0, 4)}:${position}`
    return [{ kind: 'audit', key, since, facts: { since: since.toISOString(), collector, failure } }]
  }

  function findKeys(now: Date): Trouble[] {
    twoKeysSince = vault.keyIds.length < 2 ? undefined : (twoKeysSince ?? now)
    if (!twoKeysSince || now < after(twoKeysSince, rotationMs)) return []
    const found = `${vault.keyIds.length} sealing keys are in use a day after a rotation: remove the older ones with “countersign keys prune”.`
    return [
      {
        ...{ kind: 'expiring', key: `keys:${vault.currentKeyId}`, since: after(now, -day) },
        facts: { thing: 'keys', found },
      },
    ]
  }

  function findCertificate(now: Date): Trouble[] {
    if (!config.tls) return []
    const { validToDate, fingerprint256 } = new X509Certificate(config.tls.cert)
    if (validToDate.getTime() - now.getTime() > certificateDays * day) return []
    const found = `The certificate of TLS_CERT_FILE ends on ${validToDate.toISOString().slice(0, 10)}.`
    return [
      {
        ...{ kind: 'expiring', key: `certificate:${fingerprint256}`, since: after(now, -day) },
        facts: { thing: 'certificate', found },
      },
    ]
  }

  async function findCredentials(now: Date): Promise<Trouble[]> {
    const ending = await db.query(table.selectEndingCredentials, {
      ...{ before: after(now, credentialWarnedMs), usedSince: after(now, -usedLatelyMs), now },
    })
    return ending.map(({ id, name, endsAt }) => ({
      ...{ kind: 'expiring', key: `credential:${id}`, since: after(now, -day) },
      facts: {
        thing: 'credential',
        found: `The administration credential “${name}”, which is in use, ends on ${endsAt.toISOString().slice(0, 10)}.`,
      },
    }))
  }

  return {
    async find() {
      const now = clock.now()
      const wanted = new Set((await db.query(table.wantsOfBrokerage)).map(({ kind }) => kind))
      const found = [
        ...(wanted.has('lag') ? await findLate(now) : []),
        ...(wanted.has('provider') ? await findProviders(now) : []),
        ...(wanted.has('audit') ? await findUnheard(now) : []),
        ...(wanted.has('expiring')
          ? [...findKeys(now), ...findCertificate(now), ...(await findCredentials(now))]
          : []),
      ]
      let told = 0
      for (const trouble of found)
        told += (await db.query(table.insertOwnTroubles, { ...trouble, now })).length
      return told
    },
  }
}
