/** Reads what is due in the lanes that a worker holds: a page ahead, or the one that an open breaker asks next. */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { EventBodies } from './event-bodies.ts'
import type { HeldLanes } from './held-lanes.ts'
import {
  type DueDelivery,
  freeSlots,
  isBreakerOpen,
  type Lane,
  leaveBehind,
  leftOfLimit,
  noteDrained,
  setLimit,
  takeInHand,
} from './lane.ts'
import * as table from './lanes.sql.ts'

/** How far a worker reads ahead in a lane. */
const readAhead = 50

interface LaneReaderDesk {
  readonly db: Database
  readonly clock: Clock
  readonly bodies: EventBodies
  readonly lanes: HeldLanes
}

type DueRow = Omit<DueDelivery, 'event'> & { readonly rateLimit: number | null }

/** Fills the lanes that have nothing to send. Not ahead of it unless `isLive`: who cannot hear of changes could not keep back what it has read. */
export async function readDue(desk: LaneReaderDesk, isLive: boolean): Promise<void> {
  const isHungry = (lane: Lane) => lane.buffer.length === 0 && !lane.drained && freeSlots(lane, desk.clock) > 0
  const hungry = desk.lanes.all().filter(isHungry)
  for (const lane of hungry) {
    lane.drained = true
    lane.changed = false
    lane.readMs = Number.POSITIVE_INFINITY
  }
  const { probing = [], healthy = [] } = Object.groupBy(hungry, (lane) => (isBreakerOpen(lane) ? 'probing' : 'healthy'))
  try {
    await readPages(desk, healthy, isLive)
    await readProbes(desk, probing)
  } finally {
    const now = performance.now()
    for (const lane of hungry) lane.readMs = now
  }
}

async function readPages(desk: LaneReaderDesk, lanes: readonly Lane[], isLive: boolean): Promise<void> {
  if (lanes.length === 0) return
  const mosts = lanes.map((lane) =>
    isLive ? Math.min(readAhead, leftOfLimit(lane, desk.clock)) : freeSlots(lane, desk.clock),
  )
  const now = desk.clock.now()
  const rows = await desk.db.query<DueRow & { id: number | null }>(table.selectDue, [
    lanes.map((lane) => lane.webhookId),
    mosts,
    now,
    lanes.flatMap((lane) => [...lane.inHand]),
    lanes.map((lane) => lane.dueFrom),
  ])
  const byWebhook = Map.groupBy(rows, (row) => row.webhookId)
  for (const [index, lane] of lanes.entries()) {
    const page = byWebhook.get(lane.webhookId)
    if (page) setLimit(lane, page[0]!.rateLimit)
    const found = page?.filter((row) => row.id !== null).length ?? 0
    if (page && found < mosts[index]!) noteDrained(lane, now)
    // A full page may have more behind it.
    else if (page) lane.drained = false
  }
  await take(
    desk,
    rows.filter((row) => row.id !== null),
  )
}

async function readProbes(desk: LaneReaderDesk, lanes: readonly Lane[]): Promise<void> {
  if (lanes.length === 0) return
  const values = [lanes.map((lane) => lane.webhookId), desk.clock.now(), lanes.map((lane) => lane.dueFrom)]
  const rows = await desk.db.query<DueRow>(table.selectProbes, values)
  for (const row of rows) setLimit(desk.lanes.find(row.webhookId)!, row.rateLimit)
  await take(
    desk,
    rows.filter((row) => !desk.lanes.find(row.webhookId)?.inHand.has(row.id)),
  )
}

async function take({ db, clock, bodies, lanes }: LaneReaderDesk, rows: readonly DueRow[]): Promise<void> {
  try {
    const events = await bodies.find(
      db,
      rows.map((row) => row.eventId),
    )
    for (const row of rows) {
      const lane = lanes.find(row.webhookId)
      const event = events.get(row.eventId)
      if (lane && event) takeInHand(lane, { ...row, event }, clock)
    }
  } catch (error) {
    for (const row of rows) {
      const lane = lanes.find(row.webhookId)
      if (lane) leaveBehind(lane, row)
      if (lane) lane.drained = false
    }
    throw error
  }
}
