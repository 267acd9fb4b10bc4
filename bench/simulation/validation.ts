/** The benchmarks `delivery` and `latency` as a simulation, beside what docs/performance.md says was measured. */
import { quantile } from '../rounds.ts'
import type { Costs } from './costs.ts'
import { printColumns, whole } from './print.ts'
import { type Outcome, run } from './run.ts'
import { oneSmallMachine, partsOfCode, type Scenario } from './scenario.ts'
import { openShard } from './shard.ts'

interface Check {
  readonly name: string
  readonly measured: number
  readonly simulated: number
  /** By which factor it may be off. */
  readonly within: number
}

const small = { shards: 1, nodes: 1, parts: partsOfCode, tellEveryMs: 0, machine: oneSmallMachine }
const usual = 2
/** The simulation knows of no pauses, of a collector, a disk or other programs: its tails are too short. */
const withoutPauses = 6

export function validate(costs: Costs, seed: number): Check[] {
  const calm = latencyAt(costs, seed, 200)
  const busy = latencyAt(costs, seed, 1_000)
  return [
    { name: 'delivery, deliveries/s', measured: 7_928, simulated: deliveryRate(costs, seed), within: usual },
    { name: 'latency at 200/s, p50 ms', measured: 2.2, simulated: calm.p50Ms, within: usual },
    { name: 'latency at 200/s, p95 ms', measured: 4.4, simulated: calm.p95Ms, within: withoutPauses },
    { name: 'latency at 1,000/s, p50 ms', measured: 4, simulated: busy.p50Ms, within: usual },
    { name: 'latency at 1,000/s, p95 ms', measured: 19, simulated: busy.p95Ms, within: withoutPauses },
  ]
}

export function printValidation(costs: Costs, seed: number): string {
  return printColumns(
    [
      ['benchmark', (check) => check.name],
      ['measured', (check) => whole(check.measured)],
      ['simulated', (check) => whole(check.simulated)],
      ['off by', (check) => `${Math.round((check.simulated / check.measured - 1) * 100)} %`],
    ],
    validate(costs, seed),
  )
}

/** Two hundred events in one request, for a hundred webhooks: from publishing to the last arrival. */
function deliveryRate(costs: Costs, seed: number): number {
  const load = { eventsPerSecond: 1e6, eventsAtOnce: 200, most: 200 }
  const shard = openShard({ ...small, load, webhooks: 100, branches: 1, seconds: 60, seed }, costs)
  shard.timeline.runUntil(60e6)
  return shard.counts.arrived / (quantile(shard.latenciesUs, 1) / 1e6)
}

/** Twenty branches with a webhook each; events are sent every five milliseconds. */
function latencyAt(costs: Costs, seed: number, eventsPerSecond: number): Outcome {
  const load = { eventsPerSecond, eventsAtOnce: 1, tickMs: 5 }
  const scenario: Scenario = { ...small, load, webhooks: 1, branches: 20, seconds: 10, seed }
  return run(scenario, costs)
}
