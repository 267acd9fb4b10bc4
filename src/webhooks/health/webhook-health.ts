/** How a webhook is: whether its receiver answers, and what waits for it. Counts stop at a bound. */
import type { Sql } from '../../database/database.ts'
import { attemptsLooked, entitiesAtLeast } from '../engine/breaker.ts'
import { byPart } from '../events/branch-log.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectHealth } from './webhook-health.sql.ts'

/** Counted so far and no further. */
export const countedAtMost = 10_000

export interface WebhookHealth {
  readonly webhookId: number
  /** Attempts in a row that were not accepted. */
  readonly failures: number
  readonly failingSince: Date | null
  /** Different entities that fail. */
  readonly entities: number
  /**
   * Everything that waits: for its moment or behind another, what happens and what is sent again. Blocked:
   * those of them behind another.
   */
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
}

export async function readHealth(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id' | 'branchId'>[],
): Promise<Map<number, WebhookHealth>> {
  const health = new Map<number, WebhookHealth>()
  for (const [part, of] of byPart(webhooks)) {
    const rows = await sql.query(selectHealth, {
      part,
      webhookIds: of.map(({ id }) => id),
      most: countedAtMost,
    })
    for (const row of rows) health.set(row.webhookId, row)
  }
  return health
}

export type Condition = 'healthy' | 'failing' | 'breaker open' | 'paused' | 'disabled'

/** As its lane judges it: a worker that takes the lane over goes on from these two. */
export function isBreakerOpen({ failures, entities }: Pick<WebhookHealth, 'failures' | 'entities'>): boolean {
  return failures >= attemptsLooked && entities >= entitiesAtLeast
}

export function judgeHealth(
  webhook: Pick<Webhook, 'state'>,
  health: Pick<WebhookHealth, 'failures' | 'entities'> | undefined,
): Condition {
  if (webhook.state === 'paused' || webhook.state === 'disabled') return webhook.state
  if (!health || health.failures === 0) return 'healthy'
  return isBreakerOpen(health) ? 'breaker open' : 'failing'
}
