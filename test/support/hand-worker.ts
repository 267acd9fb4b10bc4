/** What a worker does with its lanes, one act at a time: for tests that decide what happens when. Every receiver accepts everything. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../src/clock.ts'
import { type Database, type Sql, statement } from '../../src/database/database.ts'
import type { Outcome } from '../../src/webhooks/attempt.ts'
import type { Days } from '../../src/webhooks/days.ts'
import { openEventBodies } from '../../src/webhooks/event-bodies.ts'
import { claimedOf, type LeasedRow } from '../../src/webhooks/held-lanes.ts'
import {
  type DueDelivery,
  type Lane,
  limitedBeyond,
  notBefore,
  noteDrained,
  noteFailure,
  noteSuccess,
  openLane,
} from '../../src/webhooks/lane.ts'
import * as table from '../../src/webhooks/lanes.sql.ts'
import { openSettlements } from '../../src/webhooks/settlement.ts'

export const accepted: Outcome = { kind: 'accepted', status: 200, response: '' }
export const refused: Outcome = { kind: 'refused', status: 500, response: '', retryAfter: undefined }

export interface HandDesk {
  readonly db: Database
  readonly clock: Clock
  readonly days: Days
}

const selectNumber = statement('', 'SELECT number FROM workers LIMIT 1')
const joinWorkers = statement(
  '',
  `INSERT INTO workers (id, seen_at, lanes) VALUES (gen_random_uuid(), 'infinity', 0) RETURNING number`,
)

/** Of a worker that is always there. */
export async function numberOf(sql: Sql): Promise<number> {
  const [known] = await sql.query<{ number: number }>(selectNumber)
  return (known ?? (await sql.query<{ number: number }>(joinWorkers))[0]!).number
}

export async function claim({ db, clock }: HandDesk): Promise<Lane[]> {
  const now = clock.now()
  const claimId = randomUUID()
  const rows = await db.query<LeasedRow>(table.claimLanes, [claimId, now, 100, [], await numberOf(db)])
  return rows.map((row) => openLane({ ...claimedOf(row), claimId, leasedUntilMs: Number.POSITIVE_INFINITY }))
}

const readAhead = 50

/** What is due in the lane, into its hand. */
export async function readDue({ db, clock }: HandDesk, lane: Lane): Promise<DueDelivery[]> {
  const now = clock.now()
  const values = [[lane.webhookId], [readAhead], now, [...lane.inHand], [lane.dueFrom]]
  const rows = await db.query<DueDelivery & { id: number | null }>(table.selectDue, values)
  if (rows.length > 0 && rows.length < readAhead) noteDrained(lane, now)
  const found = rows.filter((row) => row.id !== null)
  const events = await openEventBodies().find(
    db,
    found.map((row) => row.eventId),
  )
  const due = found.flatMap((row) => (events.has(row.eventId) ? [{ ...row, event: events.get(row.eventId)! }] : []))
  for (const { id } of due) lane.inHand.add(id)
  return due
}

export async function settle(desk: HandDesk, lane: Lane, due: readonly DueDelivery[], outcome: Outcome): Promise<void> {
  const now = desk.clock.now()
  const settlements = openSettlements(desk)
  const settling = due.map(async (delivery) => {
    if (outcome.kind === 'accepted') noteSuccess(lane)
    else noteFailure(lane, delivery, now)
    const item = { lane, delivery, outcome, at: now, durationMs: 1, now, disable: undefined }
    const settled = await settlements.settle(item, true)
    if (!settled.accepted) lane.lost = true
    lane.inHand.delete(delivery.id)
  })
  await Promise.all(settling)
}

/** Not what was lost: that is somebody else's. */
export async function release({ db, clock }: HandDesk, lane: Lane): Promise<void> {
  if (lane.lost) return
  const { webhookId, claimId, failures, failingSince, evidence, dueFrom } = lane
  const now = clock.now()
  const held = [[webhookId], [claimId], [failures], [failingSince], [notBefore(lane, now)], [evidence], [dueFrom]]
  await db.query(table.releaseLanes, [...held, now, [lane.heldUntil], [limitedBeyond(lane, now)]])
}

/** Serves the lanes that want somebody until there is nothing to be sent; answers what was sent, in order. */
export async function serveAll(desk: HandDesk): Promise<DueDelivery[]> {
  const sent: DueDelivery[] = []
  for (let before = -1; sent.length > before; ) {
    before = sent.length
    for (const lane of await claim(desk)) sent.push(...(await serve(desk, lane)))
  }
  return sent
}

export async function serve(desk: HandDesk, lane: Lane): Promise<DueDelivery[]> {
  const sent: DueDelivery[] = []
  for (let due = await readDue(desk, lane); due.length > 0 && !lane.lost; due = await readDue(desk, lane)) {
    sent.push(...due)
    await settle(desk, lane, due, accepted)
  }
  await release(desk, lane)
  return sent
}
