/** The benchmarks `delivery` and `latency` as a simulation, beside what docs/performance.md says was measured. */
import { quantile } from '../rounds.ts'
import type { Costs } from './costs.ts'
import { printColumns, whole } from './print.ts'
import { run } from './run.ts'
import { oneSmallMachine, type Scenario } from './scenario.ts'
import { openShard } from './shard.ts'

interface Check {
  readonly name: string
  readonly measured: number
  readonly simulated: number
}

const small = { shards: 1, nodes: 1, dispatchers: 1, notifiesApart: false, machine: oneSmallMachine }

export function validate(costs: Costs, seed: number): Check[] {
  return [
    { name: 'delivery, deliveries/s', measured: 5_858, simulated: deliveryRate(costs, seed) },
    { name: 'latency at 200/s, p95 ms', measured: 9.7, simulated: p95Ms(costs, seed, 200) },
    { name: 'latency at 1,000/s, p95 ms', measured: 27.5, simulated: p95Ms(costs, seed, 1_000) },
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
function p95Ms(costs: Costs, seed: number, eventsPerSecond: number): number {
  const load = { eventsPerSecond, eventsAtOnce: 1, tickMs: 5 }
  const scenario: Scenario = { ...small, load, webhooks: 1, branches: 20, seconds: 10, seed }
  return run(scenario, costs).p95Ms
}
