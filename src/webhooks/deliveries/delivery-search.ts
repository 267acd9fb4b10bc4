/**
 * The deliveries of several webhooks of one branch, in the order of its log, newest first, in pages whose
 * cost does not depend on how many there are.
 */

import { after, minute } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { NotFound } from '../../problem.ts'
import { type DeliveryKey, parseDeliveryId } from '../engine/delivery-id.ts'
import { type BranchLog, logOf } from '../events/branch-log.ts'
import { selectFirstSince } from '../events/branch-logs.sql.ts'
import { findReceiver, type Receiver } from '../events/event-search.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import {
  type Delivery,
  type DeliveryFilter,
  getDelivery,
  nameDelivery,
  type ReadDelivery,
} from './delivery.ts'
import * as table from './delivery-search.sql.ts'

/** How many are looked at for one page, over all webhooks. */
const lookedAtMost = 1_000
/** How often a list looks further back for what is rare. */
const looksAtMost = 50
/** Nodes give their times by one clock; what differs beyond this is not found by its time. */
const slackMs = minute

/**
 * The delivery to search on from; it is not itself among the results. Opaque to the caller that passes it on.
 */
interface FoundDeliveries {
  readonly deliveries: readonly Delivery[]
  /** From where to look on; undefined when there is no more. */
  readonly next: string | undefined
}

/** Where a search goes on: after this delivery, in the order of number, webhook and round. */
const endPlace: DeliveryKey = {
  seq: Number.MAX_SAFE_INTEGER,
  webhookId: Number.MAX_SAFE_INTEGER,
  round: 2 ** 31 - 1,
}

export const placePattern = '[0-9]{1,16}(-[0-9]{1,16}-[0-9]{1,10})?'

/** What is no place finds nothing. */
function parsePlace(text: string | undefined): DeliveryKey {
  if (text === undefined) return endPlace
  const [seq = 0, webhookId = 0, round = 0] = new RegExp(`^${placePattern}$`).test(text)
    ? text.split('-').map(Number)
    : []
  return {
    seq: Math.min(seq, endPlace.seq),
    webhookId: Math.min(webhookId, endPlace.webhookId),
    round: Math.min(round, endPlace.round),
  }
}

function printPlace({ seq, webhookId, round }: DeliveryKey): string {
  return `${seq}-${webhookId}-${round}`
}

type SearchedWebhook = Pick<Webhook, 'id' | 'branchId' | 'environment'>

interface FeedSearch {
  readonly feed: BranchLog
  readonly ids: readonly number[]
  readonly filter: DeliveryFilter
  readonly lowest: number
}

/**
 * All of one branch. A page may be short, or empty, though there is more: then `next` says from where to look
 * on.
 */
export async function searchDeliveries(
  sql: Sql,
  webhooks: readonly SearchedWebhook[],
  filter: DeliveryFilter,
  before: string | undefined,
  most: number,
): Promise<FoundDeliveries> {
  const [first] = webhooks
  if (!first) return { deliveries: [], next: undefined }
  const feed = logOf(first)
  const lowest = filter.from ? await findFirstSince(sql, feed, after(filter.from, -slackMs)) : 1
  const search: FeedSearch = { feed, ids: webhooks.map(({ id }) => id), filter, lowest }
  const found: Delivery[] = []
  const roomAtMost = Math.max(most + 1, Math.floor(lookedAtMost / webhooks.length))
  let place = await findStart(sql, search, parsePlace(before))
  let room = Math.max(10, Math.ceil((most + 1) / webhooks.length))
  for (
    let looked = 0;
    place !== undefined && found.length <= most && looked < roomAtMost;
    room = Math.min(4 * room, roomAtMost)
  ) {
    const step = await look(sql, search, place, room, most + 1 - found.length)
    found.push(...step.deliveries)
    looked += room
    place = step.next
  }
  const deliveries = found.slice(0, most)
  const last = found.length > most ? deliveries.at(-1) : place
  return { deliveries, next: last && printPlace(last) }
}

interface Step {
  readonly deliveries: readonly Delivery[]
  readonly next: DeliveryKey | undefined
}

async function look(
  sql: Sql,
  search: FeedSearch,
  place: DeliveryKey,
  room: number,
  wanted: number,
): Promise<Step> {
  const start = isPassed(search.filter) ? await jump(sql, search, place) : place
  if (!start) return { deliveries: [], next: undefined }
  const { feed, ids, filter, lowest } = search
  const { seq: highest, webhookId, round } = start
  const bounds = { ...feed, webhookIds: ids, highest, webhookId, round, lowest }
  const rows = await sql.query(chooseStatement(filter), { ...bounds, room, ...filter, wanted })
  const deliveries = rows.filter(isDelivery).map(({ reached: _, ...row }) => nameDelivery(row))
  if (deliveries.length === wanted) return { deliveries, next: deliveries.at(-1) }
  const reached = rows[0]?.reached
  return { deliveries, next: reached && reached > lowest ? { ...endPlace, seq: reached - 1 } : undefined }
}

type SearchRow = RowOf<typeof table.searchAll>

function isDelivery(row: SearchRow): row is SearchRow & ReadDelivery {
  return row.seq !== null
}

const isPassed = ({ state }: DeliveryFilter) => state === 'canceled' || state === 'expired'

/** What was skipped or has expired lies below the last number that was passed, or was skipped one by one. */
async function jump(
  sql: Sql,
  { feed, ids }: FeedSearch,
  place: DeliveryKey,
): Promise<DeliveryKey | undefined> {
  const [passed] = await sql.query(table.selectPassed, {
    part: feed.part,
    webhookIds: ids,
    highest: place.seq,
  })
  if (!passed?.seq) return undefined
  return passed.seq < place.seq ? { ...endPlace, seq: passed.seq } : place
}

async function findStart(
  sql: Sql,
  { feed, filter }: FeedSearch,
  before: DeliveryKey,
): Promise<DeliveryKey | undefined> {
  if (!filter.to) return before
  const past = await findFirstSince(sql, feed, after(filter.to, slackMs))
  return past <= before.seq ? { ...endPlace, seq: past - 1 } : before
}

export async function findFirstSince(sql: Sql, { part, feed }: BranchLog, at: Date): Promise<number> {
  return (await sql.one(selectFirstSince, { part, feed, since: at })).seq
}

/**
 * The same of one webhook, as many as are asked for unless there are no more, however rare they are; after
 * many looks it says from where to look on.
 */
export async function listDeliveries(
  sql: Sql,
  webhook: Webhook,
  filter: DeliveryFilter,
  before: string | undefined,
  most: number,
): Promise<FoundDeliveries> {
  const deliveries: Delivery[] = []
  let next = before
  for (let looks = 0; looks < looksAtMost; looks++) {
    const page = await searchDeliveries(sql, [webhook], filter, next, most - deliveries.length)
    deliveries.push(...page.deliveries)
    next = page.next
    if (next === undefined || deliveries.length === most) break
  }
  return { deliveries, next }
}

function chooseStatement({ state, kind, entity }: DeliveryFilter) {
  if (state === 'exhausted') return table.searchExhausted
  if (state === 'unfinished' || state === 'waiting' || state === 'blocked') return table.searchUnfinished
  if (entity !== undefined) return table.searchEntity
  return kind === undefined ? table.searchAll : table.searchKind
}

interface FoundDelivery extends Receiver {
  readonly delivery: Delivery
}

/** Of whichever partner, with its webhook: for operators. */
export async function findAnyDelivery(sql: Sql, id: string): Promise<FoundDelivery | undefined> {
  const key = parseDeliveryId(id)
  const receiver = key && (await findReceiver(sql, key.webhookId))
  if (!receiver) return undefined
  try {
    return { ...receiver, delivery: await getDelivery(sql, receiver, id) }
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}
