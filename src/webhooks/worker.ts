/**
 * The delivery engine of a node. It turns events into deliveries, holds lanes under a lease that it renews, sends what is due, and
 * settles in batches. A notification wakes it; a look each second is the backstop. Whatever it holds when it dies is free again
 * when the lease runs out; nothing that it does after that can be settled.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { after, type Clock, second } from '../clock.ts'
import type { Batch } from '../database/batch.ts'
import { type Changes, everything } from '../database/changes.ts'
import type { Database, Listener } from '../database/database.ts'
import { notPosted, type Outcome, type Posted, type Sender } from './attempt.ts'
import type { AttemptMade } from './attempt-made.ts'
import { type DispatchMade, dispatchOnce, readNews } from './dispatch.ts'
import { printEventId } from './event.ts'
import {
  type DueDelivery,
  freeSlots,
  handBack,
  isBreakerOpen,
  type Lane,
  noteFailure,
  noteSuccess,
  openLane,
  shouldDisable,
  takeInHand,
} from './lane.ts'
import * as table from './lanes.sql.ts'
import { printHead } from './request-head.ts'
import { openSettlements, type Settled, type Settlement } from './settlement.ts'
import type { SecretKeeper } from './signing-secrets.ts'

const leaseMs = 12 * second
const renewEveryMs = 3 * second
const renewAgainMs = 250
const lookEveryMs = second
/** A connection that hears of work and is silent for longer is opened anew. */
const silenceLimitMs = 2_500
/** A lane that has run dry is kept for a moment: the next delivery then costs no claim. */
const lingerMs = 200
const lanesHeldAtMost = 500
const lanesClaimedAtOnce = 100
/** Older claims have run out by themselves. */
const doubtsAtMost = 100
const attemptsInFlightAtMost = 1_000
/** The first of many events are sent while the last wait to be dispatched; a backlog is taken in larger and larger pieces. */
const eventsAtFirst = 25
const eventsAtMost = 400
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
  /** Each is told of every attempt that was settled. */
  readonly attempted: readonly ((attempt: AttemptMade) => void)[]
  /** Told of every dispatch, if anybody traces. */
  readonly traceDispatch: ((dispatch: DispatchMade) => void) | undefined
  /** Called when a notification says that events or deliveries came. */
  readonly dispatched: () => void
}

export interface Worker {
  /** Looks for work now. */
  wake(): void
  /** Finishes what is under way, lets the lanes go, stops. */
  close(): Promise<void>
}

export function openWorker(desk: WorkerDesk): Worker {
  return new DeliveryWorker(desk)
}

interface ClaimedRow {
  readonly webhook_id: number
  readonly branch_id: number
  readonly failures: number
  readonly failing_since: Date | null
}

class DeliveryWorker implements Worker {
  readonly #desk: WorkerDesk
  readonly #lanes = new Map<number, Lane>()
  readonly #settlements: Batch<Settlement, Settled>
  readonly #timers: NodeJS.Timeout[]
  #listener: Listener | undefined
  #listening = false
  #inFlight = 0
  /** Claims whose outcome nobody told us. */
  #doubtful: string[] = []
  #dispatching: Promise<void> | undefined
  #dispatchAgain = false
  #dispatchSize = eventsAtFirst
  #looking: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #lookAgain = false
  #lookEverywhere = true
  #closing = false
  #idle: (() => void) | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(desk: WorkerDesk) {
    this.#desk = desk
    this.#settlements = openSettlements(desk.db)
    this.#timers = [setInterval(() => this.wake(), lookEveryMs), setInterval(() => this.#renew(), renewEveryMs)]
    desk.changes.subscribe((tag) => this.#reconsider(tag))
    this.wake()
  }

  wake(): void {
    void this.#listen()
    // Notifications get lost with their connection, and retries fall due without one.
    for (const lane of this.#lanes.values()) lane.drained = false
    this.#dispatch()
    this.#look(true)
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#lingering)
    await this.#listener?.close().catch(() => {})
    for (const lane of this.#lanes.values()) handBack(lane)
    await this.#dispatching
    await this.#looking
    await this.#renewing
    if (this.#inFlight > 0) await new Promise<void>((idle) => (this.#idle = idle))
    await this.#release([...this.#lanes.values()]).catch((error: unknown) => this.#complain(error))
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
    const heard = (news: string) => {
      this.#desk.dispatched()
      if (news === 'event') this.#dispatch()
      else this.#hearOfDeliveries(readNews(news))
    }
    this.#listener = await this.#desk.db.listen('countersign_work', heard, lost)
  }

  #hearOfDeliveries(webhookIds: readonly number[] | undefined): void {
    const told = webhookIds?.map((id) => this.#lanes.get(id)) ?? [...this.#lanes.values()]
    for (const lane of told) if (lane) lane.drained = false
    // What no held lane can take needs one that is claimed.
    this.#look(told.includes(undefined) || webhookIds === undefined)
  }

  /** Beside the looking, so that what can be sent already does not wait for what is still being created. */
  #dispatch(): void {
    if (this.#closing) return
    this.#dispatchAgain = true
    this.#dispatching ??= this.#dispatchAll().finally(() => {
      this.#dispatching = undefined
    })
  }

  async #dispatchAll(): Promise<void> {
    const { db, clock, traceDispatch } = this.#desk
    while (this.#dispatchAgain && !this.#closing) {
      this.#dispatchAgain = false
      const most = this.#dispatchSize
      try {
        const taken = await dispatchOnce(db, clock.now(), most, traceDispatch)
        if (taken > 0) this.#dispatchAgain = true
        this.#dispatchSize = taken === most ? Math.min(2 * most, eventsAtMost) : eventsAtFirst
      } catch (error) {
        // If it was too much for the time it has, less is not.
        this.#dispatchSize = Math.ceil(most / 4)
        this.#complain(error)
      }
    }
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
      .query<ClaimedRow>(table.claimLanes, [...[claimId, now, after(now, leaseMs), most]])
      .catch((error: unknown) => {
        this.#doubtful = [...this.#doubtful, claimId].slice(-doubtsAtMost)
        throw error
      })
    for (const { webhook_id: webhookId, branch_id: branchId, failures, failing_since } of rows) {
      const before = this.#lanes.get(webhookId)
      if (before) before.lost = true
      const failingSince = failing_since ?? undefined
      this.#lanes.set(webhookId, openLane({ webhookId, branchId, claimId, leasedUntilMs, failures, failingSince }))
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
    if (hungry.length === 0) return
    const mosts = hungry.map((lane) => (isBreakerOpen(lane) ? 1 : isLive ? readAhead : freeSlots(lane)))
    const inHand = hungry.flatMap((lane) => [...lane.inHand])
    for (const lane of hungry) {
      lane.drained = true
      lane.changed = false
    }
    const rows = await this.#desk.db.query<DueDelivery>(table.selectDue, [
      ...[hungry.map((lane) => lane.webhookId), mosts, this.#desk.clock.now(), inHand],
    ])
    for (const delivery of rows) {
      const lane = this.#lanes.get(delivery.webhook_id)
      if (lane) takeInHand(lane, delivery)
    }
    // A full page may have more behind it.
    for (const [index, lane] of hungry.entries()) if (lane.buffer.length >= mosts[index]!) lane.drained = false
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

  /** Half of the room is for everybody; the other half holds one attempt of each lane, so that those that hang starve nobody. */
  #hasRoomFor(lane: Lane): boolean {
    return lane.sending === 0 || this.#inFlight < attemptsInFlightAtMost - lanesHeldAtMost
  }

  async #deliver(lane: Lane, delivery: DueDelivery): Promise<void> {
    const { clock } = this.#desk
    try {
      const at = clock.now()
      const startedMs = performance.now()
      const { outcome, timing } = await this.#attempt(delivery, at)
      const now = clock.now()
      if (outcome.kind === 'accepted') noteSuccess(lane)
      else noteFailure(lane, now)
      lane.sending--
      if (!this.#desk.changes.isLive) this.#lookAgainAt(lane)
      this.#sendFrom(lane)
      const disable = findReasonToDisable(lane, outcome, now)
      const durationMs = timing.totalMs
      const settled = await this.#settlements.run({ lane, delivery, outcome, at, durationMs, now, disable })
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
    }
  }

  async #attempt(delivery: DueDelivery, at: Date): Promise<Posted> {
    const found = this.#desk.secrets.find(delivery.webhook_id, at)
    const secrets = found instanceof Promise ? await found : found
    if (!secrets) return notPosted('no-secret')
    const { body, url, uid } = delivery
    const message = { id: printEventId(uid), body, sentAt: at, attempt: delivery.attempts + 1 }
    const headers = printHead(message, secrets)
    return this.#desk.sender.post({ url, headers, body })
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
      else if (lane.probeAt) return true
      else if (lane.drained) lane.quietSince ??= now
      return lane.quietSince !== undefined && now - lane.quietSince >= patienceMs
    })
    if (done.length > 0) await this.#release(done)
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
      lanes.map((lane) => lane.probeAt),
      this.#desk.clock.now(),
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

function findReasonToDisable(lane: Lane, outcome: Outcome, now: Date): string | undefined {
  if (outcome.kind === 'refused' && outcome.status === 410) return 'the receiver answered 410 Gone'
  return shouldDisable(lane, now) ? 'no success in five days among a hundred attempts or more' : undefined
}
