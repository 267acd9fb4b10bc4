/**
 * How a node accepts events: what gathers while a statement is under way leaves together. Few that come while nothing waits take the short cut, one
 * transaction under the locks of their parts; whoever waits too long for a lock goes the ordinary way, which needs none.
 */
import { type Process, start } from './process.ts'
import { openQueue } from './resources.ts'
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

export const eventsInStatement = 500
const statementsAtOnce = 2
const shortCutAtMost = 25
const patienceUs = 20_000

export interface PublishingNode extends Equipment {
  /** Something of this part waits to be dispatched. */
  wake(part: number): void
  /** Its dispatcher is not at the part, and it has room. */
  isOpen(part: number): boolean
  holds(lane: Lane): boolean
  tell(lanes: ReadonlySet<Lane>): void
  takeInHand(lane: Lane, event: Published): void
}

export class Publishing {
  readonly #world: World
  readonly #node: PublishingNode
  readonly #unsent = openQueue<Published>()
  #underWay = 0

  constructor(world: World, node: PublishingNode) {
    this.#world = world
    this.#node = node
  }

  accept(events: readonly Published[]): void {
    const { requestNodeUs, publishNodeUs } = this.#world.costs
    this.#node.thread.run(requestNodeUs + publishNodeUs.each * events.length, () => {
      for (const event of events) this.#unsent.add(event)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#unsent.length === 0 || this.#underWay >= statementsAtOnce) return
    if (this.#underWay > 0 && this.#unsent.length < shortCutAtMost) return
    this.#underWay++
    start(this.#store())
  }

  *#store(): Process {
    const { publishNodeUs, shortCutNodeUs } = this.#world.costs
    const isFew = this.#unsent.length <= shortCutAtMost
    yield work(this.#node, isFew ? shortCutNodeUs : publishNodeUs.statement)
    const events = takeMany(this.#unsent, eventsInStatement)
    if (events.length > 0 && !(yield* this.#takeShortCut(events))) yield* this.#takeOrdinaryWay(events)
    this.#underWay--
    this.#schedule()
  }

  *#takeOrdinaryWay(events: readonly Published[]): Process {
    const { publishPostgresUs, publishLogBytes } = this.#world.costs
    yield this.#node.connections.take
    yield travel(this.#world)
    yield compute(this.#world, publishPostgresUs.statement + publishPostgresUs.each * events.length)
    yield commit(this.#world, events.length * publishLogBytes)
    this.#node.connections.release()
    this.#world.counts.stored += events.length
    this.#leaveInInbox(events)
  }

  #leaveInInbox(events: readonly Published[]): void {
    for (const event of events) this.#world.parts[event.part]!.inbox.add(event)
    for (const part of new Set(events.map((event) => event.part))) this.#node.wake(part)
  }

  /** Answers whether the events are stored. */
  *#takeShortCut(events: readonly Published[]): Process<boolean> {
    const parts = [...new Set(events.map((event) => event.part))].sort((a, b) => a - b)
    const open = parts.filter((part) => this.#node.isOpen(part))
    if (events.length > shortCutAtMost || open.length === 0) return false
    yield this.#node.connections.take
    yield travel(this.#world)
    const isLocked = yield* lockAll(this.#world, open, patienceUs)
    if (isLocked) yield* this.#pass(events, open)
    this.#node.connections.release()
    return isLocked
  }

  *#pass(events: readonly Published[], open: readonly number[]): Process {
    const { costs, scenario, parts, counts } = this.#world
    const isFree = new Set(open.filter((part) => parts[part]!.inbox.length === 0))
    const free = events.filter((event) => isFree.has(event.part))
    const created = free.length * scenario.webhooks
    const { statement, each } = costs.shortCutPostgresUs
    yield compute(this.#world, statement + each * events.length + costs.createPostgresUs * created)
    yield commit(this.#world, costs.shortCutLogBytes * events.length + costs.createLogBytes * created)
    unlockAll(this.#world, open)
    counts.stored += events.length
    counts.dispatched += free.length
    counts.atOnce += free.length
    counts.created += created
    this.#leaveInInbox(events.filter((event) => !isFree.has(event.part)))
    this.#handOut(free)
  }

  /** What is this node's own is in hand; others are told. */
  #handOut(events: readonly Published[]): void {
    const others = new Set<Lane>()
    for (const event of events) {
      for (const lane of this.#world.lanesOf(event.branch)) {
        if (this.#node.holds(lane)) {
          this.#node.takeInHand(lane, event)
          continue
        }
        lane.waiting.add(event)
        others.add(lane)
      }
    }
    if (others.size > 0) this.#node.tell(others)
  }
}

/** In their order, so that nobody waits in a circle. With a patience, all or none. */
export function* lockAll({ parts }: World, wanted: readonly number[], patienceUs?: number): Process<boolean> {
  for (const [index, part] of wanted.entries()) {
    let isOurs = false
    yield (done) =>
      parts[part]!.lock.take((answer) => {
        isOurs = answer
        done()
      }, patienceUs)
    if (isOurs) continue
    for (const taken of wanted.slice(0, index)) parts[taken]!.lock.release()
    return false
  }
  return true
}

export function unlockAll({ parts }: World, taken: readonly number[]): void {
  for (const part of taken) parts[part]!.lock.release()
}
