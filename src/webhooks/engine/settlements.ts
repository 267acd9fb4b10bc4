/**
 * Writes the settlements of lanes: one statement at a time for each part, of all lanes of the part that have
 * something. Few answers linger for more to come, unless a delivery is blocked on one of them.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { Bell } from '../../concurrency/bell.ts'
import type { Database } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { dayOf } from '../events/days.ts'
import { poolOf } from '../events/part.ts'
import type { Outcome } from '../outbound/attempt.ts'
import { settle } from './kernel.sql.ts'
import type { AttemptResult, Continuations, Lane, LaneSettlement } from './lane.ts'
import { type ReceiverWords, saidBy, WrittenAnswers } from './response-texts.ts'

/** What a receiver said. */
export interface ReceiverAnswer {
  readonly outcome: Outcome
  readonly at: Date
  readonly durationMs: number
}

export type DeliveryLane = Lane<ReceiverAnswer>

/** Of one server, parts at once: the pool's other connections are for requests and housekeeping. */
const writesAtOnce = 3
const lingerMs = 50
/** The pause before a statement that the database has just refused is tried again. */
const retryMs = 250
/** So many answers of a part are worth a statement at once. */
const lingerCount = 200
/**
 * How often positions are written. Each time leaves a dead version of the cursor behind, for as long as any
 * snapshot is open; what is done ahead of them is known by its outcomes.
 */
const positionEveryMs = 10_000

interface SettlementsOptions {
  readonly db: Database
  readonly clock: Clock
}

/** What became of one statement. */
export interface SettlementResult {
  /** The settlement is written, and the lane knows it. */
  readonly settled: readonly { readonly lane: DeliveryLane; readonly replayEnded: boolean }[]
  /**
   * Refused by their epoch (a fencing token), or the connection failed before it told whether they were
   * written: the worker has to load them anew.
   */
  readonly refused: readonly DeliveryLane[]
  readonly error?: unknown
}

type LaneSettlements = ReadonlyMap<DeliveryLane, LaneSettlement<ReceiverAnswer>>

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
  readonly #answers = new WrittenAnswers()
  readonly #writing = new Set<number>()
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

  /** A lane has a new position, or a replay has advanced, without an answer. */
  touch(lane: DeliveryLane): void {
    const part = this.#partOf(lane)
    part.lanes.add(lane)
    if (!part.isWriting) this.#plan(lane.feed.part, part, false)
  }

  /**
   * What was written, statement by statement, until nothing is left to write after it was closed. One may run
   * for each part.
   */
  async *run(): AsyncGenerator<SettlementResult, void, void> {
    for (;;) {
      const number = [...this.#ripe].find((each) => this.#mayWrite(each))
      if (number !== undefined) yield* this.#write(number)
      else if (this.#isClosing && this.#writing.size === 0) return
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

  async *#write(number: number): AsyncGenerator<SettlementResult, void, void> {
    const part = this.#parts.get(number)!
    this.#ripe.delete(number)
    const settlements = this.#compose(part)
    if (settlements.size === 0) return
    part.isWriting = true
    this.#writing.add(number)
    try {
      yield await this.#execute(number, settlements)
    } finally {
      part.isWriting = false
      this.#writing.delete(number)
      this.#goOn(number, part)
    }
  }

  #compose(part: Part): LaneSettlements {
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

  /** Lanes that came while the statement ran. */
  #goOn(number: number, part: Part): void {
    if (part.lanes.size > 0)
      this.#plan(number, part, part.answers >= lingerCount || [...part.lanes].some((lane) => lane.isAwaited))
    if (this.#isClosing || this.#ripe.size > 0) this.#bell.ring()
  }

  /** A server that hangs keeps its own parts waiting, and no others. */
  #mayWrite(part: number): boolean {
    const { db } = this.#options
    const server = poolOf(db, part)
    return [...this.#writing].filter((each) => poolOf(db, each) === server).length < writesAtOnce
  }

  async #execute(part: number, settlements: LaneSettlements): Promise<SettlementResult> {
    const { db, clock } = this.#options
    const now = clock.now()
    const results = resultsOf(settlements)
    const answers = this.#answers.selectNew(
      dayOf(now),
      results.flatMap(({ words }) => words ?? []),
    )
    try {
      const columns = columnsOf(settlements, results, answers, now)
      const rows = await poolOf(db, part).query(settle, { part, now, today: dayOf(now), ...columns })
      const held = new Set(rows.flatMap((row) => (row.entity === null ? [row.webhookId] : [])))
      this.#answers.note(
        dayOf(now),
        answers.filter(({ webhookId }) => held.has(webhookId)),
      )
      const nexts = continuationsOf(rows)
      const settled = [...settlements].flatMap(([lane, settlement]) => {
        const { webhookId } = lane
        if (!held.has(webhookId)) return []
        return [{ lane, ...lane.settled(settlement, nexts.get(webhookId) ?? new Map(), now) }]
      })
      return { settled, refused: [...settlements.keys()].filter(({ webhookId }) => !held.has(webhookId)) }
    } catch (error) {
      if (!this.#isClosing) await wait(retryMs)
      // Not written a second time: the worker that loads the lane next finds what was written.
      return { settled: [], refused: [...settlements.keys()], error }
    }
  }
}

type SettledRow = RowOf<typeof settle>

function continuationsOf(rows: readonly SettledRow[]): ReadonlyMap<number, Continuations> {
  const nexts = new Map<number, Map<string, { seq: number; day: number } | undefined>>()
  for (const { webhookId, entity, next, nextDay } of rows) {
    if (entity === null) continue
    const of = nexts.get(webhookId) ?? new Map<string, { seq: number; day: number } | undefined>()
    nexts.set(webhookId, of.set(entity, next === null ? undefined : { seq: next, day: nextDay! }))
  }
  return nexts
}

interface Result extends AttemptResult<ReceiverAnswer> {
  readonly webhookId: number
  readonly words: ReceiverWords | undefined
}

function resultsOf(settlements: LaneSettlements): Result[] {
  return [...settlements].flatMap(([{ webhookId }, { results }]) =>
    results.map((result) => {
      const { outcome } = result.answer
      return { ...result, webhookId, words: saidBy(webhookId, responseOf(outcome), detailOf(outcome)) }
    }),
  )
}

/** The arrays of `settle`, group by group. */
function columnsOf(
  settlements: LaneSettlements,
  results: readonly Result[],
  answers: readonly ReceiverWords[],
  now: Date,
) {
  const lanes = [...settlements]
  const entities = results.filter(
    ({ sending, verdict }) =>
      isLive(sending) && (sending.source === 'exception' || verdict.state === 'retrying'),
  )
  const agains = [
    ...results
      .filter(
        ({ sending, verdict }) =>
          !isLive(sending) && (sending.source === 'again' || verdict.state === 'retrying'),
      )
      .map(({ webhookId, sending, verdict }) => ({
        ...sending,
        webhookId,
        attempts: sending.attempt,
        dueAt: verdict.dueAt,
      })),
    ...lanes.flatMap(([{ webhookId }, { replay }]) =>
      (replay?.deferred ?? []).map((entry) => ({
        ...entry,
        webhookId,
        round: replay!.round,
        attempts: 0,
        dueAt: now,
      })),
    ),
  ]
  const replays = lanes.flatMap(([lane, { replay }]) =>
    replay ? [{ webhookId: lane.webhookId, ...replay }] : [],
  )
  return {
    laneIds: lanes.map(([lane]) => lane.webhookId),
    laneEpochs: lanes.map(([, { epoch }]) => epoch),
    lanePositions: lanes.map(([, { position }]) => position ?? null),
    laneReads: lanes.map(([, { read }]) => read),
    laneHolds: lanes.map(([, { holdUntil }]) => (holdUntil === null ? '-infinity' : (holdUntil ?? null))),
    laneFailures: lanes.map(([, { failures }]) => failures ?? null),
    laneFailingSince: lanes.map(([, { failingSince }]) => failingSince ?? null),
    resultIds: results.map(({ webhookId }) => webhookId),
    resultSeqs: results.map(({ sending }) => sending.seq),
    resultRounds: results.map(({ sending }) => sending.round),
    resultAttempts: results.map(({ sending }) => sending.attempt),
    resultDays: results.map(({ sending }) => sending.day),
    resultMoments: results.map(({ answer }) => answer.at),
    resultDurations: results.map(({ answer }) => Math.round(answer.durationMs)),
    resultStatuses: results.map(({ answer: { outcome } }) =>
      outcome.kind === 'unreachable' ? null : outcome.status,
    ),
    resultStates: results.map(({ verdict }) => verdict.state),
    resultOutcomes: results.map(({ answer }) => answer.outcome.kind),
    resultReasons: results.map(({ answer: { outcome } }) =>
      outcome.kind === 'unreachable' ? outcome.why : null,
    ),
    resultHashes: results.map(({ words }) => words?.said ?? null),
    answerIds: answers.map(({ webhookId }) => webhookId),
    answerHashes: answers.map(({ said }) => said),
    answerResponses: answers.map(({ response }) => response ?? null),
    answerDetails: answers.map(({ detail }) => detail ?? null),
    exceptionIds: entities.map(({ webhookId }) => webhookId),
    exceptionEntities: entities.map(({ sending }) => sending.entity),
    exceptionSeqs: entities.map(({ sending }) => sending.seq),
    exceptionDays: entities.map(({ sending }) => sending.day),
    exceptionAttempts: entities.map(({ sending }) => sending.attempt),
    exceptionDues: entities.map(({ verdict }) => verdict.dueAt ?? null),
    againIds: agains.map(({ webhookId }) => webhookId),
    againSeqs: agains.map(({ seq }) => seq),
    againRounds: agains.map(({ round }) => round),
    againDays: agains.map(({ day }) => day),
    againEntities: agains.map(({ entity }) => entity),
    againAttempts: agains.map(({ attempts }) => attempts),
    againDues: agains.map(({ dueAt }) => dueAt ?? null),
    replayIds: replays.map(({ webhookId }) => webhookId),
    replayRounds: replays.map(({ round }) => round),
    replayPositions: replays.map(({ position }) => position),
    replaySent: replays.map(({ sent }) => sent),
  }
}

const isLive = ({ source }: AttemptResult<ReceiverAnswer>['sending']) =>
  source === 'new' || source === 'exception'

function responseOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'unreachable' ? undefined : outcome.response
}

function detailOf(outcome: Outcome): string | undefined {
  return outcome.kind === 'accepted' ? undefined : outcome.detail
}
