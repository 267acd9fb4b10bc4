/** `node bench/simulation/main.ts [options]`: what a load would meet. `--help` says how to ask, docs/scaling.md what the answers mean. */
import { parseArgs } from 'node:util'
import { type Costs, readCosts } from './costs.ts'
import { type LoadStep, onePostgres, severalClusters } from './plan.ts'
import { printOutcomes } from './print.ts'
import { run } from './run.ts'
import { dataCentre, partsOfCode, type Scenario } from './scenario.ts'
import { printValidation } from './validation.ts'

const help = `Simulates publishing and delivery with the measured costs of costs.json.

  node bench/simulation/main.ts                    the steps of docs/scaling.md: one PostgreSQL, and several
  node bench/simulation/main.ts --events 2000 …    one load
  node bench/simulation/main.ts --validate         the benchmarks of docs/performance.md, simulated beside measured

  --events N           events a second
  --webhooks N         webhooks a branch: deliveries an event (1)
  --branches N         branches, all equally busy (1000)
  --batch N            events a publishing request (1)
  --nodes N            nodes of all shards together (2)
  --shards N           PostgreSQL servers, each with its share of branches and nodes (1)
  --parts N            parts a shard, each with its lock; the code has sixteen (16)
  --tell-every-ms N    how often a node tells others of what is new in their lanes; without it, of each transaction at once
  --postgres-cores N   of each PostgreSQL (8)
  --log-mb N           megabytes a second its disk takes (200)
  --commit-us N        until a commit is on disk (1000)
  --round-trip-us N    from a node to PostgreSQL and back (200)
  --receiver-ms N      until a receiver answers (50)
  --seconds N          to simulate (5)
  --seed N             of chance (1)
`

const options = {
  help: { type: 'boolean' },
  validate: { type: 'boolean' },
  events: { type: 'string' },
  webhooks: { type: 'string', default: '1' },
  branches: { type: 'string', default: '1000' },
  batch: { type: 'string', default: '1' },
  nodes: { type: 'string', default: '2' },
  shards: { type: 'string', default: '1' },
  parts: { type: 'string', default: String(partsOfCode) },
  'tell-every-ms': { type: 'string' },
  'postgres-cores': { type: 'string', default: String(dataCentre.postgresCores) },
  'log-mb': { type: 'string', default: String(dataCentre.logMegabytesPerSecond) },
  'commit-us': { type: 'string', default: String(dataCentre.commitUs) },
  'round-trip-us': { type: 'string', default: String(dataCentre.roundTripUs) },
  'receiver-ms': { type: 'string', default: String(dataCentre.receiverMs) },
  seconds: { type: 'string', default: '5' },
  seed: { type: 'string', default: '1' },
} as const

type Options = ReturnType<typeof readOptions>

function readOptions(args: readonly string[]) {
  return parseArgs({ args: [...args], options }).values
}

export function main(args: readonly string[], costs: Costs = readCosts()): string {
  const asked = readOptions(args)
  if (asked.help) return help
  if (asked.validate) return printValidation(costs, count(asked.seed, 'seed'))
  if (asked.events !== undefined) return printSteps([scenarioOf(asked)], costs)
  const seconds = count(asked.seconds, 'seconds')
  const seed = count(asked.seed, 'seed')
  const printAll = (steps: readonly LoadStep[]) =>
    printSteps(
      steps.map((step) => ({ ...step, seconds, seed })),
      costs,
    )
  return `One PostgreSQL\n${printAll(onePostgres)}\nSeveral, sharded by branch\n${printAll(severalClusters)}`
}

function printSteps(scenarios: readonly Scenario[], costs: Costs): string {
  return printOutcomes(scenarios.map((scenario) => ({ scenario, outcome: run(scenario, costs) })))
}

function scenarioOf(asked: Options): Scenario {
  const number = (name: Exclude<keyof Options, 'help' | 'validate'>) => count(asked[name]!, name)
  return {
    load: { eventsPerSecond: number('events'), eventsAtOnce: number('batch') },
    webhooks: number('webhooks'),
    branches: number('branches'),
    nodes: number('nodes'),
    shards: number('shards'),
    parts: number('parts'),
    tellEveryMs: asked['tell-every-ms'] === undefined ? 0 : number('tell-every-ms'),
    seconds: number('seconds'),
    seed: number('seed'),
    machine: {
      postgresCores: number('postgres-cores'),
      logMegabytesPerSecond: number('log-mb'),
      commitUs: number('commit-us'),
      roundTripUs: number('round-trip-us'),
      receiverMs: number('receiver-ms'),
    },
  }
}

function count(text: string, name: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new Error(`--${name} must be a number above 0, not "${text}".`)
  return value
}

if (import.meta.main) {
  try {
    process.stdout.write(main(process.argv.slice(2)))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
