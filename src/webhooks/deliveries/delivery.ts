/** One event for one webhook: what became of it, attempt by attempt, and how to set it going again. */
import { type Act, recordAct } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import { Conflict, NotFound } from '../../problem.ts'
import * as acts from '../engine/cursor-acts.sql.ts'
import { type DeliveryKey, parseDeliveryId, printDeliveryId } from '../engine/delivery-id.ts'
import type { Branch } from '../events/branch.ts'
import { logOf } from '../events/branch-log.ts'
import { findEntry } from '../events/event-search.ts'
import type { Kind } from '../events/kind.ts'
import { partOf } from '../events/part.ts'
import { getWebhook, listWebhooks, type Webhook, webhooksPerBranch } from '../subscriptions/webhook.ts'
import * as table from './deliveries.sql.ts'

export const deliveryStates = ['blocked', 'waiting', 'delivered', 'exhausted', 'canceled', 'expired'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** In order of its branch's log; `day` is that of its entry there. */
export interface Delivery extends DeliveryKey {
  readonly id: string
  readonly day: number
  readonly state: DeliveryState
  readonly entity: string
  /** Of one that waits. */
  readonly dueAt: Date
  readonly attempts: number
  readonly createdAt: Date
  readonly settledAt: Date | null
  /** The delivery that this one sends again. */
  readonly repeats: string | null
  /** Of a canceled delivery: the reason, and the actor who canceled it. Null where neither was recorded. */
  readonly reason: string | null
  readonly canceledBy: string | null
  readonly uid: string
  readonly kind: Kind
  readonly action: string
}

export interface DeliveryWithBody extends Delivery {
  readonly body: string
  /** Of a test hook. */
  readonly simulated: boolean
}

export interface Attempt {
  readonly number: number
  readonly at: Date
  readonly durationMs: number
  readonly outcome: 'accepted' | 'refused' | 'unreachable'
  readonly status: number | null
  readonly why: string | null
  /**
   * Of a failure: the headers that tell which server answered, one a line; or the error that the word stands
   * for.
   */
  readonly detail: string | null
  readonly response: string | null
}

/** `unfinished`: everything that waits, for its moment or behind another. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | 'unfinished' | undefined
  readonly isTried?: boolean | undefined
  readonly kind?: Kind | undefined
  readonly entity?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** As the database tells it. */
export type ReadDelivery<Row extends Delivery = Delivery> = Omit<Row, 'id' | 'repeats'>

export function nameDelivery<Row extends DeliveryKey>(row: Row): Row & Pick<Delivery, 'id' | 'repeats'> {
  const first = { webhookId: row.webhookId, seq: row.seq, round: 0 }
  return { ...row, id: printDeliveryId(row), repeats: row.round === 0 ? null : printDeliveryId(first) }
}

export async function getDelivery(sql: Sql, branch: Branch, id: string): Promise<DeliveryWithBody> {
  const key = parseDeliveryId(id)
  const delivery = key && (await findDelivery(sql, branch, key))
  if (!delivery) throw new NotFound(`This branch has no delivery ${id}.`)
  return delivery
}

async function findDelivery(
  sql: Sql,
  branch: Branch,
  key: DeliveryKey,
): Promise<DeliveryWithBody | undefined> {
  const webhook = await getWebhook(sql, branch, key.webhookId).catch(ifAbsent)
  if (!webhook) return undefined
  const { part, feed } = logOf(branch)
  const values = { part, feed, ...key }
  const [row] = await sql.query(table.selectDelivery, values)
  return row && nameDelivery(row)
}

function ifAbsent(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error
}

export function listAttempts(
  sql: Sql,
  { branchId }: Pick<Branch, 'branchId'>,
  { webhookId, seq, round, day }: Pick<Delivery, 'webhookId' | 'seq' | 'round' | 'day'>,
): Promise<Attempt[]> {
  return sql.query(table.selectAttempts, { part: partOf(branchId), webhookId, seq, round, day })
}

/**
 * One that has ended stays as it is: sending again is a new delivery of the same event, in a round of its
 * own. One that waits for its next attempt is tried at once. Answers the name of the one that goes out.
 */
export function redeliver(db: Sql, branchId: number, delivery: Delivery, act: Act): Promise<string> {
  if (delivery.state === 'blocked')
    throw new Conflict('This delivery waits for an earlier one of the same entity. Redeliver that one.')
  return db.transaction(async (sql) => {
    const { id, webhookId, state } = delivery
    const sent =
      state === 'waiting'
        ? await hurry(sql, branchId, delivery, act.at)
        : await repeat(sql, branchId, delivery, act.at)
    await recordAct(sql, act, 'webhook.redelivered', `webhook:${webhookId}`, { deliveryId: id })
    await sql.query(acts.tellOfAct, { part: partOf(branchId), webhookId })
    return sent
  })
}

export interface SentAgain {
  readonly sent: number
  /** Behind an earlier one of their entity: they go when that has gone. */
  readonly blocked: number
}

/** In the order in which cursors are locked. */
export async function redeliverAll(
  sql: Sql,
  branch: Branch,
  ids: readonly string[],
  act: Act,
): Promise<SentAgain> {
  const deliveries: Delivery[] = []
  for (const id of new Set(ids)) deliveries.push(await getDelivery(sql, branch, id))
  deliveries.sort((one, other) => one.webhookId - other.webhookId || one.seq - other.seq)
  const free = deliveries.filter(({ state }) => state !== 'blocked')
  for (const delivery of free) await redeliver(sql, branch.branchId, delivery, act)
  return { sent: free.length, blocked: deliveries.length - free.length }
}

async function hurry(sql: Sql, branchId: number, { id, webhookId, seq, round, entity }: Delivery, now: Date) {
  const part = partOf(branchId)
  await sql.query(acts.hurryCursor, { part, webhookId, entity: round === 0 ? entity : '', now })
  if (round > 0) await sql.query(acts.hurryAgain, { part, webhookId, seq, round, now })
  return id
}

async function repeat(
  sql: Sql,
  branchId: number,
  { webhookId, seq, day, entity }: Delivery,
  now: Date,
): Promise<string> {
  const values = { part: partOf(branchId), webhookId, seq, day, entity, now }
  const [asked] = await sql.query(acts.sendAgain, values)
  if (!asked?.round) throw new Conflict('This delivery cannot be sent again: its webhook is deleted.')
  return printDeliveryId({ webhookId, seq, round: asked.round })
}

export interface EventDelivery extends Pick<Delivery, 'id' | 'webhookId' | 'state' | 'entity' | 'attempts'> {
  readonly url: string
  readonly webhookState: Webhook['state']
  readonly lastAttempt: Attempt | null
}

/** None while the event waits for its number. */
export async function listDeliveriesOfEvent(sql: Sql, branch: Branch, uid: string): Promise<EventDelivery[]> {
  const entry = await findEntry(sql, branch, uid)
  if (!entry) return []
  const webhooks = await listWebhooks(sql, branch, 0, webhooksPerBranch)
  const { part, feed } = logOf(branch)
  const { seq, day } = entry
  const values = { part, feed, seq, day, webhookIds: webhooks.map(({ id }) => id) }
  const deliveries = (await sql.query(table.selectDeliveriesOfEntry, values)).map(nameDelivery)
  const attempts = await findLastAttempts(sql, branch, deliveries)
  return deliveries.flatMap((delivery) =>
    webhooks
      .filter(({ id }) => id === delivery.webhookId)
      .map(({ url, state: webhookState }) => ({
        ...{ ...delivery, url, webhookState },
        lastAttempt: attempts.get(delivery.id) ?? null,
      })),
  )
}

/** By the deliveries that were tried. */
export async function findLastAttempts(
  sql: Sql,
  { branchId }: Pick<Branch, 'branchId'>,
  deliveries: readonly Pick<Delivery, 'webhookId' | 'seq' | 'round' | 'day' | 'attempts'>[],
): Promise<ReadonlyMap<string, Attempt>> {
  const tried = deliveries.filter(({ attempts }) => attempts > 0)
  if (tried.length === 0) return new Map()
  const rows = await sql.query(table.selectLastAttempts, {
    part: partOf(branchId),
    webhookIds: tried.map(({ webhookId }) => webhookId),
    seqs: tried.map(({ seq }) => seq),
    rounds: tried.map(({ round }) => round),
    days: tried.map(({ day }) => day),
  })
  return new Map(rows.map((row) => [printDeliveryId(row), row]))
}

/** What goes before a delivery that is blocked. */
export interface BlockingDelivery {
  readonly aheadId: string
  readonly attempts: number
  readonly dueAt: Date
}

/** By the deliveries that wait behind another; the others are not among them. */
export async function findAhead(
  sql: Sql,
  { branchId }: Pick<Branch, 'branchId'>,
  deliveries: readonly Pick<Delivery, 'id' | 'state' | 'webhookId' | 'entity'>[],
): Promise<ReadonlyMap<string, BlockingDelivery>> {
  const blocked = deliveries.filter(({ state }) => state === 'blocked')
  if (blocked.length === 0) return new Map()
  const values = {
    part: partOf(branchId),
    webhookIds: blocked.map(({ webhookId }) => webhookId),
    entities: blocked.map(({ entity }) => entity),
  }
  const rows = await sql.query(table.selectAhead, values)
  const ahead = new Map(
    rows.map(({ webhookId, entity, seq, attempts, dueAt }) => [
      `${webhookId} ${entity}`,
      { aheadId: printDeliveryId({ webhookId, seq, round: 0 }), attempts, dueAt },
    ]),
  )
  return new Map(
    blocked.flatMap(({ id, webhookId, entity }) => {
      const first = ahead.get(`${webhookId} ${entity}`)
      return first ? [[id, first] as const] : []
    }),
  )
}
