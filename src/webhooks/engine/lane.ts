/**
 * A webhook's place in the log of its feed, as the worker that holds it remembers it: what it has read and
 * not finished, which entities fail, what was asked for again, what is in the air, and which answers are to
 * be written down. It sends nothing and writes nothing itself: `next` says what may be sent, `compose` what
 * is to be written, and it alone assigns its fields. docs/delivery.md draws its states.
 *
 * The rules are those of the model in test/engine. The next of an entity goes when the one before is settled,
 * not when it is answered (head-of-line blocking, of that entity alone). What is sent and not settled is
 * bounded. Failing entities and what may become one are bounded: that is asked before something new is sent,
 * and retries go on.
 */

import { type Filter, isWanted, type LogEntry } from '../events/entry.ts'
import type { Feed } from '../events/feed.ts'
import { Breaker } from './breaker.ts'

export const attemptsAtOnce = 10
/**
 * Sent and not settled: so many a crash would send again, and so many may go out after a pause that the
 * worker has not heard of yet.
 */
const unsettledAtMost = 100
/** Read and not sent. */
const queuedAtMost = 50
const queuedBytesAtMost = 256 * 1024
/** Entities that fail. */
export const exceptionsAtMost = 1_000
/** Asked for again, and waiting: a replay that meets more waits for them. */
const againsAtMost = 1_000
/** Read above the position: a worker that takes the lane over has to read as many again. */
const windowAtMost = 10_000
/** So many finished entries ahead of the written position make it due to be written. Fewer have time. */
const positionAhead = 1_000
/** Retries leave a fifth of the concurrent attempts to new entries, and new entries a fifth to retries. */
const fifth = (slots: number) => (slots > 1 ? Math.max(1, Math.floor(slots / 5)) : 0)

export interface CursorRow {
  readonly webhookId: number
  readonly feed: number
  readonly position: number
  readonly epoch: number
  readonly holder: number | null
  readonly isOpen: boolean
  readonly term: number
  readonly triedIn: number | null
  readonly failures: number
  readonly failingSince: Date | null
  readonly holdUntil: Date | null
  readonly heldAt: Date | null
  readonly passed: number
}

/** The first unfinished entry of an entity that fails. */
export interface ExceptionRow {
  readonly entity: string
  readonly seq: number
  readonly day: number
  readonly attempts: number
  readonly dueAt: Date
  readonly writtenAt: Date
}

interface AgainRow extends ExceptionRow {
  readonly round: number
}

export interface LoadedLane {
  readonly cursor: CursorRow
  readonly filters: readonly Filter[]
  readonly exceptions: readonly ExceptionRow[]
  readonly agains: readonly AgainRow[]
  /** What is finished above the position. */
  readonly ahead: readonly number[]
  readonly replay:
    | {
        readonly round: number
        readonly position: number
        readonly last: number
        readonly sent: number
        readonly ahead: readonly number[]
      }
    | undefined
}

/** One attempt to make. Its number is assigned here, and not when its answer is written. */
export interface Sending {
  readonly source: 'new' | 'exception' | 'again' | 'replay'
  readonly seq: number
  readonly day: number
  readonly entity: string
  readonly round: number
  readonly attempt: number
  readonly dueAt: Date
  /** The entry, where the worker has it in memory; otherwise it is read first. */
  readonly entry: LogEntry | undefined
}

/** Of a row that waits: a retry, or a replayed delivery. */
interface WaitingRow extends Sending {
  readonly writtenAt: Date
}

export type Verdict =
  | { readonly state: 'retrying'; readonly dueAt: Date }
  | { readonly state: 'delivered' | 'exhausted'; readonly dueAt: undefined }

export interface AttemptResult<Answer> {
  readonly sending: Sending
  readonly verdict: Verdict
  readonly answer: Answer
  readonly judgedAt: Date
}

/**
 * What a lane has the worker write. Fixed when it is composed: whatever the lane learns later does not change
 * it.
 */
export interface LaneSettlement<Answer> {
  readonly epoch: number
  readonly results: readonly AttemptResult<Answer>[]
  readonly position: number | undefined
  readonly read: number
  /** Null: no attempt is held back; undefined: as it was. */
  readonly holdUntil: Date | null | undefined
  readonly failures: number | undefined
  readonly failingSince: Date | undefined
  readonly replay:
    | {
        readonly round: number
        readonly position: number
        /** In all, so that what is written twice is counted once. */
        readonly sent: number
        readonly deferred: readonly LogEntry[]
      }
    | undefined
}

/** Where entities that recovered go on; undefined where no entry of one is left. */
export type Continuations = ReadonlyMap<string, { readonly seq: number; readonly day: number } | undefined>

interface ReplayProgress {
  readonly round: number
  readonly last: number
  position: number
  sent: number
  read: number
  readonly open: Map<number, LogEntry>
  readonly queue: LogEntry[]
  /** Entries behind an earlier replayed one of their entity, still to be written. */
  deferred: LogEntry[]
  /** Finished above the position. */
  readonly ahead: Set<number>
}

/**
 * Open: it sends. Closed: its webhook is paused or disabled, or its partner may not act. Leaving: it finishes
 * what is in the air and is given back. Lost: another worker may hold it, and no answer that this one gets
 * counts any more.
 */
type LaneMode = 'open' | 'closed' | 'leaving' | 'lost'

export class Lane<Answer> {
  readonly webhookId: number
  readonly feed: Feed
  #epoch = -1
  #state: LaneMode = 'closed'
  #filters: readonly Filter[] = []
  #passed = 0
  /** As the database has it. */
  #position = 0
  /** The lane has read everything up to here. */
  #read = 0
  #ahead = new Set<number>()
  /** Read and unfinished, in order: queued, in the air or not settled. */
  #open = new Map<number, LogEntry>()
  #lines = new Map<string, LogEntry[]>()
  /** Entities whose first entry may be sent. */
  #ready = new Set<string>()
  #queued = 0
  #queuedBytes = 0
  /** Entries sent before the lane was loaded anew, and read once more. */
  #sentBefore = new Set<number>()
  #exceptions = new Map<string, ExceptionRow>()
  #agains = new Map<string, AgainRow>()
  #replay: ReplayProgress | undefined
  readonly #flying = new Set<Sending>()
  #results: AttemptResult<Answer>[] = []
  #settling: LaneSettlement<Answer> | undefined
  #settlements = 0
  /** A webhook's time at one address without being closed: what was learned in an earlier one is nothing now. */
  #term = -1
  /** Nothing was answered in this term. */
  #isUntried = true
  /** In the air since an earlier term. */
  #fromBefore = new Set<Sending>()
  #breaker = new Breaker()
  #breakerIsWritten = true
  #holdUntil: Date | undefined
  #heldAt: Date | undefined
  #lastWasRetry = false
  /**
   * Nothing that waits for a moment is due before this, unless the clock has been set back since it was
   * looked at.
   */
  #dueFromMs = Number.NEGATIVE_INFINITY
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(webhookId: number, feed: Feed) {
    this.webhookId = webhookId
    this.feed = feed
  }

  // ---- what others may know ----

  get epoch(): number {
    return this.#epoch
  }

  get state(): LaneMode {
    return this.#state
  }

  get read(): number {
    return this.#read
  }

  /**
   * Every entry up to it is finished, or its entity is an exception. Settlements that are being written do
   * not count yet.
   */
  get finished(): number {
    const first = this.#open.keys().next().value
    return first === undefined ? this.#read : first - 1
  }

  get inFlight(): number {
    return this.#flying.size
  }

  /** Sent and not settled. */
  get unsettled(): number {
    return this.#flying.size + this.#results.length + (this.#settling?.results.length ?? 0)
  }

  get answered(): number {
    return this.#results.length
  }

  /**
   * How often a settlement of the lane was written. A load that was read before the last one is older than
   * what the lane knows.
   */
  get settlements(): number {
    return this.#settlements
  }

  get isSettling(): boolean {
    return this.#settling !== undefined
  }

  get breaker(): Breaker {
    return this.#breaker
  }

  get isFull(): boolean {
    return this.#exceptions.size >= exceptionsAtMost
  }

  /** A delivery is blocked until one of its answers is on disk. */
  get isAwaited(): boolean {
    if (this.unsettled >= unsettledAtMost / 2) return true
    const waits = ({ sending: { source, entity } }: AttemptResult<Answer>) =>
      source === 'exception' || source === 'replay' || (this.#lines.get(entity)?.length ?? 0) > 1
    return this.#results.some(waits)
  }

  /** A replay has advanced, and no answer is there whose settlement would record it. */
  get hasProgress(): boolean {
    const replay = this.#replay
    return (
      replay !== undefined &&
      (replay.deferred.length > 0 || (replay.open.size === 0 && replay.read >= replay.last))
    )
  }

  /** It has finished more than the written position says. */
  get isBehind(): boolean {
    return this.finished > this.#position
  }

  /** No attempt is under way, and the lane waits for nothing but due times. */
  get isIdle(): boolean {
    return (
      this.unsettled === 0 &&
      !this.#settling &&
      (this.#state !== 'open' || (this.#open.size === 0 && !this.#replay && this.#read >= this.feed.head))
    )
  }

  /** When the next retry or replayed delivery is due. */
  findDue(now: Date): Date | undefined {
    let earliest: Date | undefined
    for (const { dueAt, writtenAt } of this.#waiting()) {
      // Written by a clock that has been set back since.
      if (now < writtenAt) return now
      if (!earliest || dueAt < earliest) earliest = dueAt
    }
    return earliest && laterOf(earliest, this.#heldUntil(now) ?? earliest)
  }

  // ---- taking and losing ----

  /**
   * Takes over what the database has. Attempts in the air stay so; answers that no longer matter are
   * forgotten.
   */
  load({ cursor, filters, exceptions, agains, ahead, replay }: LoadedLane): void {
    // Unless an act has changed the cursor, which its epoch tells, the lane's view of its receiver is as new
    // as what is written, or newer.
    const wasTouched = cursor.epoch !== this.#epoch
    this.#epoch = cursor.epoch
    if (this.#state === 'open' || this.#state === 'closed') this.#state = cursor.isOpen ? 'open' : 'closed'
    this.#filters = filters
    this.#passed = cursor.passed
    this.#position = cursor.position
    this.#read = cursor.position
    this.#ahead = new Set(ahead)
    this.#open = new Map()
    this.#lines = new Map()
    this.#ready = new Set()
    this.#queued = 0
    this.#queuedBytes = 0
    this.#exceptions = new Map(exceptions.map((row) => [row.entity, row]))
    this.#agains = new Map(agains.map((row) => [keyOf(row), row]))
    this.#replay = replay && {
      ...replay,
      ahead: new Set(replay.ahead),
      read: replay.position,
      open: new Map(),
      queue: [],
      deferred: [],
    }
    this.#results = [...(this.#settling?.results ?? []), ...this.#results]
    if (this.#settling?.failures !== undefined) this.#breakerIsWritten = false
    if (wasTouched) this.#learnHealth(cursor)
    this.#settling = undefined
    this.#dueFromMs = Number.NEGATIVE_INFINITY
    this.#results = this.#results.filter(({ sending }) => this.#matters(sending))
    const underWay = [...this.#flying, ...this.#results.map(({ sending }) => sending)]
    this.#sentBefore = new Set(underWay.filter(({ source }) => source === 'new').map(({ seq }) => seq))
  }

  #learnHealth(cursor: CursorRow): void {
    const { term, triedIn, failures, failingSince, holdUntil, heldAt } = cursor
    this.#holdUntil = holdUntil ?? undefined
    this.#heldAt = heldAt ?? undefined
    if (term !== this.#term) {
      this.#term = term
      this.#isUntried = triedIn !== term
      this.#breaker = this.#isUntried
        ? new Breaker()
        : new Breaker(failures, failingSince ?? undefined, this.#exceptions.size)
      this.#breakerIsWritten = true
      this.#fromBefore = new Set(this.#flying)
    } else if (!holdUntil) this.#breaker.probeNow()
  }

  lose(): void {
    this.#state = 'lost'
    this.#results = []
  }

  leave(): void {
    if (this.#state !== 'lost') this.#state = 'leaving'
  }

  // ---- reading ----

  /** Looks at what the feed has at hand. Answers after which number it wants more, if it does. */
  scan(): number | undefined {
    if (this.#state !== 'open' || this.#isFrozen()) return undefined
    while (this.#hasRoom()) {
      const seq = Math.max(this.#read + 1, this.feed.first)
      if (seq > this.feed.head) {
        this.#read = Math.max(this.#read, this.feed.head)
        return undefined
      }
      const entry = this.feed.find(seq)
      if (!entry) return seq - 1
      this.#read = seq
      this.#lookAt(entry)
    }
    return undefined
  }

  /**
   * While the recovery of an entity is being written, the transaction looks for its next entry up to what the
   * lane has read: the lane reads nothing more meanwhile.
   */
  #isFrozen(): boolean {
    return (
      this.#settling?.results.some(
        ({ sending, verdict }) => sending.source === 'exception' && verdict.state !== 'retrying',
      ) ?? false
    )
  }

  #hasRoom(): boolean {
    const span = this.#read - (this.#open.keys().next().value ?? this.#read)
    return (
      this.#queued < queuedAtMost &&
      (this.#queuedBytes < queuedBytesAtMost || this.#queued === 0) &&
      span < windowAtMost
    )
  }

  #lookAt(entry: LogEntry): void {
    const { seq, entity } = entry
    if (this.#ahead.has(seq) || seq <= this.#passed || this.#exceptions.has(entity)) return
    if (!isWanted(entry, this.webhookId, this.#filters)) return
    this.#open.set(seq, entry)
    const line = this.#lines.get(entity)
    if (line) line.push(entry)
    else this.#lines.set(entity, [entry])
    if (this.#sentBefore.delete(seq)) return
    this.#queued++
    this.#queuedBytes += entry.body.length
    if (!line && !this.#isBusy(entity)) this.#ready.add(entity)
  }

  /** A replay that has nothing at hand: what it wants to read. */
  wantsReplayed(): { readonly round: number; readonly after: number } | undefined {
    const replay = this.#replay
    if (
      !replay ||
      this.#state !== 'open' ||
      replay.queue.length > 0 ||
      replay.read >= replay.last ||
      replay.open.size >= queuedAtMost
    )
      return undefined
    return { round: replay.round, after: replay.read }
  }

  /**
   * What was read after a number, up to another. One that was read before the lane was loaded anew is not
   * what it wants now.
   */
  takeReplayed(round: number, after: number, upto: number, entries: readonly LogEntry[]): void {
    const replay = this.#replay
    if (replay?.round !== round || after !== replay.read) return
    for (const entry of entries) {
      const { seq } = entry
      if (replay.ahead.delete(seq) || this.#agains.has(keyOf({ seq, round }))) continue
      replay.open.set(seq, entry)
      // It may have been sent before the lane was loaded anew.
      if (!this.#isUnderWay((sending) => sending.seq === seq && sending.round === round))
        replay.queue.push(entry)
    }
    replay.read = upto
  }

  // ---- sending ----

  /** What may be sent now, if anything. It is in the air from here on. */
  next(now: Date): Sending | undefined {
    if (this.#state !== 'open') return undefined
    if (this.#flying.size >= attemptsAtOnce || this.unsettled >= unsettledAtMost) return undefined
    const until = this.#heldUntil(now)
    if (until && until > now) return undefined
    const sending = this.#breaker.isOpen ? this.#nextProbe(now) : this.#nextInTurn(now)
    if (!sending) return undefined
    this.#flying.add(sending)
    if (sending.source === 'new') this.#takeFromLine(sending.entity)
    return sending
  }

  /** Not by a clock that has been set back since. */
  #heldUntil(now: Date): Date | undefined {
    const probeAt = this.#breaker.probeAt(now)
    const asked = this.#heldAt && now < this.#heldAt ? undefined : this.#holdUntil
    return probeAt && asked ? laterOf(probeAt, asked) : (probeAt ?? asked)
  }

  #takeFromLine(entity: string): void {
    this.#ready.delete(entity)
    this.#queued--
    this.#queuedBytes -= this.#lines.get(entity)![0]!.body.length
  }

  #nextInTurn(now: Date): Sending | undefined {
    const retries = this.#count(({ source, attempt }) => source !== 'new' && attempt > 1)
    const due = this.#nextDue(now)
    const mayRetry =
      due !== undefined && (due.attempt === 1 || retries < attemptsAtOnce - fifth(attemptsAtOnce))
    const mayBegin =
      this.#ready.size > 0 &&
      this.#hasRoomForNew() &&
      (!due || this.#flying.size - retries < attemptsAtOnce - fifth(attemptsAtOnce))
    const isRetry = mayRetry && (!mayBegin || !this.#lastWasRetry)
    this.#lastWasRetry = isRetry
    if (isRetry) return due
    return mayBegin ? this.#nextNew(now) : this.#nextReplayed(now)
  }

  /** Bounded are failing entities, and attempts under way that may make one. */
  #hasRoomForNew(): boolean {
    if (this.#exceptions.size + unsettledAtMost < exceptionsAtMost) return true
    const underWay =
      this.#count(({ source }) => source === 'new') +
      this.#results.length +
      (this.#settling?.results.length ?? 0)
    return this.#exceptions.size + underWay < exceptionsAtMost
  }

  /**
   * With an open breaker: one attempt at a time, of the failing entity tried longest ago, in turns with
   * something new.
   */
  #nextProbe(now: Date): Sending | undefined {
    if (this.unsettled > 0) return undefined
    // A probe of this one was requested.
    const hurried = this.#nextHurried(now)
    if (hurried) return hurried
    const isNew =
      this.#ready.size > 0 &&
      this.#exceptions.size < exceptionsAtMost &&
      !(this.#lastWasRetry === false && this.#exceptions.size > 0)
    this.#lastWasRetry = !isNew
    if (isNew) return this.#nextNew(now)
    let oldest: ExceptionRow | undefined
    for (const row of this.#exceptions.values()) if (!oldest || row.writtenAt < oldest.writtenAt) oldest = row
    return oldest
      ? retryOf('exception', oldest, 0)
      : (this.#nextDue(now) ?? (this.#ready.size > 0 ? this.#nextNew(now) : undefined))
  }

  /** Made due by a person after it was written: `due_at` and `written_at` are that moment. */
  #nextHurried(now: Date): Sending | undefined {
    for (const sending of this.#waiting())
      if (sending.dueAt <= now && sending.dueAt.getTime() === sending.writtenAt.getTime()) return sending
    return undefined
  }

  #nextNew(now: Date): Sending {
    const [entity] = this.#ready
    const entry = this.#lines.get(entity!)![0]!
    return {
      source: 'new',
      seq: entry.seq,
      day: entry.day,
      entity: entry.entity,
      round: 0,
      attempt: 1,
      dueAt: now,
      entry,
    }
  }

  /**
   * In the order of each entity. Entries behind one that failed are written as rows of their own, so that the
   * replay goes on with other entities.
   */
  #nextReplayed(now: Date): Sending | undefined {
    const replay = this.#replay
    if (!replay) return undefined
    const passed = new Set<string>()
    for (const [place, entry] of replay.queue.entries()) {
      const { seq, day, entity } = entry
      if (passed.has(entity)) continue
      passed.add(entity)
      if (this.#isBusyAgain(entity)) continue
      if (!this.#holdsBack(entry)) {
        replay.queue.splice(place, 1)
        return { source: 'replay', seq, day, entity, round: replay.round, attempt: 1, dueAt: now, entry }
      }
      if (this.#agains.size + replay.deferred.length >= againsAtMost) continue
      replay.queue.splice(place, 1)
      replay.deferred.push(entry)
      return this.#nextReplayed(now)
    }
    return undefined
  }

  /** An earlier delivery of the entity is being replayed, too. */
  #holdsBack({ seq, entity }: { readonly seq: number; readonly entity: string }): boolean {
    for (const row of this.#agains.values()) if (row.entity === entity && row.seq < seq) return true
    return this.#replay?.deferred.some((each) => each.entity === entity && each.seq < seq) ?? false
  }

  /** What waits for its moment: of each entity that was asked for again, the first. */
  *#waiting(): Iterable<WaitingRow> {
    for (const row of this.#exceptions.values()) yield retryOf('exception', row, 0)
    const first = new Map<string, AgainRow>()
    for (const row of this.#agains.values()) {
      const other = first.get(row.entity)
      if (!other || row.seq < other.seq || (row.seq === other.seq && row.round < other.round))
        first.set(row.entity, row)
    }
    for (const row of first.values()) yield retryOf('again', row, row.round)
  }

  #nextDue(now: Date): Sending | undefined {
    const nowMs = now.getTime()
    if (nowMs >= this.#lookedMs && nowMs < this.#dueFromMs) return undefined
    let found: Sending | undefined
    let next = Number.POSITIVE_INFINITY
    for (const sending of this.#waiting()) {
      // By a clock that may have been set back since the moment was written.
      const isDue = nowMs >= sending.dueAt.getTime() || nowMs < sending.writtenAt.getTime()
      next = Math.min(next, isDue ? nowMs : sending.dueAt.getTime())
      if (!isDue || (found && found.dueAt <= sending.dueAt)) continue
      const isBusy = isLive(sending) ? this.#isBusy(sending.entity) : this.#isBusyAgain(sending.entity)
      if (!isBusy) found = sending
    }
    this.#lookedMs = nowMs
    this.#dueFromMs = next
    return found
  }

  #count(is: (sending: Sending) => boolean): number {
    let count = 0
    for (const sending of this.#flying) if (is(sending)) count++
    return count
  }

  #isBusy(entity: string): boolean {
    return this.#isUnderWay((sending) => sending.entity === entity && isLive(sending))
  }

  #isBusyAgain(entity: string): boolean {
    return this.#isUnderWay((sending) => sending.entity === entity && !isLive(sending))
  }

  #isUnderWay(is: (sending: Sending) => boolean): boolean {
    for (const sending of this.#flying) if (is(sending)) return true
    const has = ({ sending }: AttemptResult<Answer>) => is(sending)
    return this.#results.some(has) || (this.#settling?.results.some(has) ?? false)
  }

  // ---- answers ----

  /** What became of one that was in the air. Answers whether it is to be written down. */
  answer(sending: Sending, verdict: Verdict, answer: Answer, now: Date): boolean {
    this.#flying.delete(sending)
    if (this.#state === 'lost') return false
    if (!this.#fromBefore.delete(sending)) this.#learnFrom(sending, verdict, now)
    if (!this.#matters(sending)) {
      this.#free(sending.entity)
      return false
    }
    this.#results.push({ sending, verdict, answer, judgedAt: now })
    return true
  }

  #learnFrom(sending: Sending, verdict: Verdict, now: Date): void {
    this.#breakerIsWritten &&=
      verdict.state === 'delivered' && this.#breaker.failures === 0 && !this.#isUntried
    this.#isUntried = false
    if (verdict.state === 'delivered') this.#breaker.accepted()
    else this.#breaker.refused(sending.entity, now)
  }

  /** Whether its answer tells nothing of the webhook as it stands: it was sent before the last act. */
  isFromBefore(sending: Sending): boolean {
    return this.#fromBefore.has(sending)
  }

  /**
   * The attempt could not be made at all: it is as if it had not been begun. A lane that was loaded anew and
   * has not read the entry yet will read it.
   */
  putBack(sending: Sending): void {
    const { source, seq, round, entity, entry } = sending
    this.#flying.delete(sending)
    this.#fromBefore.delete(sending)
    if (source === 'replay') {
      if (entry && this.#replay?.round === round && this.#replay.open.has(seq))
        this.#replay.queue.unshift(entry)
    } else if (source === 'new') {
      this.#sentBefore.delete(seq)
      const open = this.#open.get(seq)
      if (open) {
        this.#queued++
        this.#queuedBytes += open.body.length
        this.#ready.add(entity)
      }
    }
    this.#dueFromMs = Number.NEGATIVE_INFINITY
  }

  hold(until: Date, now: Date): void {
    const asked = this.#heldAt && now < this.#heldAt ? undefined : this.#holdUntil
    if (!asked || until > asked) this.#holdUntil = until
    this.#heldAt = now
    this.#breakerIsWritten = false
  }

  /**
   * Whether an answer still changes something: not if the entry was skipped or has expired meanwhile, or if
   * this attempt is written already.
   */
  #matters({ source, seq, entity, round, attempt }: Sending): boolean {
    const again = this.#agains.get(keyOf({ seq, round }))
    if (source === 'again') return again !== undefined && again.attempts < attempt
    if (source === 'replay') {
      const replay = this.#replay?.round === round ? this.#replay : undefined
      return replay !== undefined && seq > replay.position && !replay.ahead.has(seq) && !again
    }
    if (seq <= this.#passed || this.#ahead.has(seq)) return false
    const row = this.#exceptions.get(entity)
    return row ? row.seq === seq && row.attempts < attempt : seq > this.#position
  }

  // ---- settling ----

  /** What is to be written down, if anything; one at a time. With `isThorough` the position too. */
  compose(isThorough: boolean, now: Date): LaneSettlement<Answer> | undefined {
    if (this.#settling || this.#state === 'lost') return undefined
    const { finished } = this
    const position = isThorough || finished - this.#position >= positionAhead ? finished : undefined
    const replay = this.#composeReplay(isThorough)
    const isNew = position !== undefined && position > this.#position
    if (this.#results.length === 0 && !isNew && !replay && this.#breakerIsWritten) return undefined
    const { failures, failingSince } = this.#breaker
    this.#settling = {
      epoch: this.#epoch,
      results: this.#results.map((result) => dueBy(result, now)),
      position: isNew ? position : undefined,
      read: this.#read,
      ...(this.#breakerIsWritten
        ? { holdUntil: undefined, failures: undefined, failingSince: undefined }
        : { holdUntil: this.#heldUntil(now) ?? null, failures, failingSince }),
      replay,
    }
    this.#results = []
    this.#breakerIsWritten = true
    return this.#settling
  }

  #composeReplay(isThorough: boolean): LaneSettlement<Answer>['replay'] {
    const replay = this.#replay
    if (!replay) return undefined
    const sent = this.#results.filter(({ sending }) => sending.source === 'replay')
    const { deferred } = replay
    const done = new Set([...sent.map(({ sending }) => sending.seq), ...deferred.map(({ seq }) => seq)])
    let position = replay.read
    for (const seq of replay.open.keys()) {
      if (done.has(seq)) continue
      position = seq - 1
      break
    }
    if (done.size === 0 && (position <= replay.position || !(isThorough || position >= replay.last)))
      return undefined
    replay.deferred = []
    return { round: replay.round, position, sent: replay.sent + done.size, deferred }
  }

  /**
   * The settlement is written. A lane that was loaded meanwhile still has its answers, where they matter, and
   * writes them once more.
   */
  settled(
    settlement: LaneSettlement<Answer>,
    continuations: Continuations,
    now: Date,
  ): { readonly replayEnded: boolean } {
    if (this.#settling !== settlement) return { replayEnded: false }
    const { results, position, replay } = settlement
    this.#settling = undefined
    this.#settlements++
    this.#dueFromMs = Number.NEGATIVE_INFINITY
    if (position !== undefined) {
      this.#position = Math.max(this.#position, position)
      for (const seq of this.#ahead) if (seq <= this.#position) this.#ahead.delete(seq)
    }
    for (const { sending, verdict } of results) {
      if (isLive(sending)) this.#settleLive(sending, verdict, continuations, now)
      else this.#settleAgain(sending, verdict, now)
    }
    for (const { sending } of results) if (isLive(sending)) this.#free(sending.entity)
    if (!replay || replay.round !== this.#replay?.round) return { replayEnded: false }
    for (const { seq, day, entity } of replay.deferred) {
      this.#replay.open.delete(seq)
      const row = { entity, seq, day, round: replay.round, attempts: 0, dueAt: now, writtenAt: now }
      this.#agains.set(keyOf(row), row)
    }
    this.#replay.sent = replay.sent
    this.#replay.position = Math.max(this.#replay.position, replay.position)
    if (this.#replay.position < this.#replay.last) return { replayEnded: false }
    this.#replay = undefined
    return { replayEnded: true }
  }

  #settleLive(
    { source, seq, day, entity, attempt }: Sending,
    verdict: Verdict,
    continuations: Continuations,
    now: Date,
  ): void {
    if (verdict.state === 'retrying') {
      this.#exceptions.set(entity, {
        entity,
        seq,
        day,
        attempts: attempt,
        dueAt: verdict.dueAt,
        writtenAt: now,
      })
      // Entries behind it are found in the log when their turn comes.
      for (const entry of this.#lines.get(entity) ?? []) this.#forget(entry, entry.seq !== seq)
      this.#lines.delete(entity)
      this.#ready.delete(entity)
    } else if (source === 'exception' || continuations.has(entity)) {
      const next = continuations.get(entity)
      if (next) this.#exceptions.set(entity, { entity, ...next, attempts: 0, dueAt: now, writtenAt: now })
      else this.#exceptions.delete(entity)
    } else {
      const line = this.#lines.get(entity)
      const entry = this.#open.get(seq)
      if (entry) this.#forget(entry, false)
      if (line?.[0]?.seq === seq) line.shift()
      if (line?.length === 0) this.#lines.delete(entity)
    }
  }

  #forget(entry: LogEntry, wasQueued: boolean): void {
    this.#open.delete(entry.seq)
    if (!wasQueued) return
    this.#queued--
    this.#queuedBytes -= entry.body.length
  }

  #settleAgain({ source, seq, day, entity, round, attempt }: Sending, verdict: Verdict, now: Date): void {
    const replay = this.#replay?.round === round ? this.#replay : undefined
    if (source === 'replay') replay?.open.delete(seq)
    const key = keyOf({ seq, round })
    // A replay that was loaded anew comes by here once more.
    if (verdict.state !== 'retrying' && replay && seq > replay.read) replay.ahead.add(seq)
    if (verdict.state !== 'retrying') this.#agains.delete(key)
    else
      this.#agains.set(key, {
        entity,
        seq,
        day,
        round,
        attempts: attempt,
        dueAt: verdict.dueAt,
        writtenAt: now,
      })
  }

  /** The next entry of an entity may go. */
  #free(entity: string): void {
    if (this.#lines.has(entity) && !this.#exceptions.has(entity) && !this.#isBusy(entity))
      this.#ready.add(entity)
  }
}

const isLive = ({ source }: Sending) => source === 'new' || source === 'exception'
const keyOf = ({ seq, round }: { readonly seq: number; readonly round: number }) => `${seq}/${round}`

function retryOf(
  source: 'exception' | 'again',
  { seq, day, entity, attempts, dueAt, writtenAt }: ExceptionRow,
  round: number,
): WaitingRow {
  return { source, seq, day, entity, round, attempt: attempts + 1, dueAt, writtenAt, entry: undefined }
}

/**
 * Judged by a clock that has been set back since: its moment would be taken for one of the clock that is
 * right.
 */
function dueBy<Answer>(result: AttemptResult<Answer>, now: Date): AttemptResult<Answer> {
  const { verdict, judgedAt } = result
  return verdict.dueAt && now < judgedAt ? { ...result, verdict: { ...verdict, dueAt: now } } : result
}

function laterOf(left: Date, right: Date): Date {
  return left > right ? left : right
}
