/**
 * Steps real transactions through every order of their statements, on a real PostgreSQL. Each player is an operation of the engine on a connection of its own that
 * waits at a gate before every statement and every commit; the stage lets one of them go on at a time. A player that waits
 * for a lock is left waiting, and the others go on. The stage plays again and again until no order is left that could end
 * differently: two steps that touch nothing in common are not played in both orders, and of two players that do the same
 * the first goes first. The term for it is partial order reduction, with symmetry.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { type Database, type Sql, type Statement, statement } from '../../src/database/database.ts'
import { patienceMs } from './patience.ts'
import { openPatiently } from './patiently.ts'
import { committing, isIndependent, type Step, stepOf } from './step.ts'

/** To look costs PostgreSQL something: whoever takes longer is looked at less often. */
const lookAgainMs = 2
const lookAtLeastEveryMs = 50

export interface Player {
  readonly name: string
  /** What it does: of several that do the same, it does not matter which begins. */
  readonly act: string
  run(db: Database): Promise<unknown>
}

/** Played once, on what was prepared for it. */
export interface Scene {
  readonly players: readonly Player[]
  /** Not worth a gate: it concerns what nobody else in the scene touches. */
  readonly ignores: (statement: Statement, values: readonly unknown[]) => boolean
}

export interface Stage {
  /** Plays every order; `check` is called after each. Answers how many there were. */
  playAll(prepare: () => Promise<Scene>, check: (order: readonly string[]) => Promise<void>): Promise<number>
  close(): Promise<void>
}

class Actor {
  readonly name: string
  readonly act: string
  readonly pid: number
  /** What it does next, when it is let; undefined while it runs and when it is done. */
  next: Step | undefined
  last: Step | undefined
  done = false
  error: unknown
  /** By itself: it is waited for. */
  givesUp = false
  #go: (() => void) | undefined
  #turn: Promise<unknown> = Promise.resolve()
  readonly #moved: () => void

  constructor(player: Player, db: Database, pid: number, scene: Scene, moved: () => void) {
    this.name = player.name
    this.act = player.act
    this.pid = pid
    this.#moved = moved
    const run = async () => player.run(this.#gated(db, scene))
    void run()
      .catch((error: unknown) => {
        this.error = error
      })
      .finally(() => {
        this.done = true
        moved()
      })
  }

  get isRunning(): boolean {
    return !this.done && this.next === undefined
  }

  go(): void {
    this.last = this.next
    this.next = undefined
    this.#go!()
  }

  #gate(step: Step): Promise<void> {
    return new Promise((go) => {
      this.#go = go
      this.next = step
      this.#moved()
    })
  }

  #gated(db: Database, { ignores }: Scene): Database {
    const over = (sql: Sql, done: Step[] | undefined): Sql => ({
      // Those that leave together go one after the other.
      query: <Row extends object>(asked: Statement, values: readonly unknown[] = []) =>
        this.#inTurn(async () => {
          const step = stepOf(asked, values, done === undefined)
          if (step && !ignores(asked, values)) {
            done?.push(step)
            await this.#gate(step)
          }
          if (!/lock_timeout/.test(asked.text)) return sql.query<Row>(asked, values)
          this.givesUp = true
          await sql.script('SET LOCAL lock_timeout = 1')
          return []
        }),
      copy: (text, rows) => sql.copy(text, rows),
      script: async (text) => {
        const step = stepOf(statement('script', text), [], done === undefined)
        if (step && !ignores(statement('script', text), [])) {
          done?.push(step)
          await this.#gate(step)
        }
        const patience = /lock_timeout = \d+/
        this.givesUp = patience.test(text)
        // Nobody goes on while it waits: it might as well give up at once.
        await sql.script(text.replace(patience, 'lock_timeout = 1'))
      },
    })
    const played: Database = {
      ...db,
      ...over(db, undefined),
      together: <Row extends object>(steps: readonly (readonly [Statement, readonly unknown[]])[]) =>
        played.transaction(async (sql) => {
          const answers: Row[][] = []
          for (const [asked, values] of steps) answers.push(await sql.query<Row>(asked, values))
          return answers
        }),
      transaction: (work) => {
        const running = db.transaction(async (sql) => {
          const done: Step[] = []
          const result = await work(over(sql, done))
          const commit = committing(done)
          if (commit) await this.#gate(commit)
          return result
        })
        return running.finally(() => {
          this.givesUp = false
        })
      },
    }
    return played
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

/** Whether it stands where one before it stands that does the same, and nobody has seen so far which of them is which: then that one goes on. */
function isTwin({ name, act, next }: Actor, before: readonly Actor[], gone: readonly Done[]): boolean {
  const stepsOf = (actor: string) => gone.filter((each) => each.name === actor)
  return before.some((other) => {
    if (other.act !== act || other.next?.name !== next!.name) return false
    const [own, others] = [stepsOf(name), stepsOf(other.name)]
    return own.length === others.length && [...own, ...others].every((step) => isUnseen(step, gone))
  })
}

function isUnseen({ name, step }: Done, gone: readonly Done[]): boolean {
  return gone.every((other) => other.name === name || isIndependent(step, other.step))
}

/** A moment at which somebody was chosen. */
interface Choice {
  readonly nexts: ReadonlyMap<string, Step>
  /** Whoever else is worth being chosen here. */
  readonly worthwhile: Set<string>
  /** Going on with these leads nowhere new. */
  readonly asleep: Set<string>
  chosen: string
  /** Whoever waited and could go on because of it. */
  woken: readonly Done[]
}

interface Done {
  readonly name: string
  readonly step: Step
}

function doneBy(actor: Actor): Done {
  return { name: actor.name, step: actor.last! }
}

/** What happened at that moment. */
function happened({ nexts, chosen, woken }: Choice): readonly Done[] {
  return [{ name: chosen, step: nexts.get(chosen)! }, ...woken]
}

export function openStage(connectionString: string, seats: number): Stage {
  const monitor = openPatiently({ connectionString, connections: 1 })
  const seated = Array.from({ length: seats }, () => openPatiently({ connectionString, connections: 1 }))

  async function play(scene: Scene, path: Choice[]): Promise<{ order: string[]; isNew: boolean; errors: unknown[] }> {
    let wake = () => {}
    const sat = await Promise.all(seated.map((db) => db.query<{ pid: number }>(sitDown)))
    const actors = scene.players.map(
      (player, place) => new Actor(player, seated[place]!, sat[place]![0]!.pid, scene, () => wake()),
    )
    const move = () => new Promise<void>((woken) => (wake = woken))
    const order: string[] = []
    const gone: Done[] = []
    let isNew = true
    let waiting: readonly Actor[] = []
    for (let depth = 0; ; depth++) {
      const stillWaiting = await untilQuiet(actors, move)
      const last = path[depth - 1]
      if (last) last.woken = waiting.filter((actor) => !stillWaiting.includes(actor)).map(doneBy)
      waiting = stillWaiting
      const ready = actors.filter((actor, place) => actor.next && !isTwin(actor, actors.slice(0, place), gone))
      if (ready.length === 0) break
      if (isNew && !path[depth]) {
        const made = nextChoice(last, new Map(ready.map((actor) => [actor.name, actor.next!])))
        if (made) path.push(made)
        else isNew = false
      }
      const chosen = ready.find((actor) => actor.name === path[depth]?.chosen) ?? ready[0]!
      order.push(`${chosen.name}: ${chosen.next!.name}`)
      chosen.go()
      gone.push(doneBy(chosen))
    }
    noteWorthwhile(path)
    return { order, isNew, errors: actors.flatMap((actor) => (actor.error ? [actor.error] : [])) }
  }

  /** Until everybody is at a gate, done, or waits for the lock of somebody who does not go on by himself; who waits so. */
  async function untilQuiet(actors: readonly Actor[], move: () => Promise<void>): Promise<readonly Actor[]> {
    const giveUpAt = performance.now() + patienceMs
    const pids = actors.map((actor) => actor.pid)
    for (let pauseMs = lookAgainMs; ; pauseMs = Math.min(2 * pauseMs, lookAtLeastEveryMs)) {
      const running = actors.filter((actor) => actor.isRunning)
      if (running.length === 0) return []
      await Promise.race([move(), wait(pauseMs)])
      if (!running.every((actor) => actor.isRunning)) continue
      const asked = running.filter((actor) => !actor.givesUp).map((actor) => actor.pid)
      const blocked = await monitor.query<{ pid: number }>(selectBlocked, [asked, pids])
      const isStill = blocked.length === running.length && running.every((actor) => actor.isRunning)
      // Where nobody is at a gate, they wait for each other: PostgreSQL ends the circle.
      if (isStill && actors.some((actor) => actor.next)) return running
      if (performance.now() > giveUpAt) throw new Error(`${running.map((actor) => actor.name)} got stuck`)
    }
  }

  return {
    async playAll(prepare, check) {
      const path: Choice[] = []
      let played = 0
      do {
        const { order, isNew, errors } = await play(await prepare(), path)
        if (errors.length > 0) throw new AggregateError(errors, `${errors[0]} in ${order.join(' → ')}`)
        await check(order)
        if (isNew) played++
      } while (turnBack(path))
      return played
    },
    async close() {
      await Promise.all([monitor.close(), ...seated.map((db) => db.close())])
    },
  }
}

const selectBlocked = statement(
  '',
  `SELECT pid FROM unnest($1::int[]) AS pid
   WHERE cardinality(pg_blocking_pids(pid)) > 0 AND pg_blocking_pids(pid) <@ $2::int[]`,
)

/**
 * Whoever waits at a gate is idle in its transaction, for as long as the others take. A circle is ended as late as in production: whoever waits for a lock
 * for a moment only has given up by then, on a busy machine too.
 */
const sitDown = statement(
  '',
  `SELECT pg_backend_pid() AS pid, set_config('idle_in_transaction_session_timeout', '0', false), set_config('deadlock_timeout', '1s', false)`,
)

/** Undefined when each of those who could go on leads to an order that was played already. */
function nextChoice(last: Choice | undefined, nexts: ReadonlyMap<string, Step>): Choice | undefined {
  const isUnmoved = (name: string) =>
    nexts.has(name) && happened(last!).every(({ step }) => isIndependent(last!.nexts.get(name)!, step))
  const asleep = new Set([...(last?.asleep ?? [])].filter(isUnmoved))
  const chosen = [...nexts.keys()].find((name) => !asleep.has(name))
  return chosen === undefined ? undefined : { nexts, asleep, chosen, worthwhile: new Set(), woken: [] }
}

/** Of two steps that do not go unseen by each other, the later one is tried at the moment of the earlier. */
function noteWorthwhile(path: readonly Choice[]): void {
  for (const [later, choice] of path.entries()) {
    for (const { name, step } of happened(choice)) {
      const meets = (done: Done) => done.name !== name && !isIndependent(done.step, step)
      const earlier = path.findLast((before, place) => place < later && happened(before).some(meets))
      const tried = earlier?.nexts.has(name) ? [name] : (earlier?.nexts.keys() ?? [])
      for (const each of tried) earlier!.worthwhile.add(each)
    }
  }
}

/** To the last moment at which somebody else could have gone first; false when there is none. */
function turnBack(path: Choice[]): boolean {
  for (let last = path.at(-1); last; path.pop(), last = path.at(-1)) {
    const { worthwhile, asleep, chosen } = last
    asleep.add(chosen)
    const other = [...worthwhile].find((name) => !asleep.has(name))
    if (other === undefined) continue
    last.chosen = other
    return true
  }
  return false
}
