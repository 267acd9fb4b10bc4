/**
 * One PostgreSQL with its nodes: publish → inbox → dispatch → lanes → attempts → settle, in the pieces in which the gateway does it.
 * The limits are those of src/webhooks: how many events a statement, a dispatch, a look and a lane take.
 */
import type { Costs } from './costs.ts'
import { openRandom } from './random.ts'
import {
  type Cores,
  type Lock,
  type Log,
  openCores,
  openLock,
  openLog,
  openQueue,
  openThread,
  type Queue,
  type Thread,
} from './resources.ts'
import type { Scenario } from './scenario.ts'
import { openTimeline, type Timeline } from './timeline.ts'

export const eventsInStatement = 500
const publishesInFlight = 2
const dispatchedAtFirst = 25
export const dispatchedAtMost = 400
/** BEGIN, lock, number, tails, create, wake, COMMIT. */
export const dispatchRoundTrips = 7
export const attemptsInLane = 10
const attemptsInNode = 500
const readAhead = 50
const settledInStatement = 500
const settleRoundTrips = 4
const connectionsOfNode = 10
/** Of what a delivery costs PostgreSQL after its creation: the rest is settling. */
const readShare = 0.25
/** Of what it costs the node: signing and sending; the rest is hearing the answer and settling. */
const sendShare = 0.6
const nodeCores = 2

interface Published {
  readonly atUs: number
  readonly branch: number
}

interface Lane {
  readonly waiting: Queue<Published>
  readonly buffer: Queue<Published>
  sending: number
}

interface Node {
  readonly thread: Thread
  readonly cores: Cores
  readonly connections: Thread[]
  readonly unsent: Queue<Published>
  publishing: number
  readonly lanes: Map<number, Lane>
  readonly hungry: Set<Lane>
  isLooking: boolean
  isTryingInVain: boolean
  inFlight: number
  readonly unsettled: Queue<Published>
  isSettling: boolean
}

export interface Shard {
  readonly timeline: Timeline
  readonly nodes: readonly Node[]
  readonly postgres: Cores
  readonly log: Log
  readonly dispatchLocks: readonly Lock[]
  readonly notifyLock: Lock
  readonly counts: Counts
  /** Dispatches that took as many events as one may: what a dispatcher can do. */
  readonly fullDispatches: { count: number; us: number }
  /** From publishing to arrival, in the order of arrival. */
  readonly latenciesUs: number[]
}

export interface Counts {
  published: number
  stored: number
  dispatched: number
  created: number
  arrived: number
  settled: number
}

export function openShard(scenario: Scenario, costs: Costs): Shard {
  return new Simulation(scenario, costs)
}

class Simulation implements Shard {
  readonly timeline = openTimeline()
  readonly nodes: Node[]
  readonly postgres: Cores
  readonly log: Log
  readonly dispatchLocks: Lock[]
  readonly notifyLock: Lock
  readonly counts: Counts = { published: 0, stored: 0, dispatched: 0, created: 0, arrived: 0, settled: 0 }
  readonly fullDispatches = { count: 0, us: 0 }
  readonly latenciesUs: number[] = []
  readonly #scenario: Scenario
  readonly #costs: Costs
  readonly #inboxes: Queue<Published>[]
  readonly #dispatching: boolean[]
  readonly #dispatchSizes: number[]
  readonly #random
  readonly #beside: Thread | undefined
  readonly #receiver: Thread | undefined

  constructor(scenario: Scenario, costs: Costs) {
    const { machine, dispatchers, nodes, shards, seed } = scenario
    this.#scenario = scenario
    this.#costs = costs
    this.#random = openRandom(seed)
    const shared = machine.sharedCores === undefined ? undefined : openCores(this.timeline, machine.sharedCores)
    this.postgres = shared ?? openCores(this.timeline, machine.postgresCores)
    this.#beside = shared && openThread(shared)
    this.#receiver = shared && openThread(shared)
    this.log = openLog(this.timeline, machine.commitUs ?? costs.commitUs, machine.logMegabytesPerSecond)
    this.notifyLock = openLock(this.timeline)
    this.dispatchLocks = Array.from({ length: dispatchers }, () => openLock(this.timeline))
    this.#inboxes = this.dispatchLocks.map(() => openQueue())
    this.#dispatching = this.dispatchLocks.map(() => false)
    this.#dispatchSizes = this.dispatchLocks.map(() => dispatchedAtFirst)
    this.nodes = Array.from({ length: Math.ceil(nodes / shards) }, () => this.#openNode(shared))
    this.#publishNext(0)
  }

  #openNode(shared: Cores | undefined): Node {
    const cores = shared ?? openCores(this.timeline, nodeCores)
    return {
      thread: openThread(cores),
      cores,
      connections: Array.from({ length: connectionsOfNode }, () => openThread(this.postgres)),
      unsent: openQueue(),
      publishing: 0,
      lanes: new Map(),
      hungry: new Set(),
      isLooking: false,
      isTryingInVain: false,
      inFlight: 0,
      unsettled: openQueue(),
      isSettling: false,
    }
  }

  /** Requests arrive whatever becomes of them. */
  #publishNext(owed: number): void {
    const { load, shards } = this.#scenario
    if (load.most !== undefined && this.counts.published >= load.most) return
    const requestsPerUs = load.eventsPerSecond / shards / load.eventsAtOnce / 1e6
    const delayUs = load.tickMs === undefined ? this.#random.exponential(1 / requestsPerUs) : load.tickMs * 1_000
    this.timeline.after(delayUs, () => {
      const due = owed + (load.tickMs === undefined ? 1 : delayUs * requestsPerUs)
      for (let n = 0; n < Math.floor(due + 1e-9); n++) this.#request()
      this.#publishNext(due - Math.floor(due + 1e-9))
    })
  }

  #request(): void {
    const { load, branches, shards } = this.#scenario
    const node = this.nodes[Math.floor(this.#random.uniform() * this.nodes.length)]!
    const here = Math.max(1, Math.round(branches / shards))
    const branch = Math.floor(this.#random.uniform() * here)
    const events = Array.from({ length: load.eventsAtOnce }, () => ({ atUs: this.timeline.nowUs, branch }))
    this.counts.published += events.length
    const { requestNodeUs, publishNodeUs, generatorUs } = this.#costs
    const arrive = () =>
      node.thread.run(requestNodeUs + publishNodeUs.each * events.length, () => {
        for (const event of events) node.unsent.add(event)
        this.#store(node)
      })
    if (this.#beside) this.#beside.run(generatorUs, arrive)
    else arrive()
  }

  /** Publishes that gather while two statements are under way leave together. */
  #store(node: Node): void {
    if (node.publishing >= publishesInFlight || node.unsent.length === 0) return
    node.publishing++
    const events = takeMany(node.unsent, eventsInStatement)
    const { publishNodeUs, publishPostgresUs, publishLogBytes } = this.#costs
    node.thread.run(publishNodeUs.statement, () =>
      this.#ask(node, publishPostgresUs.statement + publishPostgresUs.each * events.length, () =>
        this.#commitPublish(events.length * publishLogBytes, () => {
          node.publishing--
          this.counts.stored += events.length
          for (const event of events) this.#inboxes[event.branch % this.#inboxes.length]!.add(event)
          for (const place of this.#inboxes.keys()) this.#dispatch(place)
          if (!this.#scenario.notifiesApart) this.#tryInVain()
          this.#store(node)
        }),
      ),
    )
  }

  #commitPublish(bytes: number, done: () => void): void {
    if (this.#scenario.notifiesApart) this.log.flush(bytes, done)
    else this.#commitAndNotify(bytes, done)
  }

  #ask(node: Node, workUs: number, done: () => void, roundTrips = 1): void {
    const connection = node.connections[Math.floor(this.#random.uniform() * connectionsOfNode)]!
    this.timeline.after(this.#scenario.machine.roundTripUs * roundTrips, () => connection.run(workUs, done))
  }

  /** PostgreSQL keeps notifications in the order of commits: whoever notifies holds a lock until its log is on disk. */
  #commitAndNotify(bytes: number, done: () => void): void {
    this.notifyLock.take(() =>
      this.log.flush(bytes, () => {
        this.notifyLock.release()
        done()
      }),
    )
  }

  #dispatch(place: number): void {
    if (this.#dispatching[place] || this.#inboxes[place]!.length === 0) return
    this.#dispatching[place] = true
    // Whoever heard first: any node, and with several dispatchers not the same one.
    const node = this.nodes[Math.floor(this.#random.uniform() * this.nodes.length)]!
    this.dispatchLocks[place]!.take(() => this.#dispatchWith(node, place))
  }

  #dispatchWith(node: Node, place: number): void {
    const { webhooks, machine } = this.#scenario
    const costs = this.#costs
    const most = this.#dispatchSizes[place]!
    const events = takeMany(this.#inboxes[place]!, most)
    this.#dispatchSizes[place] = events.length === most ? Math.min(2 * most, dispatchedAtMost) : dispatchedAtFirst
    const created = events.length * webhooks
    const startedUs = this.timeline.nowUs
    const nodeUs =
      costs.dispatchNodeUs.statement + costs.dispatchNodeUs.each * events.length + costs.createNodeUs * created
    const postgresUs =
      costs.dispatchPostgresUs.statement +
      costs.dispatchPostgresUs.each * events.length +
      costs.createPostgresUs * created
    const commit = () =>
      this.#commitAndNotify(events.length * costs.dispatchLogBytes + created * costs.createLogBytes, () => {
        this.dispatchLocks[place]!.release()
        this.#dispatching[place] = false
        if (events.length === dispatchedAtMost) this.#noteFull(this.timeline.nowUs - startedUs)
        this.counts.dispatched += events.length
        this.counts.created += created
        this.timeline.after(machine.roundTripUs / 2, () => this.#hear(events))
        this.#dispatch(place)
      })
    this.#talk(node, { nodeUs, postgresUs, roundTrips: dispatchRoundTrips }, commit)
  }

  #noteFull(us: number): void {
    this.fullDispatches.count++
    this.fullDispatches.us += us
  }

  /** So many statements, one after the other, in one transaction. */
  #talk(node: Node, left: { nodeUs: number; postgresUs: number; roundTrips: number }, done: () => void): void {
    const { nodeUs, postgresUs, roundTrips } = left
    if (roundTrips === 0) {
      done()
      return
    }
    const [partOfNode, partOfPostgres] = [nodeUs / roundTrips, postgresUs / roundTrips]
    const rest = { nodeUs: nodeUs - partOfNode, postgresUs: postgresUs - partOfPostgres, roundTrips: roundTrips - 1 }
    node.thread.run(partOfNode, () => this.#ask(node, partOfPostgres, () => this.#talk(node, rest, done)))
  }

  /** Every worker hears of every event and asks for the lock that one of them has. */
  #tryInVain(): void {
    for (const node of this.nodes.slice(1)) {
      if (node.isTryingInVain) continue
      node.isTryingInVain = true
      node.thread.run(this.#costs.vainNodeUs, () =>
        this.#ask(node, this.#costs.vainPostgresUs, () => (node.isTryingInVain = false), 3),
      )
    }
  }

  #hear(events: readonly Published[]): void {
    const { webhooks } = this.#scenario
    for (const event of events) {
      for (let n = 0; n < webhooks; n++) {
        const webhook = event.branch * webhooks + n
        const node = this.nodes[webhook % this.nodes.length]!
        const lane = laneOf(node, webhook)
        lane.waiting.add(event)
        node.hungry.add(lane)
      }
    }
    for (const node of this.nodes) this.#look(node)
  }

  /** One look at a time, for all lanes that may have something. */
  #look(node: Node): void {
    if (node.isLooking) return
    const lanes = [...node.hungry].filter((lane) => lane.buffer.length === 0 && lane.sending < attemptsInLane)
    if (lanes.length === 0) return
    node.isLooking = true
    const pages = lanes.map((lane) => takeMany(lane.waiting, readAhead))
    const count = pages.reduce((sum, page) => sum + page.length, 0)
    for (const lane of lanes) if (lane.waiting.length === 0) node.hungry.delete(lane)
    const { statement, each } = this.#costs.settlePostgresUs
    this.#ask(node, readShare * (statement + each * count), () => {
      node.isLooking = false
      for (const [place, lane] of lanes.entries()) for (const event of pages[place]!) lane.buffer.add(event)
      for (const lane of lanes) this.#sendFrom(node, lane)
      this.#look(node)
    })
  }

  #sendFrom(node: Node, lane: Lane): void {
    while (
      lane.buffer.length > 0 &&
      lane.sending < attemptsInLane &&
      (node.inFlight < attemptsInNode || lane.sending === 0)
    ) {
      const event = lane.buffer.take()!
      lane.sending++
      node.inFlight++
      node.thread.run(sendShare * this.#costs.sendNodeUs, () => this.#arrive(node, lane, event))
    }
  }

  #arrive(node: Node, lane: Lane, event: Published): void {
    const receive = (answered: () => void) =>
      this.#receiver
        ? this.#receiver.run(this.#costs.receiverUs, answered)
        : this.timeline.after(this.#scenario.machine.receiverMs * 1_000, answered)
    this.counts.arrived++
    this.latenciesUs.push(this.timeline.nowUs - event.atUs)
    receive(() =>
      node.thread.run((1 - sendShare) * this.#costs.sendNodeUs, () => {
        lane.sending--
        this.#sendFrom(node, lane)
        if (lane.buffer.length === 0) this.#look(node)
        node.unsettled.add(event)
        this.#settle(node)
      }),
    )
  }

  #settle(node: Node): void {
    if (node.isSettling || node.unsettled.length === 0) return
    node.isSettling = true
    const settled = takeMany(node.unsettled, settledInStatement)
    const { settleNodeUs, settlePostgresUs, settleLogBytes } = this.#costs
    const postgresUs = (1 - readShare) * (settlePostgresUs.statement + settlePostgresUs.each * settled.length)
    this.#talk(node, { nodeUs: settleNodeUs, postgresUs, roundTrips: settleRoundTrips }, () =>
      this.log.flush(settled.length * settleLogBytes, () => {
        node.isSettling = false
        node.inFlight -= settled.length
        this.counts.settled += settled.length
        for (const lane of node.lanes.values()) this.#sendFrom(node, lane)
        this.#settle(node)
      }),
    )
  }
}

function laneOf(node: Node, webhook: number): Lane {
  const found = node.lanes.get(webhook)
  if (found) return found
  const lane = { waiting: openQueue<Published>(), buffer: openQueue<Published>(), sending: 0 }
  node.lanes.set(webhook, lane)
  return lane
}

function takeMany<Item>(queue: Queue<Item>, most: number): Item[] {
  return Array.from({ length: Math.min(most, queue.length) }, () => queue.take()!)
}
