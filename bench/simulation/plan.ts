/** The steps of docs/scaling.md: what each load would meet today, and on the machines that the plan gives it. */
import { dataCentre, type Scenario } from './scenario.ts'

export type Step = Omit<Scenario, 'seconds' | 'seed'>

const loads = [1_000, 5_000, 10_000, 100_000]

function stepOf(eventsPerSecond: number, machines: Partial<Step>, eventsAtOnce = 1): Step {
  return {
    load: { eventsPerSecond, eventsAtOnce },
    ...{ webhooks: 1, branches: 1_000, nodes: 2, shards: 1, dispatchers: 1, notifiesApart: false, machine: dataCentre },
    ...machines,
  }
}

/** With nodes enough for everything that more nodes can do. */
export const today: readonly Step[] = loads.map((events) =>
  stepOf(events, { nodes: Math.max(2, Math.round(events / 1_500)) }),
)

const large = { ...dataCentre, postgresCores: 16 }
const apart = { notifiesApart: true, dispatchers: 4, machine: large }

export const plan: readonly Step[] = [
  stepOf(1_000, { nodes: 2 }),
  stepOf(5_000, { nodes: 4 }),
  stepOf(10_000, { nodes: 8, ...apart }),
  stepOf(10_000, { webhooks: 5, nodes: 24, shards: 2, ...apart }),
  stepOf(100_000, { nodes: 60, shards: 5, branches: 10_000, ...apart }, 20),
  stepOf(100_000, { webhooks: 5, nodes: 200, shards: 20, branches: 10_000, ...apart }, 20),
]
