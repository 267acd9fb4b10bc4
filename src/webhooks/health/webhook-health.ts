/** How webhooks are, with what waits for them. Counts stop at a bound. */
import type { Sql } from '../../database/database.ts'
import { NotFound } from '../../problem.ts'
import { byPart } from '../events/branch-log.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { type LaneHealth, readLanes } from './lane-health.ts'
import { selectWaitingOf } from './webhook-health.sql.ts'

/** Counted so far and no further. */
export const countedAtMost = 10_000

export interface Waiting {
  /**
   * Everything that waits: for its moment or behind another, what happens and what is sent again. Blocked:
   * those of them behind another.
   */
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
}

export interface WebhookHealth extends LaneHealth, Waiting {}

/** Of one that is deleted there is nothing. */
export async function readHealth(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id' | 'branchId'>[],
  now: Date,
): Promise<ReadonlyMap<number, WebhookHealth>> {
  const counts = await readWaiting(sql, webhooks)
  const lanes = await readLanes(sql, webhooks, now)
  const none = { waiting: 0, blocked: 0, exhausted: 0 }
  return new Map([...lanes].map(([id, lane]) => [id, { ...lane, ...(counts.get(id) ?? none) }]))
}

export async function getHealth(
  sql: Sql,
  webhook: Pick<Webhook, 'id' | 'branchId'>,
  now: Date,
): Promise<WebhookHealth> {
  const health = (await readHealth(sql, [webhook], now)).get(webhook.id)
  if (!health) throw new NotFound(`There is no webhook ${webhook.id}.`)
  return health
}

export async function readWaiting(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id' | 'branchId'>[],
): Promise<ReadonlyMap<number, Waiting>> {
  const counts = new Map<number, Waiting>()
  for (const [part, of] of byPart(webhooks)) {
    const webhookIds = of.map(({ id }) => id)
    for (const row of await sql.query(selectWaitingOf, { part, webhookIds, most: countedAtMost }))
      counts.set(row.webhookId, row)
  }
  return counts
}
