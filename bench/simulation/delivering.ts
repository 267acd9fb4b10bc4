/** How a node reads and sends what is due in the lanes that it holds. */
import { type Process, start } from './process.ts'
import { ask, type Equipment, type Lane, type Published, takeMany, type World } from './world.ts'

export const attemptsInLane = 10
const unsettledInLane = 100
const unsettledInNode = 400
const readAhead = 50
/** Of what an attempt costs the node: signing and sending; the rest is hearing the answer and settling. */
const sendShare = 0.6
/** What is due, and what the events carry. */
const readRoundTrips = 2
/** How many attempts are under way at once: src/webhooks/pace.ts. */
const pace = { most: 500, least: 100, lookEveryUs: 50_000, busy: 0.9, slower: 0.7, faster: 50 }

export interface DeliveringNode extends Equipment {
  settle(lane: Lane): void
  hurry(): void
}

export class Delivering {
  readonly #world: World
  readonly #node: DeliveringNode
  readonly #lanes = new Set<Lane>()
  /** Lanes that may have something to read. */
  readonly #hungry = new Set<Lane>()
  /** Lanes that have something to send and no room for it. */
  readonly #held = new Set<Lane>()
  #inFlight = 0
  #unsettled = 0
  #isLooking = false
  #lookAgain = false
  #lookEverywhere = false
  #pace = pace.least
  #pacedUs = Number.NEGATIVE_INFINITY
  #activeUs = 0

  constructor(world: World, node: DeliveringNode) {
    this.#world = world
    this.#node = node
  }

  get hasRoom(): boolean {
    return this.#inFlight < pace.most / 2 && this.#unsettled < unsettledInNode / 2
  }

  add(lane: Lane): void {
    this.#lanes.add(lane)
  }

  holds(lane: Lane): boolean {
    return this.#lanes.has(lane)
  }

  /** By the short cut: nothing has to be read, unless something waits before it. */
  takeInHand(lane: Lane, event: Published): void {
    if (lane.isDrained) {
      lane.buffer.add(event)
      this.#sendFrom(lane)
      return
    }
    lane.waiting.add(event)
    this.#look(false)
  }

  hear(lanes: ReadonlySet<Lane>): void {
    const held =
      lanes.size < this.#lanes.size
        ? [...lanes].filter((lane) => this.#lanes.has(lane))
        : [...this.#lanes].filter((lane) => lanes.has(lane))
    for (const lane of held) {
      lane.isDrained = false
      this.#hungry.add(lane)
      lane.isAwaited = lane.sending + lane.unsettled + lane.buffer.length > 0
      if (lane.unsettled > 0) this.#node.hurry()
    }
    this.#look(held.length < lanes.size)
  }

  settled(lane: Lane): void {
    const wasFull = this.#unsettled-- >= unsettledInNode
    lane.unsettled--
    this.#inFlight--
    lane.isAwaited &&= lane.sending + lane.unsettled + lane.buffer.length > 0
    if (wasFull) this.#goOn()
    if (lane.buffer.length === 0) this.#look(false)
    else this.#sendFrom(lane)
  }

  #goOn(): void {
    for (const lane of [...this.#held]) this.#sendFrom(lane)
  }

  /** One look at a time; a call while it runs makes it run once more. */
  #look(everywhere: boolean): void {
    this.#lookAgain = true
    this.#lookEverywhere ||= everywhere
    if (this.#isLooking || (!this.#lookEverywhere && this.#hungry.size === 0)) return
    this.#isLooking = true
    start(this.#lookUntilQuiet())
  }

  *#lookUntilQuiet(): Process {
    while (this.#lookAgain) {
      const everywhere = this.#lookEverywhere
      this.#lookAgain = false
      this.#lookEverywhere = false
      if (everywhere) yield* this.#claim()
      yield* this.#read()
      this.#goOn()
    }
    this.#isLooking = false
  }

  /** Whether there are lanes that nobody holds. There are none. */
  *#claim(): Process {
    const { claimNodeUs, claimPostgresUs } = this.#world.costs
    yield (done) => this.#node.thread.run(claimNodeUs, done)
    yield* ask(this.#world, this.#node, claimPostgresUs)
  }

  *#read(): Process {
    const lanes = [...this.#hungry].filter((lane) => lane.buffer.length === 0 && freeSlots(lane) > 0)
    if (lanes.length === 0) return
    const pages = lanes.map((lane) => takeMany(lane.waiting, readAhead))
    for (const [index, lane] of lanes.entries()) {
      if (pages[index]!.length === readAhead) continue
      lane.isDrained = true
      this.#hungry.delete(lane)
    }
    const count = pages.reduce((sum, page) => sum + page.length, 0)
    const { statement, each } = this.#world.costs.readPostgresUs
    yield* ask(this.#world, this.#node, statement + each * count, readRoundTrips)
    for (const [index, lane] of lanes.entries()) {
      for (const event of pages[index]!) lane.buffer.add(event)
      this.#sendFrom(lane)
    }
  }

  #sendFrom(lane: Lane): void {
    while (lane.buffer.length > 0 && freeSlots(lane) > 0 && this.#hasRoomFor(lane)) {
      const event = lane.buffer.take()!
      lane.sending++
      this.#inFlight++
      this.#node.thread.run(sendShare * this.#world.costs.sendNodeUs, () => this.#arrive(lane, event))
    }
    if (lane.buffer.length > 0) this.#held.add(lane)
    else this.#held.delete(lane)
  }

  #hasRoomFor(lane: Lane): boolean {
    if (this.#unsettled >= unsettledInNode) return false
    return lane.sending === 0 || this.#inFlight - this.#unsettled < this.#most()
  }

  #most(): number {
    const { nowUs } = this.#world.timeline
    if (nowUs - this.#pacedUs < pace.lookEveryUs) return this.#pace
    const share = (this.#node.thread.activeUs - this.#activeUs) / (nowUs - this.#pacedUs)
    const wanted = share > pace.busy ? this.#pace * pace.slower : this.#pace + pace.faster
    this.#pace = Math.min(Math.max(wanted, pace.least), pace.most)
    this.#pacedUs = nowUs
    this.#activeUs = this.#node.thread.activeUs
    return this.#pace
  }

  #arrive(lane: Lane, event: Published): void {
    const { counts, latenciesUs, timeline, receiver, costs, scenario } = this.#world
    counts.arrived++
    latenciesUs.push(timeline.nowUs - event.atUs)
    const answered = () => this.#node.thread.run((1 - sendShare) * costs.sendNodeUs, () => this.#hearAnswer(lane))
    if (receiver) receiver.run(costs.receiverUs, answered)
    else timeline.after(scenario.machine.receiverMs * 1_000, answered)
  }

  #hearAnswer(lane: Lane): void {
    lane.sending--
    lane.unsettled++
    this.#unsettled++
    this.#sendFrom(lane)
    this.#node.settle(lane)
  }
}

function freeSlots(lane: Lane): number {
  return Math.min(attemptsInLane - lane.sending, unsettledInLane - lane.unsettled)
}
