/** What all nodes of a shard share: one PostgreSQL with its cores, its log, the locks of its parts, and what is on its way. */
import type { Costs } from './costs.ts'
import type { Process, Step } from './process.ts'
import type { Random } from './random.ts'
import type { Connections, Cores, Lock, Log, Queue, Thread } from './resources.ts'
import type { Scenario } from './scenario.ts'
import type { Timeline } from './timeline.ts'

export interface Published {
  readonly atUs: number
  readonly branch: number
  readonly part: number
}

export interface Part {
  readonly lock: Lock
  /** Accepted, and not dispatched. */
  readonly inbox: Queue<Published>
}

/** One webhook's queue. */
export interface Lane {
  readonly webhook: number
  readonly part: number
  /** In the database, and not read. */
  readonly waiting: Queue<Published>
  readonly buffer: Queue<Published>
  sending: number
  unsettled: number
  /** Nothing waits, as far as its holder knows. */
  isDrained: boolean
  /** Whoever settles does not wait for company. */
  isAwaited: boolean
}

export interface Counts {
  published: number
  stored: number
  dispatched: number
  created: number
  arrived: number
  settled: number
  /** Of those that were dispatched: by the short cut. */
  atOnce: number
}

export interface World {
  readonly scenario: Scenario
  readonly costs: Costs
  readonly timeline: Timeline
  readonly random: Random
  readonly postgres: Cores
  readonly log: Log
  readonly parts: readonly Part[]
  /** PostgreSQL keeps notifications in the order of commits: whoever notifies holds this until its log is on disk. */
  readonly notifying: Lock
  readonly counts: Counts
  /** Dispatches that took as many events as one may: what a part can do. */
  readonly fullDispatches: { count: number; events: number; us: number }
  /** From publishing to arrival, in the order of arrival. */
  readonly latenciesUs: number[]
  /** Where receivers share the machine. */
  readonly receiver: Thread | undefined
  /** All nodes hear of these lanes. */
  tellAll(lanes: ReadonlySet<Lane>): void
  /** The lanes of a branch, whoever holds them. */
  lanesOf(branch: number): readonly Lane[]
}

/** What a node works with. */
export interface Equipment {
  readonly thread: Thread
  readonly connections: Connections
}

export function work({ thread }: Equipment, us: number): Step {
  return (done) => thread.run(us, done)
}

export function compute({ postgres }: World, us: number): Step {
  return (done) => postgres.run(us, done)
}

export function travel({ timeline, scenario }: World, trips = 1): Step {
  return (done) => timeline.after(trips * scenario.machine.roundTripUs, done)
}

export function commit({ log }: World, bytes: number): Step {
  return (done) => log.flush(bytes, done)
}

/** One statement that changes nothing, on a connection of its own. */
export function* ask(world: World, node: Equipment, us: number, trips = 1): Process {
  yield node.connections.take
  yield travel(world, trips)
  yield compute(world, us)
  node.connections.release()
}

export function takeMany<Item>(queue: Queue<Item>, most: number): Item[] {
  return Array.from({ length: Math.min(most, queue.length) }, () => queue.take()!)
}
