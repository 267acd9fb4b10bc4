/**
 * One PostgreSQL with its nodes: publish → inbox, or by the short cut → dispatch → lanes → attempts → settle, in the pieces in which the gateway does
 * it. The limits are those of src/webhooks: how many events a statement, a dispatch, a look and a lane take.
 */
import type { Costs } from './costs.ts'
import { Node } from './node.ts'
import { openRandom } from './random.ts'
import { type Cores, openCores, openLock, openLog, openQueue, openThread, type Thread } from './resources.ts'
import type { Scenario } from './scenario.ts'
import { openTimeline } from './timeline.ts'
import type { Counts, Lane, Part, Published, World } from './world.ts'

const nodeCores = 2

export interface Shard extends World {
  readonly nodes: readonly Node[]
}

export function openShard(scenario: Scenario, costs: Costs): Shard {
  return new Simulation(scenario, costs)
}

class Simulation implements Shard {
  readonly timeline = openTimeline()
  readonly scenario: Scenario
  readonly costs: Costs
  readonly random
  readonly postgres: Cores
  readonly log
  readonly parts: Part[]
  readonly notifying = openLock(this.timeline)
  readonly counts: Counts = { published: 0, stored: 0, dispatched: 0, created: 0, arrived: 0, settled: 0, atOnce: 0 }
  readonly fullDispatches = { count: 0, events: 0, us: 0 }
  readonly latenciesUs: number[] = []
  readonly receiver: Thread | undefined
  readonly nodes: Node[]
  readonly #beside: Thread | undefined
  readonly #lanes = new Map<number, readonly Lane[]>()

  constructor(scenario: Scenario, costs: Costs) {
    const { machine, nodes, shards, seed } = scenario
    this.scenario = scenario
    this.costs = costs
    this.random = openRandom(seed)
    const shared = machine.sharedCores === undefined ? undefined : openCores(this.timeline, machine.sharedCores)
    this.postgres = shared ?? openCores(this.timeline, machine.postgresCores)
    this.#beside = shared && openThread(this.timeline, shared)
    this.receiver = shared && openThread(this.timeline, shared)
    this.log = openLog(this.timeline, machine.commitUs ?? costs.commitUs, machine.logMegabytesPerSecond)
    this.parts = Array.from({ length: scenario.parts }, () => ({ lock: openLock(this.timeline), inbox: openQueue() }))
    const here = Math.ceil(nodes / shards)
    this.nodes = Array.from({ length: here }, () => new Node(this, shared ?? openCores(this.timeline, nodeCores)))
    this.#publishNext(0)
  }

  tellAll(lanes: ReadonlySet<Lane>): void {
    this.timeline.after(this.scenario.machine.roundTripUs / 2, () => {
      for (const node of this.nodes) node.hear(lanes)
    })
  }

  lanesOf(branch: number): readonly Lane[] {
    const found = this.#lanes.get(branch)
    if (found) return found
    const lanes = Array.from({ length: this.scenario.webhooks }, (_, nth) => this.#openLane(branch, nth))
    this.#lanes.set(branch, lanes)
    return lanes
  }

  /** Lanes are spread over nodes by chance, as whoever comes first claims them, and stay: the lanes of a part are several nodes'. */
  #openLane(branch: number, nth: number): Lane {
    const webhook = branch * this.scenario.webhooks + nth
    const lane = {
      ...{ webhook, part: branch % this.parts.length, waiting: openQueue<Published>(), buffer: openQueue<Published>() },
      ...{ sending: 0, unsettled: 0, isDrained: true, isAwaited: false },
    }
    this.#chooseNode().add(lane)
    return lane
  }

  #chooseNode(): Node {
    return this.nodes[Math.floor(this.random.uniform() * this.nodes.length)]!
  }

  /** Requests arrive whatever becomes of them. */
  #publishNext(owed: number): void {
    const { load, shards } = this.scenario
    if (load.most !== undefined && this.counts.published >= load.most) return
    const requestsPerUs = load.eventsPerSecond / shards / load.eventsAtOnce / 1e6
    const delayUs = load.tickMs === undefined ? this.random.exponential(1 / requestsPerUs) : load.tickMs * 1_000
    this.timeline.after(delayUs, () => {
      const due = owed + (load.tickMs === undefined ? 1 : delayUs * requestsPerUs)
      for (let n = 0; n < Math.floor(due + 1e-9); n++) this.#request()
      this.#publishNext(due - Math.floor(due + 1e-9))
    })
  }

  #request(): void {
    const { load, branches, shards } = this.scenario
    const node = this.#chooseNode()
    const here = Math.max(1, Math.round(branches / shards))
    const branch = Math.floor(this.random.uniform() * here)
    const event = { atUs: this.timeline.nowUs, branch, part: branch % this.parts.length }
    const events = Array.from({ length: load.eventsAtOnce }, () => event)
    this.counts.published += events.length
    if (this.#beside) this.#beside.run(this.costs.generatorUs, () => node.accept(events))
    else node.accept(events)
  }
}
