/** Runs a scenario and says how busy everything was, how long deliveries took, and what stands in the way. */
import { quantile } from '../rounds.ts'
import type { Costs } from './costs.ts'
import type { Scenario } from './scenario.ts'
import {
  attemptsInLane,
  type Counts,
  dispatchedAtMost,
  dispatchRoundTrips,
  eventsInStatement,
  openShard,
  type Shard,
} from './shard.ts'

export interface Outcome {
  readonly counts: Counts
  /** Shares of what there is, by name; more than 1 where a piece of work is still under way. */
  readonly busy: Busy
  readonly logMegabytesPerSecond: number
  readonly deliveriesPerSecond: number
  /** Deliveries that should have been sent and were not, of all shards, and how many more each second makes. */
  readonly backlog: number
  readonly backlogGrowthPerSecond: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  /** What is saturated or would be first. */
  readonly bottleneck: keyof Busy
  readonly isSaturated: boolean
}

export interface Busy {
  readonly nodes: number
  readonly postgres: number
  readonly log: number
  /** With batches as full as they can be: a lock that is held all the time may still keep up. */
  readonly dispatcher: number
  readonly notifications: number
  readonly lanes: number
}

/** Of what came: a queue is never quite empty. */
const harmlessBacklogSeconds = 0.25
const allTheTime = 0.95

export function run(scenario: Scenario, costs: Costs): Outcome {
  const { seconds, shards, webhooks } = scenario
  const shard = openShard(scenario, costs)
  shard.timeline.runUntil((seconds * 1e6) / 2)
  const halfway = backlogOf(shard, webhooks)
  shard.timeline.runUntil(seconds * 1e6)
  const backlog = backlogOf(shard, webhooks)
  const growth = ((backlog - halfway) * 2) / seconds
  const wanted = (scenario.load.eventsPerSecond * webhooks) / shards
  const isSaturated = growth > wanted * 0.02 && backlog > wanted * harmlessBacklogSeconds
  const busy = readBusy(shard, scenario, costs)
  const at = (share: number) => (shard.latenciesUs.length === 0 ? 0 : quantile(shard.latenciesUs, share) / 1_000)
  return {
    counts: shard.counts,
    busy,
    logMegabytesPerSecond: (shard.log.bytes * shards) / seconds / 1e6,
    deliveriesPerSecond: (shard.counts.arrived * shards) / seconds,
    backlog: backlog * shards,
    backlogGrowthPerSecond: Math.max(0, growth) * shards,
    ...{ p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) },
    bottleneck: findBottleneck(busy),
    isSaturated,
  }
}

function backlogOf({ counts }: Shard, webhooks: number): number {
  return counts.published * webhooks - counts.arrived
}

function readBusy(shard: Shard, scenario: Scenario, costs: Costs): Busy {
  const { seconds, machine } = scenario
  const us = seconds * 1e6
  const threads = shard.nodes.map((node) => node.thread.busyUs / us)
  return {
    nodes: threads.reduce((sum, share) => sum + share, 0) / threads.length,
    postgres: shard.postgres.busyUs / shard.postgres.count / us,
    log: shard.log.bytes / (machine.logMegabytesPerSecond * us),
    dispatcher: dispatcherShare(shard, scenario, costs),
    notifications: notificationShare(scenario, costs),
    lanes: laneShare(scenario),
  }
}

/** Of what a dispatcher can do with full dispatches: as they went, or as they would go if nobody else were there. */
function dispatcherShare({ fullDispatches }: Shard, scenario: Scenario, costs: Costs): number {
  const { count, us } = fullDispatches
  const fullUs = count > 0 ? us / count : undisturbedUs(scenario, costs)
  const { load, shards, dispatchers } = scenario
  return ((fullUs / dispatchedAtMost) * load.eventsPerSecond) / shards / dispatchers / 1e6
}

function undisturbedUs(scenario: Scenario, costs: Costs): number {
  const { dispatchNodeUs, dispatchPostgresUs, createNodeUs, createPostgresUs } = costs
  const waitsUs = dispatchRoundTrips * scenario.machine.roundTripUs + commitUsOf(scenario, costs)
  const eventUs = dispatchNodeUs.each + dispatchPostgresUs.each + scenario.webhooks * (createNodeUs + createPostgresUs)
  return dispatchNodeUs.statement + dispatchPostgresUs.statement + waitsUs + eventUs * dispatchedAtMost
}

/** Commits that notify, one after the other, if each holds as much as it may. */
function notificationShare(scenario: Scenario, costs: Costs): number {
  const { load, shards } = scenario
  const publishes = scenario.notifiesApart ? 0 : 1 / Math.max(eventsInStatement, load.eventsAtOnce)
  const commitsPerEvent = publishes + 1 / dispatchedAtMost
  return (commitsPerEvent * load.eventsPerSecond * commitUsOf(scenario, costs)) / shards / 1e6
}

function commitUsOf({ machine }: Scenario, costs: Costs): number {
  return machine.commitUs ?? costs.commitUs
}

/** Ten attempts at once to a receiver that takes its time. */
function laneShare({ load, branches, machine }: Scenario): number {
  return ((load.eventsPerSecond / branches) * machine.receiverMs) / 1_000 / attemptsInLane
}

/** Who works all the time is the reason, whatever waits for it; otherwise whoever would first. */
function findBottleneck(busy: Busy): keyof Busy {
  const worn = (['nodes', 'postgres', 'log'] as const).filter((name) => busy[name] >= allTheTime)
  const names = worn.length > 0 ? worn : (Object.keys(busy) as (keyof Busy)[])
  return names.reduce((largest, name) => (busy[name] > busy[largest] ? name : largest))
}
