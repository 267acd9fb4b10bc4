/** How a node tells others of what is new in their lanes: outside the transaction that it tells of, by a commit that notifies. */
import { type Process, start } from './process.ts'
import { commit, compute, type Equipment, type Lane, travel, type World } from './world.ts'

export class Telling {
  readonly #world: World
  readonly #node: Equipment
  #untold = new Set<Lane>()

  constructor(world: World, node: Equipment) {
    this.#world = world
    this.#node = node
  }

  tell(lanes: ReadonlySet<Lane>): void {
    const { tellEveryMs } = this.#world.scenario
    const isPlanned = this.#untold.size > 0
    for (const lane of lanes) this.#untold.add(lane)
    if (tellEveryMs === 0) this.#tellAll()
    else if (!isPlanned) this.#world.timeline.after(tellEveryMs * 1_000, () => this.#tellAll())
  }

  #tellAll(): void {
    const lanes = this.#untold
    this.#untold = new Set()
    start(this.#notify(lanes))
  }

  *#notify(lanes: ReadonlySet<Lane>): Process {
    const { costs, notifying } = this.#world
    yield this.#node.connections.take
    yield travel(this.#world)
    yield compute(this.#world, costs.notifyPostgresUs)
    yield (done) => notifying.take(() => done())
    yield commit(this.#world, costs.notifyLogBytes)
    notifying.release()
    this.#node.connections.release()
    this.#world.tellAll(lanes)
  }
}
