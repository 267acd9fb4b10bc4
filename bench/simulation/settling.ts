/** How a node writes down what became of attempts: few of all parts together, many a part at a time, under the locks; a lone one waits for company. */
import { type Process, start } from './process.ts'
import { lockAll, unlockAll } from './publishing.ts'
import { commit, compute, type Equipment, type Lane, travel, type World } from './world.ts'

export const settledInStatement = 500
const fewAtMost = 50
const transactionsAtOnce = 2
const companyUs = 20_000
const enoughCompany = 8

export interface SettlingNode extends Equipment {
  settled(lane: Lane): void
}

export class Settling {
  readonly #world: World
  readonly #node: SettlingNode
  readonly #waiting = new Map<number, Lane[]>()
  readonly #underWay = new Set<number>()
  #count = 0
  #transactions = 0
  #isScheduled = false
  #isHurried = false
  /** Moves on with every start: a patience of before is over. */
  #starts = 0
  #isPatient = false

  constructor(world: World, node: SettlingNode) {
    this.#world = world
    this.#node = node
  }

  settle(lane: Lane): void {
    const waiting = this.#waiting.get(lane.part) ?? []
    this.#waiting.set(lane.part, waiting)
    waiting.push(lane)
    this.#count++
    if (lane.isAwaited) this.hurry()
    else this.#schedule()
  }

  hurry(): void {
    this.#isHurried = this.#count > 0
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isHurried || this.#count >= enoughCompany) this.#start()
    else if (this.#count > 0 && !this.#isPatient) this.#waitForCompany()
  }

  #waitForCompany(): void {
    const starts = this.#starts
    this.#isPatient = true
    this.#world.timeline.after(companyUs, () => {
      if (starts !== this.#starts) return
      this.#isPatient = false
      this.hurry()
    })
  }

  #start(): void {
    this.#starts++
    this.#isPatient = false
    if (this.#isScheduled || this.#transactions >= transactionsAtOnce) return
    this.#isScheduled = true
    this.#node.thread.run(this.#world.costs.settleNodeUs, () => {
      this.#isScheduled = false
      const parts = this.#choose()
      if (parts.length === 0) return
      start(this.#flush(parts))
      this.#isHurried &&= this.#count > 0
      this.#schedule()
    })
  }

  #choose(): readonly number[] {
    const free = [...this.#waiting].filter(([part, items]) => items.length > 0 && !this.#underWay.has(part))
    const count = free.reduce((sum, [, items]) => sum + items.length, 0)
    const inOrder = free.sort(([, a], [, b]) => b.length - a.length).map(([part]) => part)
    if (count > fewAtMost) return inOrder.slice(0, 1)
    return this.#transactions === 0 ? inOrder : []
  }

  *#flush(parts: readonly number[]): Process {
    const { costs, counts } = this.#world
    const taken = parts.flatMap((part) => this.#waiting.get(part)!.splice(0, settledInStatement))
    this.#count -= taken.length
    for (const part of parts) this.#underWay.add(part)
    this.#transactions++
    yield this.#node.connections.take
    yield travel(this.#world)
    const inOrder = [...parts].sort((a, b) => a - b)
    yield* lockAll(this.#world, inOrder)
    yield compute(this.#world, costs.settlePostgresUs.statement + costs.settlePostgresUs.each * taken.length)
    yield commit(this.#world, taken.length * costs.settleLogBytes)
    unlockAll(this.#world, inOrder)
    this.#node.connections.release()
    counts.settled += taken.length
    this.#transactions--
    for (const part of parts) this.#underWay.delete(part)
    for (const lane of taken) this.#node.settled(lane)
    this.#schedule()
  }
}
