/**
 * From event to deliveries. Events commit in any order and in parallel, inside whatever transaction published them (a transactional
 * outbox); for each part of the branches one dispatcher at a time, on whichever node, reads what has come, numbers events without a
 * gap for their branch, and creates deliveries in entity order. It alone creates them: what is to be sent again is asked for through
 * the same inbox. What a crash interrupts is rolled back and read again.
 */
import type { Clock } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { type Days, dayOf, dayOfId, isYoung } from './days.ts'
import * as table from './dispatch.sql.ts'
import * as inbox from './inbox.sql.ts'
import { breakerThreshold } from './lane.ts'
import { tryWritingToPart, writeToPartInTime } from './part.ts'

/** PostgreSQL takes 8,000 bytes. */
const newsBytesAtMost = 7_000

export interface DispatchMade {
  /** By `performance.now()`. */
  readonly startedMs: number
  readonly endedMs: number
  /** The spans under which the events were published, and how many of them under each. */
  readonly publishes: readonly { readonly traceparent: string; readonly events: number }[]
}

export interface DispatchDesk {
  readonly db: Database
  readonly clock: Clock
  readonly days: Days
  readonly traceDispatch: ((dispatch: DispatchMade) => void) | undefined
  /** Called when a dispatch has committed: whoever should look is told. */
  readonly told: (news: News) => void
  /** The parts in which this node has read something: what was read is to be cleared away. */
  readonly readParts: Set<number>
}

interface Unread {
  readonly xid: string
  readonly id: number
  readonly eventId: number
  readonly branchId: number
  readonly environment: string
  readonly kind: string
  /** Null where a node of the release before wrote the entry. */
  readonly action: string | null
  readonly entity: string
  readonly simulated: boolean
  readonly webhookId: number | null
  readonly repeats: number | null
  readonly replayId: number | null
}

interface Read {
  readonly number: number
  readonly read: string
  readonly target: string | null
  readonly atXid: string | null
  readonly atId: number | null
  readonly day: number
  readonly current: string
  readonly wentBack: boolean
}

export interface Dispatched {
  readonly entries: number
  readonly deliveries: number
}

/** How its turn is waited for, if it is. */
type PartWriting = <Result>(
  db: Database,
  part: number,
  write: (sql: Sql) => Promise<Result>,
) => Promise<Result | undefined>

/** Takes at most so many entries of a part; undefined when somebody else is at it, unless the caller waits for its turn. */
export async function dispatchOnce(
  desk: DispatchDesk,
  part: number,
  most: number,
  writing: PartWriting = tryWritingToPart,
): Promise<Dispatched | undefined> {
  const startedMs = performance.now()
  const taken = await writing(desk.db, part, (sql) => dispatchLocked(desk, sql, part, most))
  if (taken && taken.entries.length > 0) desk.readParts.add(part)
  if (taken?.news) desk.told(taken.news)
  if (desk.traceDispatch && taken && taken.entries.length > 0) {
    const endedMs = performance.now()
    const ids = taken.entries.map((entry) => entry.eventId)
    // What was dispatched stays so, whether or not it can be traced.
    const publishes = await desk.db
      .query<DispatchMade['publishes'][number]>(table.selectPublishes, [ids])
      .catch(() => [])
    desk.traceDispatch({ startedMs, endedMs, publishes })
  }
  return taken && { entries: taken.entries.length, deliveries: taken.deliveries }
}

const dispatchPatienceMs = 2_000
const entriesAtOnce = 100

/** For whoever wants to see the deliveries of what it has just committed: reads the part until nothing older is left. */
export async function dispatchPart(desk: DispatchDesk, part: number): Promise<void> {
  const giveUpAt = performance.now() + dispatchPatienceMs
  while (performance.now() < giveUpAt) {
    if ((await dispatchOnce(desk, part, entriesAtOnce, writeToPartInTime))!.entries < entriesAtOnce) return
  }
}

interface Taken {
  readonly entries: readonly Unread[]
  readonly news: News | undefined
  /** Created for lanes that somebody should look at. */
  readonly deliveries: number
}

/** By whoever holds the part. */
export async function dispatchLocked(desk: DispatchDesk, sql: Sql, part: number, most: number): Promise<Taken> {
  const [read] = await sql.query<Read>(inbox.selectRead, [part])
  if (read!.wentBack) await startAnew(sql, part)
  if (read!.wentBack) return dispatchLocked(desk, sql, part, most)
  const target = read!.target ?? read!.current
  const entries = await selectUnread(sql, part, read!, target, most)
  if (entries.length === 0 && read!.target === null) return { entries, news: undefined, deliveries: 0 }
  const day = Math.max(read!.day, dayOf(desk.clock.now()))
  const kept = await leaveOutGone(sql, entries, desk.clock.now())
  const last = entries.length < most ? undefined : entries.at(-1)!
  const values = [
    part,
    read!.number + 1,
    ...(last ? [read!.read, target, last.xid, last.id] : [target, null, null, null]),
  ]
  const [created] = await Promise.all([
    kept.length === 0 ? undefined : create(desk, sql, kept, day),
    sql.query(inbox.insertRead, [...values, day]),
  ])
  return { entries, news: created?.news, deliveries: created?.deliveries ?? 0 }
}

/** A snapshot is printed as the first number under way, the first not given yet, and all that are under way. */
function selectUnread(sql: Sql, part: number, read: Read, target: string, most: number): Promise<Unread[]> {
  const [, past = '0', underWay = ''] = read.read.split(':')
  const isBeyond = read.atXid !== null && BigInt(read.atXid) >= BigInt(past)
  return sql.query<Unread>(inbox.selectUnread, [
    ...[part, underWay === '' ? [] : underWay.split(','), target],
    ...(isBeyond ? [read.atXid, read.atId] : [past, -1]),
    ...[read.atXid, read.atId, most],
  ])
}

/** What is to be sent again may be so old that its day has left meanwhile. The days that are asked stay until the commit. */
async function leaveOutGone(sql: Sql, entries: readonly Unread[], now: Date): Promise<readonly Unread[]> {
  const old = entries.map((entry) => entry.eventId).filter((id) => !isYoung(dayOfId(id), now))
  if (old.length === 0) return entries
  const there = new Set((await sql.query<{ id: number }>(table.selectThere, [old])).map((row) => row.id))
  return entries.filter(({ eventId }) => there.has(eventId) || isYoung(dayOfId(eventId), now))
}

async function startAnew(sql: Sql, part: number): Promise<void> {
  await sql.query(inbox.rewriteInbox, [part])
  await sql.query(inbox.restartReads, [part])
}

interface Created {
  readonly news: News
  readonly deliveries: number
}

async function create(
  { clock, days }: DispatchDesk,
  sql: Sql,
  entries: readonly Unread[],
  day: number,
): Promise<Created> {
  const { deliveryOffset } = await days.open(day)
  const actions = await findActions(sql, entries)
  const aims = await findAims(sql, entries)
  const branches = [...new Map(entries.map((each) => [`${each.environment} ${each.branchId}`, each])).values()]
  const branchDays = [branches.map((each) => each.branchId), branches.map((each) => each.environment), day]
  const [, webhooks] = await Promise.all([
    sql.query(table.openBranchDays, branchDays),
    sql.query<{ webhookId: number; deliveries: number }>(table.createDeliveries(day), [
      entries.map((entry) => entry.eventId),
      entries.map((entry) => entry.branchId),
      entries.map((entry) => entry.environment),
      entries.map((entry) => entry.kind),
      entries.map((entry) => entry.entity),
      entries.map((entry) => entry.simulated),
      entries.map((entry) => entry.webhookId ?? aims.get(entry.eventId)),
      entries.map((entry) => entry.repeats),
      entries.map((entry) => entry.replayId),
      deliveryOffset,
      clock.now(),
      breakerThreshold,
      entries.map((entry) => entry.action ?? actions.get(entry.eventId)),
    ]),
  ])
  const news = {
    branches: branches.map((each) => branchKey({ branchId: each.branchId, environment: each.environment })),
    webhookIds: webhooks.map((row) => row.webhookId),
  }
  return { news, deliveries: webhooks[0]?.deliveries ?? 0 }
}

/** Of new events whose entry does not say. */
async function findActions(sql: Sql, entries: readonly Unread[]): Promise<ReadonlyMap<number, string>> {
  const ids = entries.flatMap((entry) => (entry.action === null && entry.webhookId === null ? [entry.eventId] : []))
  if (ids.length === 0) return new Map()
  const rows = await sql.query<{ id: number; action: string }>(table.selectActions, [ids])
  return new Map(rows.map((row) => [row.id, row.action]))
}

/** Which test events are for one webhook alone. */
async function findAims(sql: Sql, entries: readonly Unread[]): Promise<ReadonlyMap<number, number>> {
  const tests = entries.flatMap(({ simulated, repeats, eventId }) => (simulated && repeats === null ? [eventId] : []))
  if (tests.length === 0) return new Map()
  const rows = await sql.query<{ id: number; webhookId: number }>(table.selectAims, [tests])
  return new Map(rows.map((row) => [row.id, row.webhookId]))
}

/** What the workers and the streams are told: whose log grew, and whose deliveries were created. Undefined: it may be any. */
export interface News {
  readonly branches: readonly string[] | undefined
  readonly webhookIds: readonly number[] | undefined
}

export function branchKey({ branchId, environment }: Readonly<{ branchId: number; environment: string }>): string {
  return `${environment}:${branchId}`
}

export function printNews({ branches = [], webhookIds = [] }: News): string {
  const news = `delivery ${branches.join(',')} ${webhookIds.join(',')}`
  return news.length <= newsBytesAtMost ? news : 'delivery'
}

export function readNews(news: string): News {
  const [, branches, webhookIds] = news.split(' ')
  const list = (text: string | undefined) => text?.split(',').filter((each) => each !== '')
  return { branches: list(branches), webhookIds: list(webhookIds)?.map(Number) }
}
