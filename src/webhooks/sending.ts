/**
 * Sends what lanes have in hand, and writes down what became of it. Bounded for the node as for each lane: a slow database slows it down,
 * and receivers that hang starve nobody.
 */
import type { Clock } from '../clock.ts'
import type { Changes } from '../database/changes.ts'
import { notPosted, type Outcome, type Posted, type Sender } from './attempt.ts'
import type { AttemptMade } from './attempt-made.ts'
import { printEventId } from './event.ts'
import {
  type DueDelivery,
  freeSlots,
  hasMoreSince,
  holdUntil,
  type Lane,
  lookAgainAt,
  noteBegun,
  noteFailure,
  noteSuccess,
  shouldDisable,
  waitOfLimit,
} from './lane.ts'
import { Pace } from './pace.ts'
import { printHead } from './request-head.ts'
import { askedToWaitUntil } from './retry-schedule.ts'
import type { Settlements } from './settlement.ts'
import { SignaturesOfEvents } from './signature.ts'
import type { SecretKeeper } from './signing-secrets.ts'
import type { HeaderKeeper } from './webhook-headers.ts'

/** For everybody; beyond it each lane has one, so that those that hang starve nobody. */
const attemptsForAll = { most: 500, least: 100 }
/** Answered and not written down yet. */
const unsettledAtMost = 400

interface SendingDesk {
  readonly changes: Changes
  readonly clock: Clock
  readonly sender: Sender
  readonly secrets: SecretKeeper
  readonly headers: HeaderKeeper
  readonly settlements: Settlements
  /** Each is told of every attempt that was settled. */
  readonly attempted: readonly ((attempt: AttemptMade) => void)[]
  /** A lane has nothing more in its buffer. */
  readonly isDry: () => void
  /** There is room again for whoever has something to send. */
  readonly goOn: () => void
  readonly complain: (error: unknown) => void
}

export class Sending {
  readonly #desk: SendingDesk
  readonly #pace = new Pace(attemptsForAll)
  readonly #signatures = new SignaturesOfEvents()
  #inFlight = 0
  #unsettled = 0
  /** Lanes whose receivers want the next attempts later. */
  readonly #limited = new Map<Lane, NodeJS.Timeout>()
  #closing = false
  #idle: (() => void) | undefined

  constructor(desk: SendingDesk) {
    this.#desk = desk
  }

  /** Less than half of what may be under way is. */
  get hasRoom(): boolean {
    return this.#inFlight < attemptsForAll.most / 2 && this.#unsettled < unsettledAtMost / 2
  }

  sendFrom(lane: Lane): void {
    const { clock } = this.#desk
    while (lane.buffer.length > 0 && freeSlots(lane, clock) > 0 && this.#hasRoomFor(lane) && !this.#closing) {
      const delivery = lane.buffer.shift()!
      lane.sending++
      this.#inFlight++
      noteBegun(lane, clock)
      void this.#deliver(lane, delivery)
    }
    if (lane.limitedUntil) this.#resume(lane)
  }

  /** Goes on with a lane when its receiver's next second has begun. */
  #resume(lane: Lane): void {
    const waitMs = waitOfLimit(lane, this.#desk.clock)
    if (waitMs === 0 || this.#limited.has(lane) || this.#closing) return
    const goOn = () => {
      this.#limited.delete(lane)
      if (lane.buffer.length === 0) this.#desk.isDry()
      else this.sendFrom(lane)
    }
    this.#limited.set(lane, setTimeout(goOn, Math.ceil(waitMs)))
  }

  /** Begins nothing more, and waits for what is under way. */
  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#limited.values()) clearTimeout(timer)
    this.#desk.settlements.hurry()
    if (this.#inFlight > 0) await new Promise<void>((idle) => (this.#idle = idle))
  }

  #hasRoomFor(lane: Lane): boolean {
    if (this.#unsettled >= unsettledAtMost) return false
    return lane.sending === 0 || this.#inFlight - this.#unsettled < this.#pace.mostAt(performance.now())
  }

  async #deliver(lane: Lane, delivery: DueDelivery): Promise<void> {
    try {
      await this.#attempt(lane, delivery)
    } catch (error) {
      // Not settled: the lease runs out and it is sent again.
      lane.lost = true
      this.#desk.complain(error)
    } finally {
      lane.inHand.delete(delivery.id)
      lane.awaited &&= lane.inHand.size > 0
      this.#inFlight--
      if (this.#inFlight === 0) this.#idle?.()
      if (lane.buffer.length === 0) this.#desk.isDry()
      else this.sendFrom(lane)
    }
  }

  async #attempt(lane: Lane, delivery: DueDelivery): Promise<void> {
    const { clock, changes, settlements } = this.#desk
    const at = clock.now()
    const startedMs = performance.now()
    const { outcome, timing } = await this.#post(delivery, at)
    const now = clock.now()
    note(lane, delivery, outcome, now)
    lane.sending--
    lane.unsettled++
    this.#unsettled++
    if (!changes.isLive) lookAgainAt(lane)
    this.sendFrom(lane)
    const disable = findReasonToDisable(lane, outcome, now)
    const settled = await settlements
      .settle({ lane, delivery, outcome, at, durationMs: timing.totalMs, now, disable }, lane.awaited || this.#closing)
      .finally(() => this.#settledOne(lane))
    for (const hear of this.#desk.attempted)
      hear({ delivery, outcome, at, startedMs, timing, answeredAt: now, settled })
    if (settled.releasedAt) hasMoreSince(lane, settled.releasedAt)
    if (!settled.accepted) lane.lost = true
  }

  #settledOne(lane: Lane): void {
    const wasFull = this.#unsettled-- >= unsettledAtMost
    lane.unsettled--
    if (wasFull) setImmediate(this.#desk.goOn)
  }

  async #post(delivery: DueDelivery, at: Date): Promise<Posted> {
    const found = this.#desk.secrets.find(delivery.webhookId, at)
    const foundHeaders = this.#desk.headers.find(delivery.webhookId)
    const isKnown = !(found instanceof Promise || foundHeaders instanceof Promise)
    const [secrets, chosen] = isKnown ? [found, foundHeaders] : await Promise.all([found, foundHeaders])
    if (!secrets || !chosen) return notPosted('no-secret')
    const { url, webhookId, event } = delivery
    const { body, simulated } = event
    const message = { id: printEventId(event.uid), body, sentAt: at, attempt: delivery.attempts + 1, simulated }
    const headers = printHead(message, this.#signatures.print(event, message, secrets), chosen)
    return this.#desk.sender.post({ url, webhookId, headers, body })
  }
}

function note(lane: Lane, delivery: DueDelivery, outcome: Outcome, now: Date): void {
  if (outcome.kind === 'accepted') noteSuccess(lane)
  else noteFailure(lane, delivery, now)
  const until = outcome.kind === 'refused' ? askedToWaitUntil(outcome, now) : undefined
  if (until) holdUntil(lane, until)
}

function findReasonToDisable(lane: Lane, outcome: Outcome, now: Date): string | undefined {
  if (outcome.kind === 'refused' && outcome.status === 410) return 'the receiver answered 410 Gone'
  return shouldDisable(lane, now) ? 'no success in five days among a hundred attempts or more' : undefined
}
