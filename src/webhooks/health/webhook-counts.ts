/**
 * What charts show of a webhook, and of all together: attempts by when they were made and how they ended, how
 * long answers took, how much waited. An attempt costs its lane an entry in a map; a process writes what it
 * has counted every few seconds, and what waits is looked at once a minute. A page reads a few hundred small
 * rows, however many deliveries there are.
 */

import { after, day, hour, minute } from '../../clock.ts'
import { inTurn } from '../../concurrency/in-turn.ts'
import type { Database, Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import type { AttemptRecord } from '../engine/attempt-record.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { allParts } from '../events/part.ts'
import { type Period, periods, startOf } from '../subscriptions/columns.ts'
import { addCells, addDuration, addPrinted, type Cells, quantileOf } from './durations.ts'
import * as table from './webhook-counts.sql.ts'
import { countedAtMost } from './webhook-health.ts'

/** In the place of a webhook: all of them together. */
export const everyWebhook = 0
const spanMs = 5 * minute
/** By five minutes, then by the hour. Each a little longer than the period that shows them. */
const fineForMs = day + 2 * hour
const keptForMs = 31 * day
const bite = 1_000

/** Of the time before the database is asked. */
interface Tally {
  accepted: number
  refused: number
  unreachable: number
  readonly answered: Cells
  readonly delivered: Cells
}

export interface AttemptCounter {
  note(attempt: AttemptRecord): void
  /** Answers when every attempt of before is counted. */
  flush(): Promise<void>
}

export function openAttemptCounter(db: Sql): AttemptCounter {
  /** By when their five minutes began, then by webhook. */
  let noted = new Map<number, Map<number, Tally>>()
  return {
    note(attempt) {
      // An attempt that was not written will be made again, by the worker that holds the lane now.
      if (!attempt.isKept) return
      const startMs = Math.floor(attempt.at.getTime() / spanMs) * spanMs
      for (const webhookId of [attempt.delivery.webhookId, everyWebhook])
        addAttempt(tallyOf(noted, startMs, webhookId), attempt)
    },
    flush: inTurn(async () => {
      if (noted.size === 0) return
      const written = noted
      noted = new Map()
      try {
        await db.query(table.addCounts, columnsOf(written))
      } catch (error) {
        for (const [startMs, tallies] of written)
          for (const [webhookId, tally] of tallies) addTally(tallyOf(noted, startMs, webhookId), tally)
        throw error
      }
    }),
  }
}

function tallyOf(noted: Map<number, Map<number, Tally>>, startMs: number, webhookId: number): Tally {
  const tallies = noted.get(startMs) ?? new Map<number, Tally>()
  noted.set(startMs, tallies)
  const tally = tallies.get(webhookId) ?? emptyTally()
  tallies.set(webhookId, tally)
  return tally
}

const emptyTally = (): Tally => ({ accepted: 0, refused: 0, unreachable: 0, answered: [], delivered: [] })

/** Replayed deliveries count in no latency. */
function addAttempt(tally: Tally, { delivery, outcome, timing, answeredAt }: AttemptRecord): void {
  tally[outcome.kind]++
  if (outcome.kind !== 'unreachable') addDuration(tally.answered, timing.totalMs)
  if (outcome.kind === 'accepted' && !delivery.isRepeat)
    addDuration(tally.delivered, answeredAt.getTime() - delivery.event.createdAt.getTime())
}

function addTally(tally: Tally, more: Tally): void {
  tally.accepted += more.accepted
  tally.refused += more.refused
  tally.unreachable += more.unreachable
  addCells(tally.answered, more.answered)
  addCells(tally.delivered, more.delivered)
}

function columnsOf(noted: ReadonlyMap<number, ReadonlyMap<number, Tally>>) {
  const rows = [...noted].flatMap(([startMs, tallies]) =>
    [...tallies].map(([id, tally]) => ({ startMs, id, tally })),
  )
  return {
    webhookIds: rows.map(({ id }) => id),
    startsAt: rows.map(({ startMs }) => new Date(startMs)),
    accepted: rows.map(({ tally }) => tally.accepted),
    refused: rows.map(({ tally }) => tally.refused),
    unreachable: rows.map(({ tally }) => tally.unreachable),
    answered: rows.map(({ tally }) => `{${tally.answered.join(',')}}`),
    delivered: rows.map(({ tally }) => `{${tally.delivered.join(',')}}`),
  }
}

/** What waits just now. Several nodes may look in the same minute: the most counts. */
export async function countWaiting(db: Database, now: Date): Promise<void> {
  const seen: Depth[] = []
  const present = await findPresentParts(db)
  for (const part of present)
    seen.push(...(await db.query(table.selectWaiting, { part, most: countedAtMost })))
  if (seen.length === 0) return
  const all = { webhookId: everyWebhook, waiting: 0, blocked: 0 }
  for (const { waiting, blocked } of seen) {
    all.waiting += waiting
    all.blocked += blocked
  }
  // What a part that is away has is not known, and so neither is the sum.
  const rows = present.length === allParts.length ? [all, ...seen] : seen
  await db.query(table.addDepths, {
    startsAt: new Date(Math.floor(now.getTime() / spanMs) * spanMs),
    webhookIds: rows.map(({ webhookId }) => webhookId),
    waiting: rows.map(({ waiting }) => waiting),
    blocked: rows.map(({ blocked }) => blocked),
  })
}

type Depth = RowOf<typeof table.selectWaiting>

/** What is a day old is kept by the hour, and what is a month old leaves. Answers how many rows left. */
export async function thinCounts(sql: Sql, now: Date): Promise<number> {
  let gone = 0
  for (const [statement, keptMs] of [
    [table.thinCounts, fineForMs],
    [table.deleteOldCounts, keptForMs],
  ] as const)
    for (let left = bite; left === bite; gone += left)
      left = (await sql.query(statement, { before: after(now, -keptMs), most: bite })).length
  return gone
}

/** Milliseconds within which half, 95 and 99 of a hundred were over; null when there were none. */
export interface Quantiles {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface CountedColumn {
  readonly accepted: number
  readonly refused: number
  readonly unreachable: number
  /** Everything that waited, at the moment at which most did; blocked: behind another. */
  readonly waiting: number
  readonly blocked: number
  /** From the beginning of an attempt to its answer. */
  readonly answered: Quantiles
  /** From when an event was published to when its receiver had accepted it. */
  readonly delivered: Quantiles
}

export interface Counts {
  readonly startsAt: Date
  readonly columnMs: number
  readonly columns: readonly CountedColumn[]
  readonly all: CountedColumn
  /**
   * When the first of all was counted, if that was later than the first column: what happened before is not
   * shown.
   */
  readonly countedSince: Date | undefined
}

export async function readCounts(sql: Sql, webhookId: number, period: Period, now: Date): Promise<Counts> {
  const { columns: length, columnMs } = periods[period]
  const startsAt = startOf(period, now)
  const rows = await sql.query(table.selectCounts, { webhookId, since: startsAt })
  const [first] = await sql.query(table.selectFirstCount)
  const spans = Array.from({ length }, emptySpan)
  for (const row of rows)
    addRow(spans[Math.floor((row.startsAt.getTime() - startsAt.getTime()) / columnMs)]!, row)
  const countedSince = first?.at && first.at > startsAt ? first.at : undefined
  return { startsAt, columnMs, columns: spans.map(columnOf), all: columnOf(sumOf(spans)), countedSince }
}

/** What is being added up for a column. */
interface Span extends Tally {
  waiting: number
  blocked: number
}

const emptySpan = (): Span => ({ ...emptyTally(), waiting: 0, blocked: 0 })

/** A page of a month reads a thousand rows: their cells are added as they are read. */
function addRow(span: Span, row: RowOf<typeof table.selectCounts>): void {
  addCounts(span, row)
  addPrinted(span.answered, row.answered)
  addPrinted(span.delivered, row.delivered)
}

function sumOf(spans: readonly Span[]): Span {
  const sum = emptySpan()
  for (const span of spans) {
    addCounts(sum, span)
    addCells(sum.answered, span.answered)
    addCells(sum.delivered, span.delivered)
  }
  return sum
}

function addCounts(span: Span, more: Omit<Span, 'answered' | 'delivered'>): void {
  for (const name of ['accepted', 'refused', 'unreachable'] as const) span[name] += more[name]
  if (more.waiting > span.waiting) Object.assign(span, { waiting: more.waiting, blocked: more.blocked })
}

function columnOf({ answered, delivered, ...counts }: Span): CountedColumn {
  return { ...counts, answered: quantilesOf(answered), delivered: quantilesOf(delivered) }
}

function quantilesOf(cells: Cells): Quantiles {
  return { p50: quantileOf(cells, 0.5), p95: quantileOf(cells, 0.95), p99: quantileOf(cells, 0.99) }
}
