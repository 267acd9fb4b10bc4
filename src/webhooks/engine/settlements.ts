/**
 * Writes down what lanes have to have written down: one statement at a time for each part, of all lanes of the part that have something. Few answers linger
 * for more to come, unless a delivery is blocked on one of them.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { Bell } from '../../bell.ts'
import type { Clock } from '../../clock.ts'
import { plainArray, textArray } from '../../database/array-literal.ts'
import type { Database } from '../../database/database.ts'
import { dayOf } from '../events/days.ts'
import { poolOf } from '../events/part.ts'
import type { Outcome } from '../outbound/attempt.ts'
import { AnswersWritten, type ReceiverWords, saidBy } from './answers.ts'
import { settle } from './kernel.sql.ts'
import type { Answered, Lane, LaneSettlement, Nexts } from './lane.ts'

/** What a receiver said. */
export interface ReceiverAnswer {
  readonly outcome: Outcome
  readonly at: Date
  readonly durationMs: number
}

export type DeliveryLane = Lane<ReceiverAnswer>

const lingerMs = 50
/** Before the same is tried again that the database has just refused. */
const retryMs = 250
/** Enough of a part to be worth a statement at once. */
const lingerCount = 200
/** How often positions are written. Each time leaves a dead version of the cursor behind, for as long as any snapshot is open; what is done ahead of them is known by its outcomes. */
const positionEveryMs = 10_000

interface SettlementsOptions {
  readonly db: Database
  readonly clock: Clock
}

/** What became of one statement. */
export interface Written {
  /** What was composed is written down, and the lane knows it. */
  readonly settled: readonly { readonly lane: DeliveryLane; readonly replayEnded: boolean }[]
  /** Refused by their epoch (a fencing token), or nobody knows whether they were written: they are to be loaded anew. */
  readonly refused: readonly DeliveryLane[]
  readonly error?: unknown
}

type Composed = ReadonlyMap<DeliveryLane, LaneSettlement<ReceiverAnswer>>

class Part {
  readonly lanes = new Set<DeliveryLane>()
  answers = 0
  timer: NodeJS.Timeout | undefined
  isWriting = false
  writtenMs = 0
}

export class Settlements {
  readonly #options: SettlementsOptions
  readonly #parts = new Map<number, Part>()
  /** Parts that are to be written now, in their order. */
  readonly #ripe = new Set<number>()
  readonly #bell = new Bell()
  readonly #answers = new AnswersWritten()
  #writing = 0
  #isClosing = false

  constructor(options: SettlementsOptions) {
    this.#options = options
  }

  /** A lane has an answer that is to be written down. */
  note(lane: DeliveryLane): void {
    const part = this.#partOf(lane)
    part.lanes.add(lane)
    part.answers++
    if (!part.isWriting) this.#plan(lane.feed.part, part, part.answers >= lingerCount || lane.isAwaited)
  }

  /** A lane has a position, or a replay has come further, without an answer. */
  touch(lane: DeliveryLane): void {
    const part = this.#partOf(lane)
    part.lanes.add(lane)
    if (!part.isWriting) this.#plan(lane.feed.part, part, false)
  }

  /** What was written, statement by statement, until nothing is left to write after it was closed. As many may run as parts are written at once. */
  async *run(): AsyncGenerator<Written, void, void> {
    for (;;) {
      const [number] = this.#ripe
      if (number !== undefined) yield* this.#write(number)
      else if (this.#isClosing && this.#writing === 0) return
      else await this.#bell.rung
    }
  }

  /** Writes at once from here on. */
  close(): void {
    this.#isClosing = true
    for (const [number, part] of this.#parts) if (!part.isWriting) this.#plan(number, part, true)
    this.#bell.ring()
  }

  #partOf({ feed }: DeliveryLane): Part {
    const known = this.#parts.get(feed.part) ?? new Part()
    this.#parts.set(feed.part, known)
    return known
  }

  #plan(number: number, part: Part, isUrgent: boolean): void {
    if (!isUrgent && !this.#isClosing) {
      part.timer ??= setTimeout(() => this.#plan(number, part, true), lingerMs)
      return
    }
    clearTimeout(part.timer)
    part.timer = undefined
    if (part.isWriting || part.lanes.size === 0) return
    this.#ripe.add(number)
    this.#bell.ring()
  }

  async *#write(number: number): AsyncGenerator<Written, void, void> {
    const part = this.#parts.get(number)!
    this.#ripe.delete(number)
    const composed = this.#compose(part)
    if (composed.size === 0) return
    part.isWriting = true
    this.#writing++
    try {
      yield await this.#execute(number, composed)
    } finally {
      part.isWriting = false
      this.#writing--
      this.#goOn(number, part)
    }
  }

  #compose(part: Part): Composed {
    const nowMs = performance.now()
    const isThorough = this.#isClosing || nowMs - part.writtenMs >= positionEveryMs
    if (isThorough) part.writtenMs = nowMs
    const composed = new Map<DeliveryLane, LaneSettlement<ReceiverAnswer>>()
    for (const lane of part.lanes) {
      const settlement = lane.compose(isThorough, this.#options.clock.now())
      if (settlement) composed.set(lane, settlement)
    }
    part.lanes.clear()
    part.answers = 0
    return composed
  }

  /** What came meanwhile. */
  #goOn(number: number, part: Part): void {
    if (part.lanes.size > 0)
      this.#plan(number, part, part.answers >= lingerCount || [...part.lanes].some((lane) => lane.isAwaited))
    if (this.#isClosing) this.#bell.ring()
  }

  async #execute(part: number, composed: Composed): Promise<Written> {
    const { db, clock } = this.#options
    const now = clock.now()
    const results = resultsOf(composed)
    const answers = this.#answers.selectNew(
      dayOf(now),
      results.flatMap(({ words }) => words ?? []),
    )
    try {
      const rows = await poolOf(db, part).query<SettledRow>(settle, [
        part,
        now,
        dayOf(now),
        ...columnsOf(composed, results, answers, now),
      ])
      const held = new Set(rows.flatMap((row) => (row.entity === null ? [row.webhookId] : [])))
      this.#answers.note(
        dayOf(now),
        answers.filter(({ webhookId }) => held.has(webhookId)),
      )
      const nexts = nextsOf(rows)
      const settled = [...composed].flatMap(([lane, settlement]) => {
        const { webhookId } = lane
        if (!held.has(webhookId)) return []
        return [{ lane, ...lane.settled(settlement, nexts.get(webhookId) ?? new Map(), now) }]
      })
      return { settled, refused: [...composed.keys()].filter(({ webhookId }) => !held.has(webhookId)) }
    } catch (error) {
      if (!this.#isClosing) await wait(retryMs)
      // Never told again: what was written is found by whoever loads.
      return { settled: [], refused: [...composed.keys()], error }
    }
  }
}

interface SettledRow {
  readonly webhookId: number
  readonly entity: string | null
  readonly next: number | null
  readonly nextDay: number | null
}

function nextsOf(rows: readonly SettledRow[]): ReadonlyMap<number, Nexts> {
  const nexts = new Map<number, Map<string, { seq: number; day: number } | undefined>>()
  for (const { webhookId, entity, next, nextDay } of rows) {
    if (entity === null) continue
    const of = nexts.get(webhookId) ?? new Map<string, { seq: number; day: number } | undefined>()
    nexts.set(webhookId, of.set(entity, next === null ? undefined : { seq: next, day: nextDay! }))
  }
  return nexts
}

interface Result extends Answered<ReceiverAnswer> {
  readonly webhookId: number
  readonly words: ReceiverWords | undefined
}

function resultsOf(composed: Composed): Result[] {
  return [...composed].flatMap(([{ webhookId }, { results }]) =>
    results.map((result) => {
      const { outcome } = result.answer
      return { ...result, webhookId, words: saidBy(webhookId, responseOf(outcome), detailOf(outcome)) }
    }),
  )
}

/** The arrays of `settle`, group by group. */
function columnsOf(
  composed: Composed,
  results: readonly Result[],
  answers: readonly ReceiverWords[],
  now: Date,
): string[] {
  const lanes = [...composed]
  const entities = results.filter(
    ({ sending, verdict }) => isLive(sending) && (sending.source === 'exception' || verdict.state === 'retrying'),
  )
  const agains = [
    ...results
      .filter(
        ({ sending, verdict }) => !isLive(sending) && (sending.source === 'again' || verdict.state === 'retrying'),
      )
      .map(({ webhookId, sending, verdict }) => ({
        ...sending,
        webhookId,
        attempts: sending.attempt,
        dueAt: verdict.dueAt,
      })),
    ...lanes.flatMap(([{ webhookId }, { replay }]) =>
      (replay?.deferred ?? []).map((entry) => ({ ...entry, webhookId, round: replay!.round, attempts: 0, dueAt: now })),
    ),
  ]
  const replays = lanes.flatMap(([lane, { replay }]) => (replay ? [{ webhookId: lane.webhookId, ...replay }] : []))
  return [
    plainArray(lanes.map(([lane]) => lane.webhookId)),
    plainArray(lanes.map(([, { epoch }]) => epoch)),
    plainArray(lanes.map(([, { position }]) => position ?? null)),
    plainArray(lanes.map(([, { read }]) => read)),
    plainArray(lanes.map(([, { holdUntil }]) => (holdUntil === null ? '-infinity' : printInstant(holdUntil)))),
    plainArray(lanes.map(([, { failures }]) => failures ?? null)),
    plainArray(lanes.map(([, { failingSince }]) => printInstant(failingSince))),
    plainArray(results.map(({ webhookId }) => webhookId)),
    plainArray(results.map(({ sending }) => sending.seq)),
    plainArray(results.map(({ sending }) => sending.round)),
    plainArray(results.map(({ sending }) => sending.attempt)),
    plainArray(results.map(({ sending }) => sending.day)),
    plainArray(results.map(({ answer }) => printInstant(answer.at))),
    plainArray(results.map(({ answer }) => Math.round(answer.durationMs))),
    plainArray(results.map(({ answer: { outcome } }) => (outcome.kind === 'unreachable' ? null : outcome.status))),
    plainArray(results.map(({ verdict }) => verdict.state)),
    plainArray(results.map(({ answer }) => answer.outcome.kind)),
    plainArray(results.map(({ answer: { outcome } }) => (outcome.kind === 'unreachable' ? outcome.why : null))),
    plainArray(results.map(({ words }) => words?.said ?? null)),
    plainArray(answers.map(({ webhookId }) => webhookId)),
    plainArray(answers.map(({ said }) => said)),
    textArray(answers.map(({ response }) => response)),
    textArray(answers.map(({ detail }) => detail)),
    plainArray(entities.map(({ webhookId }) => webhookId)),
    textArray(entities.map(({ sending }) => sending.entity)),
    plainArray(entities.map(({ sending }) => sending.seq)),
    plainArray(entities.map(({ sending }) => sending.day)),
    plainArray(entities.map(({ sending }) => sending.attempt)),
    plainArray(entities.map(({ verdict }) => printInstant(verdict.dueAt))),
    plainArray(agains.map(({ webhookId }) => webhookId)),
    plainArray(agains.map(({ seq }) => seq)),
    plainArray(agains.map(({ round }) => round)),
    plainArray(agains.map(({ day }) => day)),
    textArray(agains.map(({ entity }) => entity)),
    plainArray(agains.map(({ attempts }) => attempts)),
    plainArray(agains.map(({ dueAt }) => printInstant(dueAt))),
    plainArray(replays.map(({ webhookId }) => webhookId)),
    plainArray(replays.map(({ round }) => round)),
    plainArray(replays.map(({ position }) => position)),
    plainArray(replays.map(({ sent }) => sent)),
  ]
}

const isLive = ({ source }: Answered<ReceiverAnswer>['sending']) => source === 'new' || source === 'exception'

function responseOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'unreachable' ? undefined : outcome.response
}

function detailOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'accepted' ? undefined : outcome.detail
}

function printInstant(at: Date | undefined): string | null {
  return at ? at.toISOString() : null
}
