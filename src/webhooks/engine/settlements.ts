/**
 * Writes down what lanes have to have written down: one statement at a time for each part, of all lanes of the part that have something. Few answers linger
 * for more to come, unless a delivery is blocked on one of them.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { plainArray, textArray } from '../../database/array-literal.ts'
import type { Database } from '../../database/database.ts'
import { dayOf } from '../events/days.ts'
import type { Outcome } from '../outbound/attempt.ts'
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
/** At once, of different parts: the other connections are for whoever else wants something. */
const writesAtMost = 3
/** How often positions are written. */
const positionEveryMs = 1_000

interface SettlementsOptions {
  readonly db: Database
  readonly clock: Clock
  /** What was composed is written down, and the lane knows it. */
  readonly settled: (lane: DeliveryLane, settlement: LaneSettlement<ReceiverAnswer>, replayEnded: boolean) => void
  /** The lane was refused by its epoch (a fencing token), or nobody knows whether it was written: it is loaded anew. */
  readonly refused: (lane: DeliveryLane, settlement: LaneSettlement<ReceiverAnswer>) => void
  readonly failed: (error: unknown) => void
}

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
  readonly #writing = new Set<Promise<void>>()
  readonly #waiting = new Set<number>()
  #isClosing = false

  constructor(options: SettlementsOptions) {
    this.#options = options
  }

  /** A lane has an answer that is to be written down. */
  note(lane: DeliveryLane): void {
    const part = this.#partOf(lane)
    part.lanes.add(lane)
    part.answers++
    if (part.isWriting) return
    if (this.#isClosing || part.answers >= lingerCount || lane.isAwaited) this.#write(lane.feed.part)
    else part.timer ??= setTimeout(() => this.#write(lane.feed.part), lingerMs)
  }

  /** A lane has a position, or a replay has come further, without an answer. */
  touch(lane: DeliveryLane): void {
    const part = this.#partOf(lane)
    part.lanes.add(lane)
    if (!part.isWriting) part.timer ??= setTimeout(() => this.#write(lane.feed.part), lingerMs)
  }

  /** Writes at once from here on, and answers when nothing is left to write. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const part of this.#parts.keys()) this.#write(part)
    while (this.#writing.size > 0) await Promise.all(this.#writing)
  }

  #partOf({ feed }: DeliveryLane): Part {
    const known = this.#parts.get(feed.part) ?? new Part()
    this.#parts.set(feed.part, known)
    return known
  }

  #write(number: number): void {
    const part = this.#parts.get(number)!
    clearTimeout(part.timer)
    part.timer = undefined
    if (part.isWriting || part.lanes.size === 0) return
    if (this.#writing.size >= writesAtMost) {
      this.#waiting.add(number)
      return
    }
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
    if (composed.size === 0) return
    part.isWriting = true
    const writing = this.#execute(number, composed).finally(() => {
      part.isWriting = false
      this.#writing.delete(writing)
      this.#goOn(number, part)
      this.#writeNext()
    })
    this.#writing.add(writing)
  }

  /** Whoever waited for one of the places; the answers that came meanwhile go with it. */
  #writeNext(): void {
    const [number] = this.#waiting
    if (number === undefined) return
    this.#waiting.delete(number)
    this.#write(number)
  }

  /** What came meanwhile. */
  #goOn(number: number, part: Part): void {
    if (part.lanes.size === 0) return
    const isUrgent = this.#isClosing || part.answers >= lingerCount || [...part.lanes].some((lane) => lane.isAwaited)
    if (isUrgent) this.#write(number)
    else part.timer ??= setTimeout(() => this.#write(number), lingerMs)
  }

  async #execute(part: number, composed: ReadonlyMap<DeliveryLane, LaneSettlement<ReceiverAnswer>>): Promise<void> {
    const { db, clock, settled, refused, failed } = this.#options
    const now = clock.now()
    try {
      const rows = await db.query<SettledRow>(settle, [part, now, dayOf(now), ...columnsOf(composed, now)])
      const held = new Set(rows.flatMap((row) => (row.entity === null ? [row.webhookId] : [])))
      const nexts = nextsOf(rows)
      for (const [lane, settlement] of composed) {
        if (!held.has(lane.webhookId)) refused(lane, settlement)
        else
          settled(lane, settlement, lane.settled(settlement, nexts.get(lane.webhookId) ?? new Map(), now).replayEnded)
      }
    } catch (error) {
      failed(error)
      if (!this.#isClosing) await wait(retryMs)
      // Never told again: what was written is found by whoever loads.
      for (const [lane, settlement] of composed) refused(lane, settlement)
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

/** The arrays of `settle`, group by group. */
function columnsOf(composed: ReadonlyMap<DeliveryLane, LaneSettlement<ReceiverAnswer>>, now: Date): string[] {
  const lanes = [...composed]
  const results = lanes.flatMap(([lane, { results }]) =>
    results.map((result) => ({ ...result, webhookId: lane.webhookId })),
  )
  const answers = results.filter(hasText)
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
    plainArray(answers.map(({ webhookId }) => webhookId)),
    plainArray(answers.map(({ sending }) => sending.seq)),
    plainArray(answers.map(({ sending }) => sending.round)),
    plainArray(answers.map(({ sending }) => sending.attempt)),
    textArray(answers.map(({ answer }) => responseOf(answer.outcome))),
    textArray(answers.map(({ answer }) => detailOf(answer.outcome))),
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

function hasText({ answer: { outcome } }: Answered<ReceiverAnswer>): boolean {
  return Boolean(responseOf(outcome)) || detailOf(outcome) !== undefined
}

function responseOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'unreachable' ? undefined : outcome.response
}

function detailOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'accepted' ? undefined : outcome.detail
}

function printInstant(at: Date | undefined): string | null {
  return at ? at.toISOString() : null
}
