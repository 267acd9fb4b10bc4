/**
 * What people wait for: a provider that is away, and an operator's decision. Read when Prometheus asks; the
 * same whichever process is asked.
 */
import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listProviders } from '../identity/provider.ts'
import {
  listApplicants,
  listLooksAsked,
  listProfilesAsked,
  listRefreshAsked,
  listScopesAsked,
} from '../partners/attention.ts'
import { proposableActs } from '../proposals/acts.ts'
import { listOpenProposals } from '../proposals/proposal.ts'
import { listWaitingForYes } from '../provisioning/import-review.ts'
import { keysOf } from '../vocabulary/record-of.ts'

/** Providers are named by the brokerage. */
export function addProviders(registers: Registry[], db: Database, clock: Clock): void {
  new Gauge({
    name: 'countersign_provider_away_seconds',
    help: 'How long a provider has been away, as those found it who signed in there; 0 while it answers.',
    ...{ registers, labelNames: ['provider'], aggregator: 'first' },
    async collect() {
      this.reset()
      const now = clock.now()
      // None while the database is away.
      const providers = await listProviders(db).catch(() => [])
      for (const { name, awaySince } of providers)
        this.set({ provider: name }, awaySince ? secondsSince(awaySince, now) : 0)
    },
  })
}

/** The first hundred of each are looked at, the oldest of them counts. */
const most = 100

/** Each kind of request that waits until a person decides, since when. */
const approvals = {
  application: async (db) => (await listApplicants(db, most)).map(({ since }) => since),
  refresh: async (db) => (await listRefreshAsked(db, most)).map(({ since }) => since),
  scopes: async (db) => (await listScopesAsked(db, most)).map(({ since }) => since),
  profile: async (db) => (await listProfilesAsked(db, most)).map(({ since }) => since),
  look: async (db) => (await listLooksAsked(db, most)).map(({ since }) => since),
  proposal: async (db, now) => {
    const kinds = keysOf(proposableActs)
    return (await listOpenProposals(db, kinds, now, most)).map(({ proposedAt }) => proposedAt)
  },
  import: async (db) => (await listWaitingForYes(db, most)).map(({ updatedAt }) => updatedAt),
} satisfies Record<string, (db: Database, now: Date) => Promise<readonly Date[]>>

export function addApprovals(registers: Registry[], db: Database, clock: Clock): void {
  new Gauge({
    name: 'countersign_approval_waiting_seconds',
    help: 'How long the oldest request of a kind has waited for the decision of a person; 0 when none waits.',
    ...{ registers, labelNames: ['kind'], aggregator: 'first' },
    async collect() {
      this.reset()
      const now = clock.now()
      for (const [kind, list] of Object.entries(approvals)) {
        const ages = await list(db, now).then(
          (waiting) => waiting.map((since) => secondsSince(since, now)),
          () => undefined,
        )
        if (ages) this.set({ kind }, Math.max(0, ...ages))
      }
    },
  })
}

function secondsSince(moment: Date, now: Date): number {
  return Math.max(0, (now.getTime() - moment.getTime()) / 1000)
}
