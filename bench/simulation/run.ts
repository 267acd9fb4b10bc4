/** Runs a scenario and says how busy everything was, how long deliveries took, and what stands in the way. */
import { quantile } from '../rounds.ts'
import type { Costs } from './costs.ts'
import { attemptsInLane } from './delivering.ts'
import { dispatchedAtMost, dispatchRoundTrips } from './dispatching.ts'
import type { Scenario } from './scenario.ts'
import { settledInStatement } from './settling.ts'
import { openShard, type Shard } from './shard.ts'
import type { Counts } from './world.ts'

export interface Outcome {
  readonly counts: Counts
  /** Shares of what there is, by name; more than 1 where a piece of work is still under way. */
  readonly busy: Busy
  readonly logMegabytesPerSecond: number
  readonly deliveriesPerSecond: number
  /** Of the events that were dispatched. */
  readonly atOnceShare: number
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
  readonly parts: number
  readonly notifications: number
  readonly lanes: number
}

/** Of what came: a queue is never quite empty. */
const harmlessBacklogSeconds = 0.25
/** But for the beginning, and what is under way at the end. */
const allTheTime = 0.9

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
    atOnceShare: shard.counts.atOnce / Math.max(1, shard.counts.dispatched),
    backlog: backlog * shards,
    backlogGrowthPerSecond: Math.max(0, growth) * shards,
    ...{ p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) },
    bottleneck: findBottleneck(busy, isSaturated ? findHeldLock(shard, seconds) : undefined),
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
    parts: partShare(shard, scenario, costs),
    notifications: notificationShare(scenario, costs),
    lanes: laneShare(scenario),
  }
}

/** Of what a part can do with full dispatches and settlements: as dispatches went, or as they would go if nobody else were there. */
function partShare({ fullDispatches }: Shard, scenario: Scenario, costs: Costs): number {
  const { load, shards, parts, branches, webhooks } = scenario
  const { events, us } = fullDispatches
  const dispatchUs = events > 0 ? us / events : undisturbedUs(scenario, costs) / dispatchedAtMost(webhooks)
  const { statement, each } = costs.settlePostgresUs
  const settleUs = each + (statement + commitUsOf(scenario, costs)) / settledInStatement
  const used = Math.min(parts, Math.max(1, branches / shards))
  return ((dispatchUs + webhooks * settleUs) * load.eventsPerSecond) / shards / used / 1e6
}

/** A full dispatch, while it holds the part. */
function undisturbedUs(scenario: Scenario, costs: Costs): number {
  const { dispatchNodeUs, dispatchPostgresUs, createNodeUs, createPostgresUs } = costs
  const waitsUs = (dispatchRoundTrips - 1) * scenario.machine.roundTripUs + commitUsOf(scenario, costs)
  const eventUs = dispatchNodeUs.each + dispatchPostgresUs.each + scenario.webhooks * (createNodeUs + createPostgresUs)
  return dispatchPostgresUs.statement + waitsUs + eventUs * dispatchedAtMost(scenario.webhooks)
}

/** Commits that notify, one after the other, if each tells of as much as it may. */
function notificationShare(scenario: Scenario, costs: Costs): number {
  const { load, shards, nodes, webhooks } = scenario
  if (nodes <= shards) return 0
  return (load.eventsPerSecond / dispatchedAtMost(webhooks) / shards) * (commitUsOf(scenario, costs) / 1e6)
}

function commitUsOf({ machine }: Scenario, costs: Costs): number {
  return machine.commitUs ?? costs.commitUs
}

/** Ten attempts at once to a receiver that takes its time. */
function laneShare({ load, branches, machine }: Scenario): number {
  return ((load.eventsPerSecond / branches) * machine.receiverMs) / 1_000 / attemptsInLane
}

/** A lock that is never free while the backlog grows. */
function findHeldLock({ parts, notifying }: Shard, seconds: number): keyof Busy | undefined {
  const us = seconds * 1e6
  const held = {
    notifications: notifying.heldUs / us,
    parts: parts.reduce((sum, { lock }) => sum + lock.heldUs / us, 0) / parts.length,
  }
  const most = held.notifications > held.parts ? 'notifications' : 'parts'
  return held[most] >= allTheTime ? most : undefined
}

/** Who works all the time is the reason, whatever waits for it; then a lock that is never free; otherwise whoever would be first. */
function findBottleneck(busy: Busy, heldLock: keyof Busy | undefined): keyof Busy {
  const worn = (['nodes', 'postgres', 'log'] as const).filter((name) => busy[name] >= allTheTime)
  if (worn.length === 0 && heldLock) return heldLock
  const names = worn.length > 0 ? worn : (Object.keys(busy) as (keyof Busy)[])
  return names.reduce((largest, name) => (busy[name] > busy[largest] ? name : largest))
}
