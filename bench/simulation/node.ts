/** One node: it accepts, dispatches, delivers and settles, all on one thread and with ten connections. */
import { Delivering } from './delivering.ts'
import { Dispatching } from './dispatching.ts'
import { Publishing } from './publishing.ts'
import { type Connections, type Cores, openConnections, openThread, type Thread } from './resources.ts'
import { Settling } from './settling.ts'
import { Telling } from './telling.ts'
import type { Lane, Published, World } from './world.ts'

const connectionsOfNode = 10
const second = 1e6

export class Node {
  readonly thread: Thread
  readonly connections: Connections = openConnections(connectionsOfNode)
  readonly #world: World
  readonly #publishing: Publishing
  readonly #dispatching: Dispatching
  readonly #delivering: Delivering
  readonly #settling: Settling
  readonly #telling: Telling

  constructor(world: World, cores: Cores) {
    this.#world = world
    this.thread = openThread(world.timeline, cores)
    this.#delivering = new Delivering(world, this)
    this.#settling = new Settling(world, this)
    this.#telling = new Telling(world, this)
    this.#dispatching = new Dispatching(world, this)
    this.#publishing = new Publishing(world, this)
    this.#lookAround()
  }

  accept(events: readonly Published[]): void {
    this.#publishing.accept(events)
  }

  wake(part: number): void {
    this.#dispatching.wake(part)
  }

  isOpen(part: number): boolean {
    return this.#dispatching.isQuiet(part) && this.#delivering.hasRoom
  }

  add(lane: Lane): void {
    this.#delivering.add(lane)
  }

  holds(lane: Lane): boolean {
    return this.#delivering.holds(lane)
  }

  takeInHand(lane: Lane, event: Published): void {
    this.#delivering.takeInHand(lane, event)
  }

  hear(lanes: ReadonlySet<Lane>): void {
    this.thread.run(this.#world.costs.hearNodeUs, () => this.#delivering.hear(lanes))
  }

  tell(lanes: ReadonlySet<Lane>): void {
    this.#telling.tell(lanes)
  }

  settle(lane: Lane): void {
    this.#settling.settle(lane)
  }

  hurry(): void {
    this.#settling.hurry()
  }

  settled(lane: Lane): void {
    this.#delivering.settled(lane)
  }

  /** What a node does when there is nothing to do. */
  #lookAround(): void {
    const { timeline, postgres, costs } = this.#world
    timeline.after(second, () => {
      this.thread.run(costs.idleNodeUs, () => {})
      postgres.run(costs.idlePostgresUs, () => {})
      this.#lookAround()
    })
  }
}
