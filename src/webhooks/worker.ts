/**
 * What a node delivers. It holds lanes under a lease that it renews, sends what is due, and settles in batches. A notification wakes
 * it; a look each second is the backstop. Workers know of each other, and who holds more than its share gives lanes back at once.
 * Whatever it holds when it dies is free again when the lease runs out; nothing that it does after that can be settled.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { after, type Clock, second } from '../clock.ts'
import { type Changes, everything } from '../database/changes.ts'
import type { Database, Listener } from '../database/database.ts'
import { notPosted, type Outcome, type Posted, type Sender } from './attempt.ts'
import type { AttemptMade } from './attempt-made.ts'
import type { Days } from './days.ts'
import { type DispatchMade, type News, readNews } from './dispatch.ts'
import { type Dispatcher, openDispatcher } from './dispatcher.ts'
import { printEventId } from './event.ts'
import { type EventBodies, openEventBodies } from './event-bodies.ts'
import {
  type DueDelivery,
  freeSlots,
  handBack,
  holdUntil,
  isBreakerOpen,
  type Lane,
  leaveBehind,
  notBefore,
  noteDrained,
  noteFailure,
  noteSuccess,
  openLane,
  shouldDisable,
  takeInHand,
} from './lane.ts'
import * as table from './lanes.sql.ts'
import { printHead } from './request-head.ts'
import { askedToWaitUntil } from './retry-schedule.ts'
import { openSettlements, type Settlements } from './settlement.ts'
import type { SecretKeeper } from './signing-secrets.ts'

const leaseMs = 12 * second
const renewEveryMs = 3 * second
const renewAgainMs = 250
const lookEveryMs = second
/** A connection that hears of work and is silent for longer is opened anew. */
const silenceLimitMs = 2_500
/** A lane that has run dry is kept for a moment: the next delivery then costs no claim. */
const lingerMs = 200
const lanesHeldAtMost = 2_000
const lanesClaimedAtOnce = 100
const reportEveryMs = second
/** A worker that has said nothing for so long is not counted on. */
const absentAfterMs = 3 * second
/** Somebody else is to have what was given back. */
const givenBackMs = 3 * second
/** Not worth a move. */
const shareSlack = 2
/** Older claims have run out by themselves. */
const doubtsAtMost = 100
/** For everybody; beyond it each lane has one, so that those that hang starve nobody. */
const attemptsForAll = 500
/** Answered and not written down yet. */
const unsettledAtMost = 2_000
/** How far a worker reads ahead in a lane. */
const readAhead = 50

export interface WorkerDesk {
  readonly db: Database
  /** Says when a webhook was paused, deleted or sent elsewhere, and when a partner was suspended. */
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly sender: Sender
  readonly secrets: SecretKeeper
  readonly days: Days
  /** Each is told of every attempt that was settled. */
  readonly attempted: readonly ((attempt: AttemptMade) => void)[]
  /** Told of every dispatch, if anybody traces. */
  readonly traceDispatch: ((dispatch: DispatchMade) => void) | undefined
  /** Called when a notification says whose events were dispatched. */
  readonly dispatched: (news: News) => void
}

export interface Worker {
  /** Looks for work now. */
  wake(): void
  /** Something was published in this part. */
  published(part: number): void
  /** Finishes what is under way, lets the lanes go, stops. */
  close(): Promise<void>
}

export function openWorker(desk: WorkerDesk): Worker {
  return new DeliveryWorker(desk)
}

class DeliveryWorker implements Worker {
  readonly #desk: WorkerDesk
  readonly #lanes = new Map<number, Lane>()
  readonly #settlements: Settlements
  readonly #dispatcher: Dispatcher
  readonly #bodies: EventBodies = openEventBodies()
  readonly #id = randomUUID()
  readonly #timers: NodeJS.Timeout[]
  #listener: Listener | undefined
  #listening = false
  #inFlight = 0
  #unsettled = 0
  #reporting = false
  /** Lanes that somebody else is to take, and until when. */
  readonly #givenBack = new Map<number, number>()
  /** Claims whose outcome nobody told us. */
  #doubtful: string[] = []
  #looking: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #lookAgain = false
  #lookEverywhere = true
  #closing = false
  #idle: (() => void) | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(desk: WorkerDesk) {
    this.#desk = desk
    this.#settlements = openSettlements(desk)
    this.#dispatcher = openDispatcher(desk, desk.log)
    this.#timers = [
      setInterval(() => this.wake(), lookEveryMs),
      setInterval(() => this.#renew(), renewEveryMs),
      setInterval(() => void this.#report(), reportEveryMs),
    ]
    void this.#report()
    desk.changes.subscribe((tag) => this.#reconsider(tag))
    this.wake()
  }

  wake(): void {
    void this.#listen()
    // Notifications get lost with their connection, and retries fall due without one.
    for (const lane of this.#lanes.values()) lane.drained = false
    this.#look(true)
  }

  published(part: number): void {
    this.#dispatcher.wake(part)
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#lingering)
    await this.#listener?.close().catch(() => {})
    for (const lane of this.#lanes.values()) handBack(lane)
    await this.#dispatcher.close()
    await this.#looking
    await this.#renewing
    if (this.#inFlight > 0) await new Promise<void>((idle) => (this.#idle = idle))
    await this.#release([...this.#lanes.values()]).catch((error: unknown) => this.#complain(error))
    await this.#desk.db.query(table.removeWorkers, [this.#id, new Date(0)]).catch(() => {})
  }

  /** What was read and not sent yet may no longer be wanted, or not there. */
  #reconsider(tag: string): void {
    for (const lane of this.#lanes.values()) {
      if (tag !== everything && tag !== `webhook:${lane.webhookId}` && tag !== `branch:${lane.branchId}`) continue
      this.#lookAgainAt(lane)
      lane.changed = true
      this.#look(false)
    }
  }

  #lookAgainAt(lane: Lane): void {
    handBack(lane)
    lane.drained = false
  }

  /** Opens the connection that hears of work, or asks whether it still answers; losing it sets it to undefined. */
  async #listen(): Promise<void> {
    if (this.#listening) return
    this.#listening = true
    await (this.#listener?.ping(silenceLimitMs) ?? this.#openListener()).catch(() => {})
    this.#listening = false
    if (this.#closing) await this.#listener?.close()
  }

  async #openListener(): Promise<void> {
    const lost = () => {
      this.#listener = undefined
    }
    const heard = (text: string) => {
      if (text === 'event') return this.#dispatcher.look()
      const news = readNews(text)
      this.#desk.dispatched(news)
      this.#hearOfDeliveries(news.webhookIds)
    }
    this.#listener = await this.#desk.db.listen('countersign_work', heard, lost)
  }

  #hearOfDeliveries(webhookIds: readonly number[] | undefined): void {
    const told = webhookIds?.map((id) => this.#lanes.get(id)) ?? [...this.#lanes.values()]
    for (const lane of told) if (lane) lane.drained = false
    // What no held lane can take needs one that is claimed.
    this.#look(told.includes(undefined) || webhookIds === undefined)
  }

  /** One look at a time; a call while it runs makes it run once more. `everywhere`: also lanes that others held or nobody. */
  #look(everywhere: boolean): void {
    if (this.#closing) return
    this.#lookAgain = true
    this.#lookEverywhere ||= everywhere
    this.#looking ??= this.#lookUntilQuiet().finally(() => {
      this.#looking = undefined
    })
  }

  async #lookUntilQuiet(): Promise<void> {
    while (this.#lookAgain && !this.#closing) {
      const everywhere = this.#lookEverywhere
      this.#lookAgain = false
      this.#lookEverywhere = false
      try {
        if (everywhere) await this.#takeOn()
        await this.#readAhead()
        this.#sendAll()
        await this.#letGo()
      } catch (error) {
        this.#complain(error)
        return
      }
    }
  }

  async #takeOn(): Promise<void> {
    const { db, clock } = this.#desk
    const most = Math.min(lanesClaimedAtOnce, lanesHeldAtMost - this.#lanes.size)
    if (most <= 0) return
    if (this.#doubtful.length > 0) await this.#undoDoubtful()
    const now = clock.now()
    const claimId = randomUUID()
    const leasedUntilMs = performance.now() + leaseMs
    const rows = await db
      .query<ClaimedRow>(table.claimLanes, [claimId, now, after(now, leaseMs), most, this.#recentlyGivenBack()])
      .catch((error: unknown) => {
        this.#doubtful = [...this.#doubtful, claimId].slice(-doubtsAtMost)
        throw error
      })
    for (const row of rows) {
      const before = this.#lanes.get(row.webhook_id)
      if (before) before.lost = true
      this.#lanes.set(row.webhook_id, openLane({ ...claimedOf(row), claimId, leasedUntilMs }))
    }
    if (rows.length === most) this.#look(true)
  }

  /** A claim that was made and not heard of would keep its lanes from everybody until the lease ends. */
  async #undoDoubtful(): Promise<void> {
    const claims = [...this.#doubtful]
    await this.#desk.db.query(table.undoClaims, [claims, this.#desk.clock.now()])
    this.#doubtful = this.#doubtful.filter((claimId) => !claims.includes(claimId))
  }

  /** Nothing ahead while changes cannot be heard: what is in the buffer might have to be kept back, and nobody would say so. */
  async #readAhead(): Promise<void> {
    const { isLive } = this.#desk.changes
    if (!isLive) for (const lane of this.#lanes.values()) this.#lookAgainAt(lane)
    const hungry = [...this.#lanes.values()].filter(
      (lane) => lane.buffer.length === 0 && !lane.drained && freeSlots(lane) > 0,
    )
    for (const lane of hungry) {
      lane.drained = true
      lane.changed = false
    }
    const probing = hungry.filter(isBreakerOpen)
    await this.#readDue(
      hungry.filter((lane) => !probing.includes(lane)),
      isLive,
    )
    await this.#readProbes(probing)
  }

  async #readDue(lanes: readonly Lane[], isLive: boolean): Promise<void> {
    if (lanes.length === 0) return
    const mosts = lanes.map((lane) => (isLive ? readAhead : freeSlots(lane)))
    const now = this.#desk.clock.now()
    const rows = await this.#desk.db.query<DueRow & { id: number | null }>(table.selectDue, [
      lanes.map((lane) => lane.webhookId),
      mosts,
      now,
      lanes.flatMap((lane) => [...lane.inHand]),
      lanes.map((lane) => lane.dueFrom),
    ])
    const byWebhook = Map.groupBy(rows, (row) => row.webhook_id)
    for (const [index, lane] of lanes.entries()) {
      const page = byWebhook.get(lane.webhookId)
      if (page && page.length < mosts[index]!) noteDrained(lane, now)
      // A full page may have more behind it.
      else if (page) lane.drained = false
    }
    await this.#take(rows.filter((row) => row.id !== null))
  }

  async #readProbes(lanes: readonly Lane[]): Promise<void> {
    if (lanes.length === 0) return
    const values = [lanes.map((lane) => lane.webhookId), this.#desk.clock.now(), lanes.map((lane) => lane.dueFrom)]
    const rows = await this.#desk.db.query<DueRow>(table.selectProbes, values)
    await this.#take(rows.filter((row) => !this.#lanes.get(row.webhook_id)?.inHand.has(row.id)))
  }

  async #take(rows: readonly DueRow[]): Promise<void> {
    try {
      const events = await this.#bodies.find(
        this.#desk.db,
        rows.map((row) => row.event_id),
      )
      for (const row of rows) {
        const lane = this.#lanes.get(row.webhook_id)
        const event = events.get(row.event_id)
        if (lane && event) takeInHand(lane, { ...row, event })
      }
    } catch (error) {
      for (const row of rows) {
        const lane = this.#lanes.get(row.webhook_id)
        if (lane) leaveBehind(lane, row)
        if (lane) lane.drained = false
      }
      throw error
    }
  }

  #sendAll(): void {
    for (const lane of this.#lanes.values()) this.#sendFrom(lane)
  }

  #sendFrom(lane: Lane): void {
    while (lane.buffer.length > 0 && freeSlots(lane) > 0 && this.#hasRoomFor(lane) && !this.#closing) {
      const delivery = lane.buffer.shift()!
      lane.sending++
      this.#inFlight++
      void this.#deliver(lane, delivery)
    }
  }

  #hasRoomFor(lane: Lane): boolean {
    if (this.#unsettled >= unsettledAtMost) return false
    return lane.sending === 0 || this.#inFlight - this.#unsettled < attemptsForAll
  }

  async #deliver(lane: Lane, delivery: DueDelivery): Promise<void> {
    const { clock } = this.#desk
    try {
      const at = clock.now()
      const startedMs = performance.now()
      const { outcome, timing } = await this.#attempt(delivery, at)
      const now = clock.now()
      this.#note(lane, delivery, outcome, now)
      lane.sending--
      lane.unsettled++
      this.#unsettled++
      if (!this.#desk.changes.isLive) this.#lookAgainAt(lane)
      this.#sendFrom(lane)
      const disable = findReasonToDisable(lane, outcome, now)
      const durationMs = timing.totalMs
      const settled = await this.#settlements
        .settle({ lane, delivery, outcome, at, durationMs, now, disable })
        .finally(() => this.#settledOne(lane))
      const made = { delivery, outcome, at, startedMs, timing, answeredAt: now, settled }
      for (const hear of this.#desk.attempted) hear(made)
      if (settled.released) lane.drained = false
      if (!settled.accepted) lane.lost = true
    } catch (error) {
      // Not settled: the lease runs out and it is sent again.
      lane.lost = true
      this.#complain(error)
    } finally {
      lane.inHand.delete(delivery.id)
      this.#inFlight--
      if (this.#inFlight === 0) this.#idle?.()
      if (lane.buffer.length === 0) this.#look(false)
      else this.#sendFrom(lane)
    }
  }

  #settledOne(lane: Lane): void {
    const wasFull = this.#unsettled-- >= unsettledAtMost
    lane.unsettled--
    if (wasFull) setImmediate(() => this.#sendAll())
  }

  #note(lane: Lane, delivery: DueDelivery, outcome: Outcome, now: Date): void {
    if (outcome.kind === 'accepted') noteSuccess(lane)
    else noteFailure(lane, delivery, now)
    const until = outcome.kind === 'refused' ? askedToWaitUntil(outcome, now) : undefined
    if (until) holdUntil(lane, until)
  }

  async #attempt(delivery: DueDelivery, at: Date): Promise<Posted> {
    const found = this.#desk.secrets.find(delivery.webhook_id, at)
    const secrets = found instanceof Promise ? await found : found
    if (!secrets) return notPosted('no-secret')
    const { url, event } = delivery
    const { body, simulated } = event
    const message = { id: printEventId(event.uid), body, sentAt: at, attempt: delivery.attempts + 1, simulated }
    const headers = printHead(message, secrets)
    return this.#desk.sender.post({ url, headers, body })
  }

  /** Says that this worker is there, and gives back what is above its share: nobody has to wait until a lane runs dry. */
  async #report(): Promise<void> {
    if (this.#reporting || this.#closing) return
    this.#reporting = true
    try {
      const now = this.#desk.clock.now()
      const [answer] = await this.#desk.db.query<{ others: number; lanes: number }>(table.reportWorker, [
        ...[this.#id, now, this.#lanes.size, after(now, -absentAfterMs)],
      ])
      const { others, lanes } = answer!
      const share = Math.ceil((lanes + this.#lanes.size) / (others + 1))
      if (others > 0 && this.#lanes.size > share + shareSlack) this.#giveBack(this.#lanes.size - share)
    } catch {
      // Who cannot say that it is there is not counted on for a while.
    } finally {
      this.#reporting = false
    }
  }

  /** Those with least under way first: they can go at once. */
  #giveBack(count: number): void {
    const inOrder = [...this.#lanes.values()].sort((a, b) => a.sending - b.sending)
    for (const lane of inOrder.slice(0, count)) {
      lane.leaving = true
      handBack(lane)
      this.#givenBack.set(lane.webhookId, performance.now() + givenBackMs)
    }
    this.#look(false)
  }

  #recentlyGivenBack(): number[] {
    const now = performance.now()
    for (const [webhookId, untilMs] of this.#givenBack) if (untilMs < now) this.#givenBack.delete(webhookId)
    return [...this.#givenBack.keys()]
  }

  /** Lanes in which nothing has been under way for a moment and nothing more is due, or may be sent, go back. */
  async #letGo(): Promise<void> {
    for (const lane of this.#lanes.values()) {
      if (!lane.lost) continue
      handBack(lane)
      if (lane.inHand.size === 0) this.#lanes.delete(lane.webhookId)
    }
    const now = performance.now()
    const patienceMs = this.#lanes.size > lanesHeldAtMost / 2 ? 0 : lingerMs
    const done = [...this.#lanes.values()].filter((lane) => {
      if (lane.inHand.size > 0) lane.quietSince = undefined
      else if (lane.probeAt || lane.heldUntil || lane.leaving) return true
      else if (lane.drained) lane.quietSince ??= now
      return lane.quietSince !== undefined && now - lane.quietSince >= patienceMs
    })
    if (done.length > 0) await this.#release(done)
    if (done.some((lane) => lane.leaving)) await this.#desk.db.query(table.wakeOthers)
    if (this.#lanes.size > 0) this.#lingering ??= setTimeout(() => this.#stopLingering(), lingerMs)
  }

  #stopLingering(): void {
    this.#lingering = undefined
    this.#look(false)
  }

  async #release(lanes: readonly Lane[]): Promise<void> {
    for (const lane of lanes) this.#lanes.delete(lane.webhookId)
    const released = this.#desk.db.query(table.releaseLanes, [
      lanes.map((lane) => lane.webhookId),
      lanes.map((lane) => lane.claimId),
      lanes.map((lane) => lane.failures),
      lanes.map((lane) => lane.failingSince),
      lanes.map(notBefore),
      lanes.map((lane) => lane.evidence),
      lanes.map((lane) => lane.dueFrom),
      this.#desk.clock.now(),
      lanes.map((lane) => lane.heldUntil),
    ])
    await released.catch((error: unknown) => {
      // They are let go again later; whatever is no longer ours by then is lost, which the next renewal tells.
      for (const lane of lanes) if (!this.#lanes.has(lane.webhookId)) this.#lanes.set(lane.webhookId, lane)
      throw error
    })
  }

  /** One renewal at a time; one that failed is repeated at once, because the lease does not wait for the next turn. */
  #renew(): void {
    this.#renewing ??= this.#renewUntilDone().finally(() => {
      this.#renewing = undefined
    })
  }

  async #renewUntilDone(): Promise<void> {
    while (this.#lanes.size > 0 && !this.#closing) {
      try {
        return await this.#renewOnce([...this.#lanes.values()])
      } catch (error) {
        this.#complain(error)
        await wait(renewAgainMs)
      }
    }
  }

  async #renewOnce(held: readonly Lane[]): Promise<void> {
    const leasedUntilMs = performance.now() + leaseMs
    const rows = await this.#desk.db.query<{ webhook_id: number }>(table.renewLeases, [
      held.map((lane) => lane.webhookId),
      [...new Set(held.map((lane) => lane.claimId))],
      after(this.#desk.clock.now(), leaseMs),
    ])
    const kept = new Set(rows.map((row) => row.webhook_id))
    for (const lane of held) {
      if (kept.has(lane.webhookId)) lane.leasedUntilMs = leasedUntilMs
      else lane.lost = true
    }
  }

  #complain(error: unknown): void {
    if (!this.#closing) this.#desk.log.warn({ err: error }, 'the worker was interrupted; it goes on by itself')
  }
}

interface ClaimedRow {
  readonly webhook_id: number
  readonly branch_id: number
  readonly part: number
  readonly failures: number
  readonly failing_since: Date | null
  readonly evidence: number
  readonly due_from: Date
}

/** `-infinity` is read as a number. */
function claimedOf({ webhook_id, branch_id, part, failures, failing_since, evidence, due_from }: ClaimedRow) {
  const dueFrom = due_from instanceof Date ? due_from : new Date(0)
  return {
    webhookId: webhook_id,
    branchId: branch_id,
    part,
    failures,
    failingSince: failing_since ?? undefined,
    evidence,
    dueFrom,
  }
}

type DueRow = Omit<DueDelivery, 'event'>

function findReasonToDisable(lane: Lane, outcome: Outcome, now: Date): string | undefined {
  if (outcome.kind === 'refused' && outcome.status === 410) return 'the receiver answered 410 Gone'
  return shouldDisable(lane, now) ? 'no success in five days among a hundred attempts or more' : undefined
}
