/**
 * What a node delivers: its worker takes lanes, reads their feeds, sends what may be sent, and has the
 * answers written. Notifications are hints: a worker finds by its own looks what it has not heard of. A
 * worker knows no lease: its writes for a lane that it has lost are refused by the epoch, and it has sent no
 * more than may be unsettled.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { gatewayAct } from '../../audit/audit.ts'
import { after, type Clock, second } from '../../clock.ts'
import type { Repetition } from '../../concurrency/repeat.ts'
import { openRerun } from '../../concurrency/rerun.ts'
import { openFlights } from '../../concurrency/single-flight.ts'
import { type Changes, everything } from '../../database/changes.ts'
import { type Database, step } from '../../database/database.ts'
import type { Rounds } from '../../database/rounds.ts'
import type { LogEntry } from '../events/entry.ts'
import { printEventId } from '../events/event.ts'
import { Feed, FeedRoom } from '../events/feed.ts'
import * as log from '../events/log.sql.ts'
import { type News, printNews, readNews } from '../events/news.ts'
import type { NumberedBatch } from '../events/numbered-batch.ts'
import { allParts, branchOfFeed, isDistributed, partOf, poolOf } from '../events/part.ts'
import { Sequencer } from '../events/sequencer.ts'
import { notPosted, type PostResult, type Sender } from '../outbound/attempt.ts'
import { Pace } from '../outbound/pace.ts'
import { printHead } from '../outbound/request-head.ts'
import { askedToWaitUntil } from '../outbound/retry-schedule.ts'
import { SendLimit } from '../outbound/send-limit.ts'
import { SignaturesOfEvents } from '../outbound/signature.ts'
import type { SecretKeeper } from '../subscriptions/signing-secrets.ts'
import { disableWebhook } from '../subscriptions/webhook.ts'
import type { HeaderKeeper } from '../subscriptions/webhook-headers.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { AttemptSlots, slotMs } from './attempt-slots.ts'
import { printDeliveryId } from './delivery-id.ts'
import * as kernel from './kernel.sql.ts'
import { attemptsAtOnce, Lane, type LoadedLane, type Sending } from './lane.ts'
import { type ClusterView, Membership } from './membership.ts'
import { RoundRobin } from './round-robin.ts'
import { type DeliveryLane, Settlements } from './settlements.ts'
import { selectTargets } from './targets.sql.ts'
import { findReasonToDisable, judge } from './verdict.ts'

const attemptsForAll = { most: 500, least: 100 }
const takenAtOnce = 500
const lookEveryMs = second
/** Of the feeds whose lanes it holds, a worker asks so many a second whether they have grown unheard. */
const feedsLooked = 200
const replayedAtOnce = 50
/** How long a lane is kept that has nothing to do. */
export const usualLingerMs = 60_000
const retryLoadMs = 250
/**
 * How many reports apart a worker looks for lanes that it holds and does not know of: there should be none.
 */
const forgottenEvery = 10
/** The interval of reports while another worker may be gone. */
const suspectEveryMs = 300

interface WorkerOptions {
  readonly db: Database
  readonly rounds: Rounds
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly sender: Sender
  readonly secrets: SecretKeeper
  readonly headers: HeaderKeeper
  /** Each is told of every attempt that was settled. */
  readonly attempted: readonly ((attempt: AttemptRecord) => void)[]
  /** Called when it is known whose log has grown; undefined: it may be any. */
  readonly grown: (feeds: readonly number[] | undefined) => void
  /** Whether a client on this node follows a log. */
  readonly isFollowed: () => boolean
  readonly lingerMs: number
}

/** A lane with what the worker knows beside it. */
interface HeldLane {
  readonly lane: DeliveryLane
  readonly part: number
  readonly branchId: number
  url: string
  limit: SendLimit | undefined
  isLoading: boolean
  /** Asked to load while it was loading. */
  isStale: boolean
  isReplaying: boolean
  /** By `performance.now()`: since when it has had nothing to do. */
  quietSince: number | undefined
  readonly grown: () => void
}

export class DeliveryWorker {
  readonly #options: WorkerOptions
  readonly #held = new Map<number, HeldLane>()
  readonly #feeds = new Map<number, Feed>()
  readonly #room = new FeedRoom()
  readonly #membership: Membership
  readonly #sequencer: Sequencer
  readonly #settlements: Settlements
  readonly #slots = new AttemptSlots<HeldLane>(new Pace(attemptsForAll))
  readonly #signatures = new SignaturesOfEvents()
  readonly #chores: readonly Repetition[]
  readonly #timers: NodeJS.Timeout[]
  readonly #numbering: readonly Promise<void>[]
  readonly #writing: readonly Promise<void>[]
  /** Lanes that would send, in their order. */
  readonly #turns = new RoundRobin<HeldLane>()
  readonly #partsToTake = new Set<number>()
  /** Of each server its own: one that hangs keeps nobody from the lanes of another. */
  readonly #takes = new Map<Database, ReturnType<typeof openRerun>>()
  readonly #rests = openRerun(
    () => this.#restQuiet(),
    (error) => this.#complain(error),
  )
  #resting: NodeJS.Timeout | undefined
  #sending: NodeJS.Timeout | undefined
  readonly #feedLooks = openFlights(() =>
    this.#lookAtFeeds().catch((error: unknown) => this.#complain(error)),
  )
  /** One that fails is made again a second later. */
  readonly #reports = openFlights(() => this.#report().catch(() => {}))
  /** Taken, and being read for the first time; those that were touched meanwhile are read once more. */
  readonly #arriving = new Set<number>()
  readonly #touched = new Set<number>()
  /** One that fails is made again after the next report. */
  readonly #evictions = openFlights((view: ClusterView) => this.#evict(view).catch(() => {}))
  #idle: (() => void) | undefined
  #others = { count: 0, lanes: 0, follow: true }
  readonly #givenBack = new Map<number, number>()
  #feedsAt = 0
  /** Parts of which this worker may hold lanes that it does not know of. */
  readonly #mayForget = new Set<number>()
  #reported = 0
  #isClosing = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#membership = new Membership({
      ...options,
      heard: (text) => this.#hear(text),
      joined: () => this.#rejoin(),
    })
    this.#sequencer = new Sequencer({ ...options, numbered: (batch) => this.numbered(batch) })
    this.#settlements = new Settlements(options)
    this.#chores = [
      options.rounds.add({
        name: 'lanes',
        question: isDistributed() ? kernel.allPartsThereAre : kernel.partsToTake,
        work: async (parts) => this.#take(parts as number[]),
      }),
      options.rounds.add({
        name: 'sequencer',
        question: log.partsToLook,
        work: async (parts) => this.published(parts as number[]),
      }),
    ]
    this.#timers = [
      setInterval(() => this.#lookAround(), lookEveryMs),
      setInterval(() => void this.#reports.join(), second),
    ]
    options.changes.subscribe((tag) => this.#reconsider(tag))
    this.#membership.attend()
    this.published(allParts)
    this.#numbering = allParts.map(() => this.#sequencer.run())
    this.#writing = allParts.map(() => this.#hearOfWritten())
  }

  wake(): void {
    this.#take(allParts)
    this.#lookAround()
  }

  /** Something was published in these parts. */
  published(parts: Iterable<number>): void {
    for (const part of parts) this.#sequencer.wake(part)
  }

  /** These have numbers already. */
  numbered({ part, entries, woken }: NumberedBatch): void {
    const byFeed = Map.groupBy(entries, ({ feed }) => feed)
    for (const [feed, of] of byFeed) this.#feeds.get(feed)?.append(of.at(-1)!.seq, of)
    const feeds = [...byFeed].map(([feed, of]) => ({ feed, head: of.at(-1)!.seq }))
    this.#options.grown(feeds.map(({ feed }) => feed))
    if (woken > 0) this.#take([part])
    if (this.#others.count > 0 || this.#others.follow) this.#tell({ feeds, parts: woken > 0 ? [part] : [] })
  }

  async close(): Promise<void> {
    this.#isClosing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#resting)
    clearTimeout(this.#sending)
    await Promise.all(this.#chores.map((chore) => chore.stop()))
    this.#sequencer.close()
    await Promise.all(this.#numbering)
    for (const takes of this.#takes.values()) await takes.ended()
    await this.#rests.ended()
    for (const { lane } of this.#held.values()) lane.leave()
    if (this.#slots.total > 0) await new Promise<void>((idle) => (this.#idle = idle))
    this.#settlements.close()
    await Promise.all(this.#writing)
    await this.#reports.landed()
    await this.#evictions.landed()
    await this.#giveBack([...this.#held.values()]).catch((error: unknown) => this.#complain(error))
    await this.#membership.close()
  }

  // ---- hearing ----

  async #hearOfWritten(): Promise<void> {
    for await (const { settled, refused, error } of this.#settlements.run()) {
      if (error !== undefined) this.#complain(error)
      for (const lane of refused) this.#loadAnew(lane)
      for (const { lane, replayEnded } of settled) this.#settled(lane, replayEnded)
    }
  }

  #hear(text: string): void {
    const news = readNews(text)
    this.#options.grown(news?.feeds.map(({ feed }) => feed))
    if (!news) {
      this.wake()
      return
    }
    for (const { feed, head } of news.feeds) this.#feeds.get(feed)?.append(head)
    if (news.parts.length > 0) this.#take(news.parts)
    if (news.published) this.published(news.published)
  }

  #tell(news: News): void {
    this.#options.db
      .query(log.notify, { news: printNews(news) })
      .catch((error: unknown) => this.#complain(error))
  }

  /** A webhook's cursor or its target may have changed. */
  #reconsider(tag: string): void {
    const [kind, id] = tag.split(':')
    for (const webhookId of this.#arriving)
      if (kind !== 'webhook' || webhookId === Number(id)) this.#touched.add(webhookId)
    if (kind === 'webhook') {
      const held = this.#held.get(Number(id))
      if (held) this.#load([held])
      else this.#take(allParts)
    } else if (kind === 'branch' || tag === everything) {
      const all = [...this.#held.values()].filter(
        ({ branchId }) => tag === everything || branchId === Number(id),
      )
      this.#load(all)
      if (kind === 'branch') this.#take([partOf(Number(id))])
    }
  }

  /**
   * The worker has a new number, or its first: lanes that it still holds by their epochs are its own, and
   * other workers may have freed some of them.
   */
  #rejoin(): void {
    this.#load([...this.#held.values()])
    this.#take(allParts)
  }

  // ---- taking ----

  #take(parts: Iterable<number>): void {
    const servers = new Set<Database>()
    for (const part of parts) {
      this.#partsToTake.add(part)
      servers.add(poolOf(this.#options.db, part))
    }
    for (const server of servers) this.#takesOf(server).call()
  }

  #takesOf(server: Database) {
    const takes =
      this.#takes.get(server) ??
      openRerun(
        () => this.#takeFrom(server),
        (error) => {
          this.#lookForForgotten((part) => poolOf(this.#options.db, part) === server)
          this.#complain(error)
        },
      )
    this.#takes.set(server, takes)
    return takes
  }

  async #takeFrom(server: Database): Promise<void> {
    const { db, clock } = this.#options
    const { number } = this.#membership
    if (number === undefined || this.#isClosing) return
    const isHere = (part: number) => poolOf(db, part) === server
    for (const part of [...this.#mayForget].filter(isHere)) await this.#takeForgotten(part)
    for (const part of this.#preferred([...this.#partsToTake].filter(isHere))) {
      this.#partsToTake.delete(part)
      const room = Math.min(takenAtOnce, this.#share() - this.#held.size)
      if (room <= 0) continue
      const values = {
        part,
        worker: number,
        now: clock.now(),
        most: room,
        exceptIds: this.#recentlyGivenBack(),
      }
      const taking = poolOf(db, part).query(kernel.take, values)
      // A part that is away is asked for again in the next round; the others are taken.
      const rows = await taking.catch((error: unknown) => {
        this.#complain(error)
        return []
      })
      if (rows.length === takenAtOnce) this.#take([part])
      await this.#loadNew(
        part,
        rows.map((row) => row.webhookId),
      )
    }
  }

  /**
   * Parts of which it has lanes already go first: outcomes of one part are written together. Workers that have
   * none begin at different ones.
   */
  #preferred(parts: readonly number[]): number[] {
    const held = Map.groupBy(this.#held.values(), ({ part }) => part)
    const lanesOf = (part: number) => held.get(part)?.length ?? 0
    const begins = (this.#membership.number ?? 0) % allParts.length
    const turnOf = (part: number) => (part - begins + allParts.length) % allParts.length
    return parts.toSorted((one, other) => lanesOf(other) - lanesOf(one) || turnOf(one) - turnOf(other))
  }

  /**
   * Lanes that were taken by a statement whose answer was lost, or that could not be loaded: no other worker
   * would take them as long as this one lives.
   */
  async #takeForgotten(part: number): Promise<void> {
    const { db } = this.#options
    const holders = [...this.#membership.numbers]
    const mine = await poolOf(db, part).query(kernel.selectHeld, { part, holders })
    const webhookIds = mine
      .map(({ webhookId }) => webhookId)
      .filter((webhookId) => !this.#held.has(webhookId))
    const rows =
      webhookIds.length === 0
        ? []
        : await poolOf(db, part).query(kernel.takeForgotten, { part, holders, webhookIds })
    await this.#loadNew(
      part,
      rows.map((row) => row.webhookId),
    )
    this.#mayForget.delete(part)
  }

  #lookForForgotten(isHere: (part: number) => boolean): void {
    for (const part of allParts) if (isHere(part)) this.#mayForget.add(part)
  }

  /**
   * How many lanes are this worker's share, with a little more that is not worth a move. Lanes above it are
   * given back (rebalancing).
   */
  #share(): number {
    const { count, lanes } = this.#others
    if (count === 0) return Number.MAX_SAFE_INTEGER
    return Math.ceil((lanes + this.#held.size) / (count + 1)) + 2
  }

  async #loadNew(part: number, webhookIds: readonly number[]): Promise<void> {
    if (webhookIds.length === 0) return
    for (const webhookId of webhookIds) this.#arriving.add(webhookId)
    const [loaded, begun] = await this.#readNew(part, webhookIds).finally(() => {
      for (const webhookId of webhookIds) this.#arriving.delete(webhookId)
    })
    for (const webhookId of webhookIds) {
      const wasTouched = this.#touched.delete(webhookId)
      const of = loaded.get(webhookId)
      if (!of || of.cursor.holder === null || !this.#membership.numbers.has(of.cursor.holder)) continue
      const held = this.#hold(of, begun.get(webhookId) ?? [])
      held.lane.load(of)
      held.lane.feed.append(of.head)
      if (wasTouched) this.#load([held])
      else this.#serve(held)
    }
  }

  /** With the attempts that its last holder began within the second before. */
  async #readNew(part: number, webhookIds: readonly number[]) {
    const { db, clock } = this.#options
    const loaded = await this.#read(part, webhookIds)
    const limited = webhookIds.filter((webhookId) => (loaded.get(webhookId)?.rateLimit ?? null) !== null)
    const values = { part, webhookIds: limited, since: after(clock.now(), -second) }
    const rows = limited.length === 0 ? [] : await poolOf(db, part).query(kernel.loadBegun, values)
    const begun = Map.groupBy(rows, (row) => row.webhookId)
    return [loaded, new Map([...begun].map(([id, of]) => [id, of.map(({ at }) => at)]))] as const
  }

  #hold({ cursor, url, rateLimit }: LoadedLane & LaneTarget, begun: readonly Date[]): HeldLane {
    const known = this.#held.get(cursor.webhookId)
    if (known) return known
    const feed = this.#feeds.get(cursor.feed) ?? new Feed(this.#options.db, cursor.feed, this.#room)
    this.#feeds.set(cursor.feed, feed)
    const lane: DeliveryLane = new Lane(cursor.webhookId, feed)
    const held: HeldLane = {
      lane,
      part: feed.part,
      branchId: branchOfFeed(cursor.feed).branchId,
      url,
      limit: rateLimit === null ? undefined : new SendLimit(rateLimit, begun),
      isLoading: false,
      isStale: false,
      isReplaying: false,
      quietSince: undefined,
      grown: () => this.#serve(held),
    }
    feed.grown.add(held.grown)
    this.#held.set(cursor.webhookId, held)
    return held
  }

  /** Attempts in the air go on, and their answers are not written. */
  #drop(held: HeldLane): void {
    held.lane.lose()
    held.lane.feed.grown.delete(held.grown)
    if (held.lane.feed.grown.size === 0) {
      this.#feeds.delete(held.lane.feed.id)
      held.lane.feed.forget()
    }
    this.#turns.delete(held)
    if (this.#held.get(held.lane.webhookId) === held) this.#held.delete(held.lane.webhookId)
  }

  #loadAnew(lane: DeliveryLane): void {
    const held = this.#held.get(lane.webhookId)
    if (held?.lane === lane) this.#load([held])
  }

  #load(all: readonly HeldLane[]): void {
    for (const [part, of] of Map.groupBy(all, (held) => held.part)) void this.#loadHeld(part, of)
  }

  async #loadHeld(part: number, all: readonly HeldLane[]): Promise<void> {
    for (const held of all) if (held.isLoading) held.isStale = true
    const mine = all.filter((held) => !held.isLoading && held.lane.state !== 'lost')
    if (mine.length === 0) return
    for (const held of mine) {
      held.isLoading = true
      this.#turns.delete(held)
    }
    // A lane that was touched, or settled meanwhile, is read again: the first read might lack that.
    for (let left: readonly HeldLane[] = mine; left.length > 0 && !this.#isClosing; )
      left = await this.#loadOnce(part, left)
  }

  /** Answers the lanes that are to be loaded once more. They send nothing until then, so that this ends. */
  async #loadOnce(part: number, all: readonly HeldLane[]): Promise<readonly HeldLane[]> {
    const before = all.map(({ lane }) => lane.settlements)
    const webhookIds = all.map(({ lane }) => lane.webhookId)
    const loaded = await this.#read(part, webhookIds).catch((error: unknown) => this.#complain(error))
    if (!loaded) {
      await wait(retryLoadMs, undefined, { ref: false })
      return all.filter(({ lane }) => lane.state !== 'lost')
    }
    const numbers = this.#membership.numbers
    return all.filter((held, index) => {
      const { lane } = held
      if (held.isStale || lane.settlements !== before[index]) {
        held.isStale = false
        return true
      }
      const of = loaded.get(lane.webhookId)
      held.isLoading = false
      if (!of || of.cursor.holder === null || !numbers.has(of.cursor.holder)) this.#drop(held)
      else this.#learn(held, of)
      return false
    })
  }

  #learn(held: HeldLane, of: LoadedLane & LaneTarget): void {
    held.url = of.url
    if (held.limit?.perSecond !== (of.rateLimit ?? undefined))
      held.limit = of.rateLimit === null ? undefined : new SendLimit(of.rateLimit, held.limit)
    held.lane.load(of)
    this.#serve(held)
    if (held.lane.answered > 0) this.#settlements.note(held.lane)
  }

  async #read(
    part: number,
    webhookIds: readonly number[],
  ): Promise<ReadonlyMap<number, LoadedLane & LaneTarget>> {
    const { db } = this.#options
    const values = { part, webhookIds }
    // Of one snapshot: half of what a settlement writes would be taken for all of it.
    const [[, cursors, heads, filters, exceptions, agains, ahead, replays, replayed], targets] =
      await Promise.all([
        poolOf(db, part).together([
          step(kernel.readOneMoment),
          step(kernel.loadCursors, values),
          step(kernel.loadHeads, values),
          step(kernel.loadFilters, values),
          step(kernel.loadExceptions, values),
          step(kernel.loadAgains, values),
          step(kernel.loadAhead, values),
          step(kernel.loadReplays, values),
          step(kernel.loadReplayed, values),
        ]),
        db.query(selectTargets, { webhookIds }),
      ])
    const of = <Row extends WebhookKey>(rows: readonly Row[]) => Map.groupBy(rows, (row) => row.webhookId)
    const seqs = (rows: readonly { readonly seq: number }[] = []) => rows.map(({ seq }) => seq)
    const [filtersOf, exceptionsOf, againsOf, aheadOf] = [of(filters), of(exceptions), of(agains), of(ahead)]
    const [replayOf, replayedOf, targetOf] = [of(replays), of(replayed), of(targets)]
    const headOf = new Map(heads.map(({ feed, head }) => [feed, head]))
    return new Map(
      cursors.flatMap((cursor) => {
        const { webhookId } = cursor
        const target = targetOf.get(webhookId)?.[0]
        const replay = replayOf.get(webhookId)?.[0]
        if (!target) return []
        const lane = {
          cursor,
          filters: filtersOf.get(webhookId) ?? [],
          exceptions: exceptionsOf.get(webhookId) ?? [],
          agains: againsOf.get(webhookId) ?? [],
          ahead: seqs(aheadOf.get(webhookId)),
          replay: replay && { ...replay, ahead: seqs(replayedOf.get(webhookId)) },
        }
        return [[webhookId, { ...lane, ...target, head: headOf.get(cursor.feed)! }]]
      }),
    )
  }

  // ---- serving ----

  /** Reads on, and sends what may be sent. */
  #serve(held: HeldLane): void {
    const { lane } = held
    // A lane that is being loaded may be closed by now, or held by another worker.
    if (lane.state === 'lost' || held.isLoading || this.#isClosing) return
    const after = lane.scan()
    if (after !== undefined) lane.feed.read(after).catch((error: unknown) => this.#complain(error))
    this.#turns.add(held)
    this.#sendInTurn()
    const wanted = lane.wantsReplayed()
    if (wanted && !held.isReplaying) void this.#readReplay(held, wanted)
    if (lane.hasProgress && !lane.isSettling) this.#settlements.touch(lane)
    if (held.quietSince === undefined && lane.isIdle) this.#restLater()
  }

  /**
   * Lanes that have something to send, one after the other, as long as there is room: none goes on before the
   * others had their turn.
   */
  #sendInTurn(): void {
    while (this.#slots.hasRoomFor(attemptsAtOnce, performance.now())) {
      const held = this.#turns.next()
      if (!held) return
      this.#sendFrom(held)
    }
    this.#sending ??= setTimeout(() => {
      this.#sending = undefined
      this.#sendInTurn()
    }, slotMs).unref()
  }

  #sendFrom(held: HeldLane): void {
    const { lane } = held
    const now = this.#options.clock.now()
    while (this.#slots.hasRoomOf(held, performance.now())) {
      if (held.limit?.left(now) === 0) {
        this.#waitForRate(held, now)
        return
      }
      const sending = lane.next(now)
      if (!sending) return
      held.quietSince = undefined
      held.limit?.note(now)
      this.#slots.take(sending, held, performance.now())
      void this.#deliver(held, sending)
      const after = lane.scan()
      if (after !== undefined) lane.feed.read(after).catch((error: unknown) => this.#complain(error))
    }
  }

  #waitForRate(held: HeldLane, now: Date): void {
    const clearAt = held.limit!.clearAt(now)
    setTimeout(
      () => this.#serve(held),
      clearAt ? Math.max(20, (clearAt.getTime() - now.getTime()) / 20) : 20,
    ).unref()
  }

  async #readReplay(
    held: HeldLane,
    { round, after }: { readonly round: number; readonly after: number },
  ): Promise<void> {
    held.isReplaying = true
    try {
      const values = {
        part: held.part,
        webhookId: held.lane.webhookId,
        round,
        after,
        most: replayedAtOnce,
      }
      const rows = await poolOf(this.#options.db, held.part).query(kernel.readReplay, values)
      held.lane.takeReplayed(round, after, rows.at(-1)!.upto, rows.filter(isEntry))
      this.#settlements.touch(held.lane)
    } catch (error) {
      this.#complain(error)
    } finally {
      held.isReplaying = false
    }
    this.#serve(held)
  }

  async #deliver(held: HeldLane, sending: Sending): Promise<void> {
    const { lane } = held
    try {
      const entry = sending.entry ?? (await this.#readEntry(held, sending))
      if (entry) await this.#attempt(held, sending, entry)
      else {
        // The entry was dropped with its day: the database says so.
        lane.putBack(sending)
        this.#load([held])
      }
    } catch (error) {
      lane.putBack(sending)
      this.#complain(error)
    } finally {
      this.#slots.free(sending, held)
      if (this.#slots.total === 0) this.#idle?.()
      this.#serve(held)
    }
  }

  async #readEntry({ lane, part }: HeldLane, { seq, day }: Sending): Promise<LogEntry | undefined> {
    const known = lane.feed.find(seq)
    if (known) return known
    const values = { part, feed: lane.feed.id, seqs: [seq], days: [day] }
    const [entry] = await poolOf(this.#options.db, part).query(kernel.readEntries, values)
    return entry
  }

  async #attempt(held: HeldLane, sending: Sending, entry: LogEntry): Promise<void> {
    const { clock } = this.#options
    const { lane } = held
    const at = clock.now()
    const startedMs = performance.now()
    const { outcome, timing } = await this.#post(held, sending, entry, at)
    const now = clock.now()
    const verdict = judge(outcome, sending.attempt, now)
    const isNews = !lane.isFromBefore(sending)
    const until = isNews && outcome.kind === 'refused' ? askedToWaitUntil(outcome, now) : undefined
    if (until) lane.hold(until, now)
    const matters = lane.answer(sending, verdict, { outcome, at, durationMs: timing.totalMs }, now)
    if (matters) this.#settlements.note(lane)
    const reason = matters && isNews ? findReasonToDisable(lane, outcome, now) : undefined
    if (reason) this.#disable(lane.webhookId, reason, now)
    const delivery = {
      id: printDeliveryId({ webhookId: lane.webhookId, seq: sending.seq, round: sending.round }),
      webhookId: lane.webhookId,
      branchId: held.branchId,
      attempt: sending.attempt,
      isRepeat: sending.round > 0,
      dueAt: sending.source === 'new' ? entry.createdAt : sending.dueAt,
      event: entry,
    }
    for (const hear of this.#options.attempted)
      hear({ delivery, outcome, at, startedMs, timing, answeredAt: now, verdict, isKept: matters })
  }

  #disable(webhookId: number, reason: string, now: Date): void {
    const { db } = this.#options
    db.transaction((sql) => disableWebhook(sql, webhookId, reason, gatewayAct(now))).catch((error: unknown) =>
      this.#complain(error),
    )
  }

  async #post({ lane, url }: HeldLane, sending: Sending, entry: LogEntry, at: Date): Promise<PostResult> {
    const { secrets: keeper, headers: chosenKeeper, sender } = this.#options
    const { webhookId } = lane
    const found = keeper.find(webhookId, at)
    const foundHeaders = chosenKeeper.find(webhookId)
    const isKnown = !(found instanceof Promise || foundHeaders instanceof Promise)
    const [secrets, chosen] = isKnown ? [found, foundHeaders] : await Promise.all([found, foundHeaders])
    if (!secrets || !chosen) return notPosted('no-secret')
    const message = {
      id: printEventId(entry.uid),
      body: entry.body,
      sentAt: at,
      attempt: sending.attempt,
      simulated: entry.simulated,
    }
    const head = printHead(message, this.#signatures.print(entry, message, secrets), chosen)
    return sender.post({ url, webhookId, headers: head, body: entry.body })
  }

  #settled(lane: DeliveryLane, replayEnded: boolean): void {
    const held = this.#held.get(lane.webhookId)
    if (held?.lane !== lane) return
    // The next replay, if there is one, is found by loading.
    if (replayEnded) this.#load([held])
    else this.#serve(held)
  }

  // ---- looking round, resting ----

  #lookAround(): void {
    if (this.#isClosing) return
    this.#membership.attend()
    for (const held of this.#held.values()) {
      this.#serve(held)
      if (held.lane.isBehind) this.#settlements.touch(held.lane)
    }
    void this.#feedLooks.join()
    this.#rests.call()
  }

  /**
   * Notifications get lost with their connection: some of the feeds are asked whether they have grown, in
   * turns.
   */
  async #lookAtFeeds(): Promise<void> {
    const all = [...this.#feeds.values()]
    const some =
      all.length <= feedsLooked
        ? all
        : Array.from({ length: feedsLooked }, (_, index) => all[(this.#feedsAt + index) % all.length]!)
    this.#feedsAt = all.length === 0 ? 0 : (this.#feedsAt + feedsLooked) % all.length
    for (const [part, feeds] of Map.groupBy(some, (feed) => feed.part)) {
      const values = { part, feeds: feeds.map(({ id }) => id) }
      for (const { feed, head } of await poolOf(this.#options.db, part).query(log.selectHeads, values))
        this.#feeds.get(feed)?.append(head)
    }
  }

  /** A lane has nothing to do: when it has been so for long enough, it rests. */
  #restLater(): void {
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      this.#rests.call()
    }, this.#options.lingerMs).unref()
  }

  async #restQuiet(): Promise<void> {
    for (const part of new Set([...this.#held.values()].map((held) => held.part))) await this.#restIn(part)
  }

  /**
   * Judged and sent in one go: a lane that reads on in between would be put to rest above what it has begun.
   * Until the answer is there the lane does nothing.
   */
  async #restIn(part: number): Promise<void> {
    const now = this.#options.clock.now()
    const tired = this.#findTired(part, now)
    const [quiet, leaving] = [
      tired.filter(({ lane }) => lane.state === 'open'),
      tired.filter(({ lane }) => lane.state !== 'open'),
    ]
    const values = {
      part,
      now,
      webhookIds: quiet.map(({ lane }) => lane.webhookId),
      epochs: quiet.map(({ lane }) => lane.epoch),
      positions: quiet.map(({ lane }) => lane.finished),
      wakes: quiet.map(({ lane }) => lane.findDue(now) ?? 'infinity'),
    }
    for (const held of quiet) held.isLoading = true
    const asleep = new Set<number>()
    try {
      await this.#giveBack(leaving)
      if (quiet.length === 0) return
      const rows = await poolOf(this.#options.db, part).query(kernel.rest, values)
      for (const { webhookId } of rows) asleep.add(webhookId)
    } finally {
      for (const held of quiet) {
        held.isLoading = false
        held.quietSince = undefined
      }
      for (const held of quiet) if (asleep.has(held.lane.webhookId)) this.#drop(held)
      this.#load(quiet.filter(({ lane }) => lane.state !== 'lost'))
    }
  }

  #findTired(part: number, now: Date): HeldLane[] {
    const { lingerMs } = this.#options
    const nowMs = performance.now()
    return [...this.#held.values()].filter((held) => {
      const { lane } = held
      if (held.part !== part) return false
      held.quietSince = lane.isIdle && !held.isLoading ? (held.quietSince ?? nowMs) : undefined
      if (held.quietSince === undefined) return false
      const dueMs = (lane.findDue(now)?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime()
      return lane.state !== 'open' || (nowMs - held.quietSince >= lingerMs && dueMs > lingerMs)
    })
  }

  async #giveBack(all: readonly HeldLane[]): Promise<void> {
    for (const [part, of] of Map.groupBy(all, (held) => held.part)) {
      const lanes = of.map(({ lane }) => lane)
      for (const held of of) this.#drop(held)
      await poolOf(this.#options.db, part).query(kernel.giveBack, {
        part,
        webhookIds: lanes.map(({ webhookId }) => webhookId),
        epochs: lanes.map(({ epoch }) => epoch),
      })
      for (const lane of lanes) this.#givenBack.set(lane.webhookId, performance.now() + 5 * second)
    }
  }

  #recentlyGivenBack(): number[] {
    const nowMs = performance.now()
    for (const [webhookId, untilMs] of this.#givenBack) if (untilMs < nowMs) this.#givenBack.delete(webhookId)
    return this.#others.count === 0 ? [] : [...this.#givenBack.keys()]
  }

  async #report(): Promise<void> {
    if (this.#isClosing) return
    const view = await this.#membership.report(this.#held.size, this.#options.isFollowed())
    if (!view) return
    this.#others = { count: view.others, lanes: view.lanes, follow: view.follows }
    const share = this.#share()
    const above = [...this.#held.values()]
      .sort((a, b) => a.lane.unsettled - b.lane.unsettled)
      .slice(0, Math.max(0, this.#held.size - share))
    for (const { lane } of above) lane.leave()
    if (++this.#reported % forgottenEvery === 0) this.#lookForForgotten(() => true)
    void this.#evictions.join(view)
  }

  /**
   * Beside the report and not within it: with a distant database it takes longer than a worker may be silent.
   */
  async #evict(view: ClusterView): Promise<void> {
    if ((await this.#membership.evict(view)) || this.#mayForget.size > 0) this.#take(allParts)
    else if (view.missing > 0) setTimeout(() => void this.#reports.join(), suspectEveryMs).unref()
  }

  #complain(error: unknown): void {
    if (!this.#isClosing)
      this.#options.log.warn({ err: error }, 'the worker was interrupted; it goes on by itself')
  }
}

interface WebhookKey {
  readonly webhookId: number
}

interface Target {
  readonly url: string
  readonly rateLimit: number | null
}

/** What is read with a lane and is not its own. */
interface LaneTarget extends Target {
  /** Of its feed: a worker that takes a lane begins at once, and not at its next look. */
  readonly head: number
}

/** As a replay is read, whose last row has none. */
type MaybeEntry = { readonly [Name in keyof LogEntry]: LogEntry[Name] | null }

function isEntry<Row extends MaybeEntry>(row: Row): row is Row & LogEntry {
  return row.seq !== null
}
