/**
 * What Prometheus may ask of a node. Rates and times are counted where they happen; depths are read from the
 * database when a scraper asks, at most once a second. No label carries anything that a partner or an account
 * holder could choose.
 */
import {
  type Aggregator,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { LeftOut } from '../partners/call-log.ts'
import { listSources } from '../provisioning/reconciliation.ts'
import { keysOf } from '../vocabulary/record-of.ts'
import type { AttemptRecord } from '../webhooks/engine/attempt-record.ts'
import { findAwayParts } from '../webhooks/events/away-parts.ts'
import { conditions } from '../webhooks/health/condition.ts'
import { type Depths, readDepths } from '../webhooks/health/depths.ts'
import { type BrokenPromise, promises } from '../webhooks/health/invariants.ts'
import { addAuditListener } from './audit-listener.ts'
import { addApprovals, addProviders } from './people-wait.ts'

const depthsForMs = 1_000
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const arrivalBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 3_600, 21_600, 86_400]

export interface CountedRequest {
  readonly site: string
  readonly method: string
  /** As it stands in the table of routes, never as it was asked for. */
  readonly route: string
  readonly status: number
  readonly seconds: number
}

export interface Metrics {
  request(request: CountedRequest): void
  /** API calls that have no line in the log that partners read. */
  callsLeftOut(why: LeftOut, calls: number): void
  /** Requests that found no room. */
  turnedAway(site: string, requests: number): void
  attempt(attempt: AttemptRecord): void
  swept(broken: readonly BrokenPromise[]): void
  /** As values, for the process that adds up those of several. */
  collect(): Promise<CollectedMetrics>
  /** In the text format that Prometheus reads. */
  print(): Promise<string>
  readonly contentType: string
}

/** Each says how those of several processes become one. */
export type CollectedMetrics = readonly MetricObjectWithValues<MetricValue<string>>[]

/** Those for requests and deliveries, and those for answers that go on. */
interface Pools {
  readonly db: Database
  readonly streamDb: Database
}

/**
 * What is not their sum: the slowest of them is the one to look at, and the oldest tells since when there are
 * any.
 */
const ofSeveralProcesses = new Map<string, Aggregator>([
  ['process_start_time_seconds', 'min'],
  ['nodejs_eventloop_lag_seconds', 'max'],
  ['nodejs_eventloop_lag_mean_seconds', 'max'],
  ['nodejs_eventloop_lag_stddev_seconds', 'max'],
  ['nodejs_eventloop_lag_p50_seconds', 'max'],
  ['nodejs_eventloop_lag_p90_seconds', 'max'],
  ['nodejs_eventloop_lag_p99_seconds', 'max'],
])

/** `listener`: the address that the audit log is pushed to, by its hash, where there is one. */
export function openMetrics(pools: Pools, clock: Clock, listener?: Buffer): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'countersign_' })
  for (const [name, aggregator] of ofSeveralProcesses)
    Object.assign(registry.getSingleMetric(`countersign_${name}`) ?? {}, { aggregator })
  const requests = new Counter({
    name: 'countersign_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['site', 'method', 'route', 'status'],
    registers,
  })
  const requestSeconds = new Histogram({
    name: 'countersign_http_request_seconds',
    help: 'From the first byte of a request to the last of its answer.',
    labelNames: ['site', 'route'],
    buckets: requestBuckets,
    registers,
  })
  const turnedAway = new Counter({
    name: 'countersign_http_turned_away_total',
    help: 'Requests refused unread because more came than could be answered.',
    labelNames: ['site'],
    registers,
  })
  const leftOut = new Counter({
    name: 'countersign_calls_left_out_total',
    help: 'API calls that the log of calls counts without a line (sampled), or does not have at all (lost).',
    labelNames: ['why'],
    registers,
  })
  const attempts = new Counter({
    name: 'countersign_attempts_total',
    help: 'Attempts to deliver, by what became of them.',
    labelNames: ['outcome'],
    registers,
  })
  const attemptSeconds = new Histogram({
    name: 'countersign_attempt_seconds',
    help: 'How long receivers take to answer.',
    labelNames: ['outcome'],
    buckets: requestBuckets,
    registers,
  })
  const arrivalSeconds = new Histogram({
    name: 'countersign_event_arrival_seconds',
    help: 'From the publishing of an event to the answer of the receiver that accepted it.',
    buckets: arrivalBuckets,
    registers,
  })
  const swept = addPromises(registers)
  addDepths(registers, pools.db, clock)
  addAwayParts(registers, pools.db)
  addSources(registers, pools.db, clock)
  addProviders(registers, pools.db, clock)
  addApprovals(registers, pools.db, clock)
  addAuditListener(registers, pools.db, clock, listener)
  addPools(registers, pools)
  return {
    request({ site, method, route, status, seconds }) {
      requests.inc({ site, method, route, status })
      requestSeconds.observe({ site, route }, seconds)
    },
    callsLeftOut: (why, calls) => leftOut.inc({ why }, calls),
    turnedAway: (site, requests) => turnedAway.inc({ site }, requests),
    attempt({ delivery, outcome: { kind: outcome }, timing, answeredAt }) {
      attempts.inc({ outcome })
      attemptSeconds.observe({ outcome }, timing.totalMs / 1000)
      if (outcome === 'accepted')
        arrivalSeconds.observe((answeredAt.getTime() - delivery.event.createdAt.getTime()) / 1000)
    },
    swept,
    collect: () => registry.getMetricsAsJSON(),
    print: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

/** Each is there from the start, so that the first is an increase. */
function addPromises(registers: Registry[]): Metrics['swept'] {
  const broken = new Counter({
    name: 'countersign_broken_promises_total',
    help: 'What the sweeper found that must never be, each minute anew, by the promise of the delivery engine that it breaks.',
    labelNames: ['promise'],
    registers,
  })
  for (const promise of Object.keys(promises)) broken.inc({ promise }, 0)
  return (found) => {
    for (const { promise } of found) broken.inc({ promise })
  }
}

const depthHelp: Record<Exclude<keyof Depths, 'webhooks'>, [name: string, help: string]> = {
  inbox: ['countersign_outbox_events', 'Events that were published and wait for their number.'],
  waiting: ['countersign_waiting_deliveries', 'Deliveries that wait for their attempt.'],
  blocked: ['countersign_blocked_deliveries', 'Deliveries that wait for an earlier one of their entity.'],
  exhausted: [
    'countersign_exhausted_deliveries',
    'Deliveries that failed after all retries and can be replayed.',
  ],
  overdueSeconds: [
    'countersign_overdue_seconds',
    'How long the oldest delivery that is due, and may be sent, has been waiting.',
  ],
  lanesHeld: ['countersign_lanes_held', 'Lanes that workers hold.'],
  lanesFull: [
    'countersign_lanes_full',
    'Lanes with as many failing entities as one may have, which begin nothing new.',
  ],
}

function addDepths(registers: Registry[], db: Database, clock: Clock): void {
  let known: Promise<Depths> | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  const read = () => {
    if (known === undefined || performance.now() - readAtMs > depthsForMs) {
      readAtMs = performance.now()
      known = readDepths(db, clock.now())
    }
    return known
  }
  addConditions(registers, read)
  for (const key of keysOf(depthHelp)) {
    const [name, help] = depthHelp[key]
    new Gauge({
      // The same whichever process is asked.
      ...{ name, help, registers, aggregator: 'first' },
      async collect() {
        try {
          this.set((await read())[key])
        } catch {
          // The database is away: better no figure than an old one.
          known = undefined
          this.remove()
        }
      },
    })
  }
}

/** As they are judged everywhere. */
function addConditions(registers: Registry[], read: () => Promise<Depths>): void {
  new Gauge({
    name: 'countersign_webhooks',
    help: 'Webhooks, by how they are: what their last attempts said, and what waits.',
    labelNames: ['condition'],
    ...{ registers, aggregator: 'first' },
    async collect() {
      this.reset()
      const counts = (await read().catch(() => undefined))?.webhooks
      if (counts) for (const condition of conditions) this.set({ condition }, counts.get(condition) ?? 0)
    },
  })
}

function addAwayParts(registers: Registry[], db: Database): void {
  new Gauge({
    name: 'countersign_parts_away',
    help: 'Parts of the delivery engine that do not answer; while there are any, queue figures are left out.',
    registers,
    aggregator: 'first',
    async collect() {
      try {
        this.set((await findAwayParts(db)).length)
      } catch {
        this.remove()
      }
    },
  })
}

const sourceHelp: readonly [key: 'lagSeconds' | 'silentSeconds' | 'waiting', name: string, help: string][] = [
  ['lagSeconds', 'countersign_source_lag_seconds', 'How old the newest change is that a source has told of.'],
  ['silentSeconds', 'countersign_source_silent_seconds', 'How long ago a source last said anything.'],
  ['waiting', 'countersign_source_waiting_holdings', 'Holdings whose customer or account has not come.'],
]

/** Sources are named by the brokerage. */
function addSources(registers: Registry[], db: Database, clock: Clock): void {
  for (const [key, name, help] of sourceHelp)
    new Gauge({
      ...{ name, help, registers, labelNames: ['source'], aggregator: 'first' },
      async collect() {
        this.reset()
        // None while the database is away.
        const sources = await listSources(db, clock.now()).catch(() => [])
        for (const each of sources) this.set({ source: each.source }, each[key])
      },
    })
}

function addPools(registers: Registry[], { db, streamDb }: Pools): void {
  new Gauge({
    name: 'countersign_database_connections',
    help: 'Connections of this node to PostgreSQL, and statements that wait for one.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, each] of [
        ['main', db],
        ['streams', streamDb],
      ] as const)
        for (const [state, connections] of Object.entries(each.load())) this.set({ pool, state }, connections)
    },
  })
}
