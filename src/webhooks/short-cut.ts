/**
 * An event that comes while nothing waits needs no inbox, no notification and no look (the fast path): the node that accepts it dispatches it and leases its lanes in
 * the same transaction, and has the deliveries in hand when it commits. Whatever else waits in the part sends the event the ordinary way: the statement
 * itself decides that. So does whoever holds the part for longer than a moment: to accept an event must not wait for anybody.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Step } from '../database/database.ts'
import { type Days, dayOf } from './days.ts'
import { branchKey, type DispatchMade, type News } from './dispatch.ts'
import type { EventColumns, NewEvent } from './event.ts'
import type { HeldLanes, LeasedRow } from './held-lanes.ts'
import { breakerThreshold, type DueDelivery, type DueEvent, type Lane, setLimit, takeInHand } from './lane.ts'
import { lockParts } from './part.sql.ts'
import { partOf } from './part.ts'
import * as table from './short-cut.sql.ts'

/** More at once are cheaper the ordinary way. */
export const eventsAtMost = 25

/** How a node takes the short cut. */
export interface ShortCut {
  /** Undefined when this node should not try now. */
  passage(columns: EventColumns): Passage | undefined
}

export interface Passage {
  /** In one transaction, which fails where somebody holds a part; the rows of the last go to `arrived` when it has committed. */
  readonly steps: readonly Step[]
  /** Answers the numbers of the events, in their order, and the parts in which something waits for the dispatcher. */
  arrived(rows: readonly PassedRow[]): Passed
  /** Nobody knows whether it committed. */
  failed(): void
}

interface Passed {
  readonly ids: readonly number[]
  readonly waiting: ReadonlySet<number>
}

export interface PassedRow extends LeasedRow {
  readonly place: number
  readonly eventId: number
  readonly isFree: boolean
  /** Of the delivery; null for an event that nobody wants. */
  readonly id: number | null
  readonly entity: string
  readonly dueAt: Date
  /** False when it waits behind another, or its webhook may have nothing now. */
  readonly isDue: boolean
  readonly url: string
  readonly rateLimit: number | null
  readonly isLeased: boolean
  readonly heldBy: number | null
  /** Nothing else was due in the lane. */
  readonly isIdle: boolean
}

interface ShortCutDesk {
  readonly clock: Clock
  readonly days: Days
  readonly lanes: HeldLanes
  readonly traceDispatch: ((dispatch: DispatchMade) => void) | undefined
  /** Whether this node may try: it hears of changes, others see that it lives, it has room, and its dispatcher is not at the part. */
  readonly isOpen: (part: number) => boolean
  readonly number: () => number | undefined
  /** Moves on with every change that was heard: what was written before it may be stale. */
  readonly changes: () => number
  readonly keep: (event: DueEvent) => void
  readonly send: (lane: Lane) => void
  /** What was sent and is not settled yet is awaited. */
  readonly hurry: () => void
  /** Whoever else needs to know: all when undefined. */
  readonly dispatched: (news: News, isForOthers: boolean) => void
  /** Something of this node's lanes, or of nobody's, is left for the next look. */
  readonly look: (everywhere: boolean) => void
}

export function openShortCut(desk: ShortCutDesk): ShortCut {
  return {
    passage(columns) {
      const parts = [...new Set(columns.events.map((event) => partOf(event.branchId)))]
      const open = parts.filter(desk.isOpen)
      if (columns.events.length > eventsAtMost || open.length === 0 || !isDayOpen(desk)) return undefined
      const startedMs = performance.now()
      const lease = { claimId: randomUUID(), at: desk.clock.now(), startedMs }
      const changes = desk.changes()
      return {
        steps: stepsOf(desk, columns, { parts, open }, lease),
        arrived(rows) {
          const free = rows.filter((row) => row.isFree)
          if (free.length > 0) takeOver(desk, free, columns, { ...lease, isStale: desk.changes() !== changes })
          if (free.length > 0)
            desk.traceDispatch?.({ startedMs, endedMs: performance.now(), publishes: columns.publishes() })
          const waiting = new Set(rows.flatMap((row) => (row.isFree ? [] : [row.part])))
          return { ids: [...new Set(rows.map((row) => row.eventId))], waiting }
        },
        failed: () => desk.lanes.doubtClaim(lease.claimId),
      }
    },
  }
}

/** The statement names the tables of its day. The first events of a day go the long way, whose dispatch learns that it is open. */
function isDayOpen({ clock, days }: ShortCutDesk): boolean {
  return days.knows(dayOf(clock.now()))
}

interface Parts {
  readonly parts: readonly number[]
  readonly open: readonly number[]
}

function stepsOf(desk: ShortCutDesk, columns: EventColumns, { parts, open }: Parts, lease: Lease): readonly Step[] {
  const { at, claimId } = lease
  const values = [...columns.values(at), parts, claimId, desk.number(), breakerThreshold, open]
  return [
    [table.waitBriefly, []],
    [lockParts, [open]],
    [table.publishAtOnce(dayOf(at)), values],
  ]
}

interface Lease {
  readonly claimId: string
  readonly at: Date
  /** By `performance.now()`. */
  readonly startedMs: number
}

interface Taken extends Lease {
  /** Something changed meanwhile. */
  readonly isStale: boolean
}

function takeOver(desk: ShortCutDesk, rows: readonly PassedRow[], columns: EventColumns, lease: Taken): void {
  const deliveries = rows.filter((row) => row.id !== null)
  for (const row of deliveries) if (row.isLeased) adopt(desk, row, lease)
  for (const row of deliveries) take(desk, row, columns, lease)
  tell(
    desk,
    deliveries,
    rows.map((row) => columns.events[row.place - 1]!),
  )
}

function adopt({ lanes }: ShortCutDesk, row: PassedRow, { claimId }: Lease): void {
  if (lanes.find(row.webhookId)?.claimId === claimId) return
  const lane = lanes.adopt(row, claimId)
  lane.drained = row.isIdle
  setLimit(lane, row.rateLimit)
}

/**
 * What cannot be sent now, because others go first or the lane is somebody else's, is found by whoever looks. So is what somebody may have read
 * between the commit and this moment: it might be sent, and even settled, by now.
 */
function take(desk: ShortCutDesk, row: PassedRow, columns: EventColumns, { isStale, at, startedMs }: Taken): void {
  const lane = desk.lanes.find(row.webhookId)
  if (!row.isDue && lane) letWait(desk, lane)
  if (!row.isDue || (!row.isLeased && row.heldBy !== desk.number())) return
  const event = columns.eventAt(row.place - 1, row.eventId, at)
  desk.keep(event)
  if (!lane?.drained || isStale || lane.readMs > startedMs) {
    if (lane) lane.drained = false
    desk.look(lane === undefined)
    return
  }
  takeInHand(lane, deliveryOf(row, event), desk.clock)
  desk.send(lane)
}

/** Behind what this lane has in hand, as far as anybody here knows. */
function letWait({ hurry }: ShortCutDesk, lane: Lane): void {
  if (lane.inHand.size === 0) return
  lane.awaited = true
  hurry()
}

function deliveryOf(row: PassedRow, event: DueEvent): DueDelivery {
  const { webhookId, branchId, eventId, entity, dueAt, url } = row
  return { id: row.id!, webhookId, branchId, eventId, entity, dueAt, url, attempts: 0, repeats: null, event }
}

function tell(desk: ShortCutDesk, deliveries: readonly PassedRow[], events: readonly NewEvent[]): void {
  const others = deliveries.filter((row) => !row.isLeased && row.heldBy !== desk.number())
  const branches = [...new Set(events.map(branchKey))]
  desk.dispatched({ branches, webhookIds: [...new Set(others.map((row) => row.webhookId))] }, others.length > 0)
}
