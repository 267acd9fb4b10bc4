/**
 * What a node delivers: it takes lanes, reads what is due in them, sends it. A notification wakes it; the rounds of the node are the backstop.
 * Which lanes it holds is the matter of held-lanes.ts, reading that of lane-reader.ts, sending that of sending.ts.
 */
import type { Logger } from 'pino'
import { type Clock, second } from '../clock.ts'
import { type Changes, everything } from '../database/changes.ts'
import type { Database } from '../database/database.ts'
import type { Repeated } from '../repeat.ts'
import { openRerun } from '../rerun.ts'
import type { Rounds } from '../rounds.ts'
import { openFlights } from '../single-flight.ts'
import type { Sender } from './attempt.ts'
import type { AttemptMade } from './attempt-made.ts'
import type { Days } from './days.ts'
import { wakeWorkers } from './dispatch.sql.ts'
import { type DispatchMade, type News, printNews, readNews } from './dispatch.ts'
import { type Dispatcher, openDispatcher } from './dispatcher.ts'
import { type EventBodies, openEventBodies } from './event-bodies.ts'
import { HeldLanes } from './held-lanes.ts'
import { partsWithNews } from './inbox.sql.ts'
import { lookAgainAt } from './lane.ts'
import { readDue } from './lane-reader.ts'
import { areLanesDue } from './lanes.sql.ts'
import { Membership } from './membership.ts'
import { Sending } from './sending.ts'
import { openSettlements, type Settlements } from './settlement.ts'
import { openShortCut, type ShortCut } from './short-cut.ts'
import type { SecretKeeper } from './signing-secrets.ts'
import type { HeaderKeeper } from './webhook-headers.ts'

const lookEveryMs = second
const reportEveryMs = second
/** Somebody may be gone: that is known sooner. */
const suspectEveryMs = 300
/** Reports. */
const forgottenEvery = 5

interface WorkerDesk {
  readonly db: Database
  readonly rounds: Rounds
  /** Says when a webhook was paused, deleted or sent elsewhere, and when a partner was suspended. */
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly sender: Sender
  readonly secrets: SecretKeeper
  readonly headers: HeaderKeeper
  readonly days: Days
  readonly readParts: Set<number>
  /** Each is told of every attempt that was settled. */
  readonly attempted: readonly ((attempt: AttemptMade) => void)[]
  /** Told of every dispatch, if anybody traces. */
  readonly traceDispatch: ((dispatch: DispatchMade) => void) | undefined
  /** Called when it is known whose events were dispatched. */
  readonly dispatched: (news: News) => void
  /** Whether somebody on this node follows what is dispatched. */
  readonly isFollowed: () => boolean
  readonly lingerMs: number
}

export interface Worker {
  /** Looks for work now. */
  wake(): void
  /** Something was published in this part. */
  published(part: number): void
  /** For what is published by this node. */
  readonly shortCut: ShortCut
  /** Finishes what is under way, lets the lanes go, stops. */
  close(): Promise<void>
}

export function openWorker(desk: WorkerDesk): Worker {
  return new DeliveryWorker(desk)
}

class DeliveryWorker implements Worker {
  readonly #desk: WorkerDesk
  readonly #lanes: HeldLanes
  readonly #settlements: Settlements
  readonly #sending: Sending
  readonly #dispatcher: Dispatcher
  readonly #bodies: EventBodies = openEventBodies()
  readonly #membership: Membership
  readonly shortCut: ShortCut
  readonly #chores: readonly Repeated[]
  readonly #timers: NodeJS.Timeout[]
  // Who cannot say that it is there is not counted on for a while.
  readonly #reporting = openFlights(() => this.#reportOnce().catch(() => {}))
  #changes = 0
  #reports = 0
  /** Other nodes are told of every dispatch, because somebody follows a log with them. */
  #othersFollow = true
  #hasCompany = true
  readonly #looks = openRerun(
    () => this.#lookOnce(),
    (error) => this.#complain(error),
  )
  #lookEverywhere = true
  #closing = false
  #lingering: NodeJS.Timeout | undefined

  constructor(desk: WorkerDesk) {
    this.#desk = desk
    const complain = (error: unknown) => this.#complain(error)
    this.#membership = new Membership({
      ...desk,
      heard: (text) => this.#hear(text),
      joined: (number, leasedUntilMs) => this.#join(number, leasedUntilMs),
      lost: () => this.#lanes.doubt(),
    })
    this.#lanes = new HeldLanes({
      ...desk,
      complain,
      number: () => this.#membership.number,
      lastNumber: () => this.#membership.lastNumber,
      confirmed: () => this.#look(false),
    })
    this.#settlements = openSettlements(desk)
    this.#sending = new Sending({
      ...desk,
      complain,
      settlements: this.#settlements,
      isDry: () => this.#look(false),
      goOn: () => this.#sendAll(),
    })
    this.#dispatcher = openDispatcher({ ...desk, told: (news) => this.#tellAll(news) }, desk.log)
    this.shortCut = openShortCut({
      ...desk,
      lanes: this.#lanes,
      isOpen: (part) => this.#isShortCutOpen(part),
      number: () => this.#membership.number,
      changes: () => this.#changes,
      keep: this.#bodies.keep,
      send: (lane) => this.#sending.sendFrom(lane),
      hurry: this.#settlements.hurry,
      dispatched: (news, isForOthers) => this.#tell(news, isForOthers),
      look: (everywhere) => this.#look(everywhere),
    })
    this.#chores = [
      desk.rounds.add({ name: 'lanes', question: areLanesDue, work: async () => this.#look(true) }),
      desk.rounds.add({
        name: 'dispatcher',
        question: partsWithNews,
        work: async (parts) => this.#dispatcher.found(parts as number[]),
      }),
    ]
    this.#timers = [
      setInterval(() => this.#lookAfterHeld(), lookEveryMs),
      setInterval(() => this.#report(), reportEveryMs),
    ]
    desk.changes.subscribe((tag) => this.#reconsider(tag))
    this.wake()
  }

  wake(): void {
    this.#lookAfterHeld()
    this.#look(true)
  }

  /** Notifications get lost with their connection, and retries fall due without one. */
  #lookAfterHeld(): void {
    this.#membership.attend()
    const held = this.#lanes.all()
    for (const lane of held) lane.drained = false
    if (held.length > 0 || this.#lanes.hasDoubts) this.#look(this.#lanes.hasDoubts)
  }

  published(part: number): void {
    this.#dispatcher.wake(part)
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#lingering)
    await Promise.all(this.#chores.map((chore) => chore.stop()))
    const sent = this.#sending.close()
    this.#lanes.stop()
    await this.#dispatcher.close()
    await this.#looks.ended()
    await this.#reporting.landed()
    await sent
    await this.#lanes.close()
    await this.#membership.close()
  }

  /** What was read and not sent yet may no longer be wanted, or not there. */
  #reconsider(tag: string): void {
    this.#changes++
    for (const lane of this.#lanes.all()) {
      if (tag !== everything && tag !== `webhook:${lane.webhookId}` && tag !== `branch:${lane.branchId}`) continue
      lookAgainAt(lane)
      lane.changed = true
      this.#look(false)
    }
  }

  /** What it holds goes with it under the number that counts; what one before it has left behind is freed. */
  #join(number: number, leasedUntilMs: number): void {
    this.#lanes.lease(leasedUntilMs)
    this.#lanes.confirm(number)
    this.#report()
  }

  #hear(text: string): void {
    if (text === 'event') {
      this.#dispatcher.look()
      return
    }
    const news = readNews(text)
    this.#desk.dispatched(news)
    this.#hearOfDeliveries(news.webhookIds)
  }

  #hearOfDeliveries(webhookIds: readonly number[] | undefined): void {
    const told = webhookIds?.map((id) => this.#lanes.find(id)) ?? this.#lanes.all()
    for (const lane of told) {
      if (!lane) continue
      lane.drained = false
      lane.awaited = lane.inHand.size > 0
      if (lane.unsettled > 0) this.#settlements.hurry()
    }
    // What no held lane can take needs one that is claimed.
    this.#look(told.includes(undefined) || webhookIds === undefined)
  }

  #isShortCutOpen(part: number): boolean {
    const isMember = this.#membership.number !== undefined && this.#desk.changes.isLive && !this.#closing
    return isMember && this.#lanes.hasRoom && this.#sending.hasRoom && this.#dispatcher.isQuiet(part)
  }

  /** Without others nobody is notified: this worker hears of it from itself. */
  #tellAll(news: News): void {
    this.#hearOfDeliveries(news.webhookIds)
    this.#tell(news, this.#hasCompany)
  }

  /** Who is not reached by the notification finds what is due by its look each second. */
  #tell(news: News, isForOthers: boolean): void {
    this.#desk.dispatched(news)
    if (isForOthers || this.#othersFollow)
      this.#desk.db.query(wakeWorkers, [printNews(news)]).catch((error: unknown) => this.#complain(error))
  }

  /** `everywhere`: also lanes that others held or nobody. */
  #look(everywhere: boolean): void {
    if (this.#closing) return
    this.#lookEverywhere ||= everywhere
    this.#looks.call()
  }

  async #lookOnce(): Promise<void> {
    if (this.#closing) return
    const { changes } = this.#desk
    const everywhere = this.#lookEverywhere
    this.#lookEverywhere = false
    if (everywhere && (await this.#lanes.claim())) this.#look(true)
    // Nothing ahead while changes cannot be heard: what is in the buffer might have to be kept back, and nobody would say so.
    if (!changes.isLive) for (const lane of this.#lanes.all()) lookAgainAt(lane)
    await readDue({ ...this.#desk, bodies: this.#bodies, lanes: this.#lanes }, changes.isLive)
    this.#sendAll()
    await this.#lanes.letGo()
    this.#linger()
  }

  #linger(): void {
    if (this.#lanes.size > 0) this.#lingering ??= setTimeout(() => this.#stopLingering(), this.#desk.lingerMs)
  }

  #stopLingering(): void {
    this.#lingering = undefined
    this.#look(false)
  }

  #sendAll(): void {
    for (const lane of this.#lanes.all()) this.#sending.sendFrom(lane)
  }

  #report(): void {
    if (!this.#closing) void this.#reporting.join()
  }

  async #reportOnce(): Promise<void> {
    const company = await this.#membership.report(this.#lanes.size, this.#desk.isFollowed())
    this.#othersFollow = company?.follows ?? true
    this.#hasCompany = company?.others !== 0
    if (!company) return
    const wasOver = this.#lanes.lease(company.leasedUntilMs)
    if (this.#lanes.share(company) || wasOver) this.#look(false)
    if (++this.#reports % forgottenEvery === 0 && (await this.#lanes.freeForgotten())) this.#look(true)
    if (await this.#membership.bury(company)) this.#look(true)
    else if (company.missing > 0) setTimeout(() => this.#report(), suspectEveryMs).unref()
  }

  #complain(error: unknown): void {
    if (!this.#closing) this.#desk.log.warn({ err: error }, 'the worker was interrupted; it goes on by itself')
  }
}
