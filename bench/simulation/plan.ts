/** The steps of docs/scaling.md: what each load would meet with one PostgreSQL, and on the machines that the plan gives it. */
import { dataCentre, partsOfCode, type Scenario } from './scenario.ts'

export type LoadStep = Omit<Scenario, 'seconds' | 'seed'>

function stepOf(eventsPerSecond: number, machines: Partial<LoadStep>, eventsAtOnce = 1): LoadStep {
  return {
    load: { eventsPerSecond, eventsAtOnce },
    ...{ webhooks: 1, branches: 1_000, nodes: 2, shards: 1, parts: partsOfCode, tellEveryMs: 0, machine: dataCentre },
    ...machines,
  }
}

const large = { ...dataCentre, postgresCores: 16 }

/** With nodes enough for everything that more nodes can do. */
export const onePostgres: readonly LoadStep[] = [
  stepOf(200, { nodes: 2 }),
  stepOf(1_000, { nodes: 2 }),
  stepOf(1_000, { webhooks: 5, nodes: 4 }),
  stepOf(5_000, { nodes: 6 }),
  stepOf(5_000, { webhooks: 5, nodes: 16, machine: large }),
  stepOf(10_000, { nodes: 10, machine: large }),
  stepOf(10_000, { nodes: 10, machine: large }, 20),
  stepOf(10_000, { webhooks: 5, nodes: 24, machine: large }, 20),
  stepOf(20_000, { nodes: 20, machine: large }, 20),
  stepOf(100_000, { nodes: 60, machine: large }, 20),
]

export const severalClusters: readonly LoadStep[] = [
  stepOf(10_000, { webhooks: 5, nodes: 24, shards: 2, machine: large }),
  stepOf(100_000, { nodes: 80, shards: 10, branches: 10_000, machine: large }, 20),
  stepOf(100_000, { webhooks: 5, nodes: 240, shards: 20, branches: 10_000, machine: large }, 20),
]
