/** How a node dispatches: at most two parts at once, each under its lock, in pieces that grow while there is more. Who finds a part taken waits for its turn. */
import { type Process, start } from './process.ts'
import {
  commit,
  compute,
  type Equipment,
  type Lane,
  type Published,
  takeMany,
  travel,
  type World,
  work,
} from './world.ts'

const eventsAtFirst = 25
const eventsAtMost = 400
const deliveriesAtMost = 1_000
const partsAtOnce = 2
/** BEGIN with the lock, how far was read, what was not, create, COMMIT. */
export const dispatchRoundTrips = 5
const tripsBeforeCreating = 2
/** Of what a dispatch costs whatever is in it: to find that there is nothing. */
const emptyShare = 0.4

/** How many events make no more deliveries than one dispatch should. */
export function dispatchedAtMost(webhooks: number): number {
  return Math.max(1, Math.min(eventsAtMost, Math.floor(deliveriesAtMost / Math.max(1, webhooks))))
}

export interface DispatchingNode extends Equipment {
  /** Something new waits in these lanes, of whoever holds them. */
  hear(lanes: ReadonlySet<Lane>): void
  /** So do the others. */
  tell(lanes: ReadonlySet<Lane>): void
}

export class Dispatching {
  readonly #world: World
  readonly #node: DispatchingNode
  readonly #wanted = new Set<number>()
  readonly #running = new Set<number>()
  readonly #most: number

  constructor(world: World, node: DispatchingNode) {
    this.#world = world
    this.#node = node
    this.#most = dispatchedAtMost(world.scenario.webhooks)
  }

  isQuiet(part: number): boolean {
    return !this.#wanted.has(part) && !this.#running.has(part)
  }

  wake(part: number): void {
    this.#wanted.add(part)
    this.#start()
  }

  #start(): void {
    for (const part of this.#wanted) {
      if (this.#running.size >= partsAtOnce) return
      if (this.#running.has(part)) continue
      this.#running.add(part)
      start(this.#dispatchAll(part))
    }
  }

  *#dispatchAll(part: number): Process {
    const first = Math.min(eventsAtFirst, this.#most)
    let most = first
    for (let waits = false; this.#wanted.has(part); ) {
      this.#wanted.delete(part)
      const taken: number | undefined = yield* this.#dispatchOnce(part, most, waits)
      waits = taken === undefined
      if (waits || taken === most) this.#wanted.add(part)
      if (taken !== undefined) most = taken === most ? Math.min(2 * most, this.#most) : first
    }
    this.#running.delete(part)
    this.#start()
  }

  /** How many it took; undefined when somebody else is at it. */
  *#dispatchOnce(part: number, most: number, waits: boolean): Process<number | undefined> {
    const { lock, inbox } = this.#world.parts[part]!
    yield this.#node.connections.take
    yield work(this.#node, this.#world.costs.dispatchNodeUs.statement)
    yield travel(this.#world)
    if (!waits && lock.isHeld) {
      this.#node.connections.release()
      return undefined
    }
    yield (done) => lock.take(() => done())
    const startedUs = this.#world.timeline.nowUs
    yield travel(this.#world, tripsBeforeCreating)
    const events = takeMany(inbox, most)
    yield* events.length === 0 ? this.#findNothing() : this.#create(events)
    lock.release()
    this.#node.connections.release()
    if (events.length > 0) this.#finish(events, this.#world.timeline.nowUs - startedUs)
    return events.length
  }

  #findNothing(): Process {
    return this.#compute(this.#world.costs.dispatchPostgresUs.statement * emptyShare)
  }

  *#compute(us: number): Process {
    yield compute(this.#world, us)
  }

  *#create(events: readonly Published[]): Process {
    const { costs, scenario } = this.#world
    const created = events.length * scenario.webhooks
    const { statement, each } = costs.dispatchPostgresUs
    yield work(this.#node, costs.dispatchNodeUs.each * events.length + costs.createNodeUs * created)
    yield* this.#compute(statement + each * events.length + costs.createPostgresUs * created)
    yield travel(this.#world, dispatchRoundTrips - tripsBeforeCreating - 1)
    yield commit(this.#world, events.length * costs.dispatchLogBytes + created * costs.createLogBytes)
  }

  #finish(events: readonly Published[], us: number): void {
    const { counts, fullDispatches, scenario } = this.#world
    counts.dispatched += events.length
    counts.created += events.length * scenario.webhooks
    if (events.length === this.#most) {
      fullDispatches.count++
      fullDispatches.events += events.length
      fullDispatches.us += us
    }
    const told = new Set<Lane>()
    for (const event of events) {
      for (const lane of this.#world.lanesOf(event.branch)) {
        lane.waiting.add(event)
        told.add(lane)
      }
    }
    this.#node.hear(told)
    if (scenario.nodes > scenario.shards) this.#node.tell(told)
  }
}
