/** How a webhook is: whether its receiver answers, and what waits for it. Counts stop at a bound. */
import type { Sql } from '../database/database.ts'
import { breakerThreshold } from './lane.ts'
import type { Webhook } from './webhook.ts'
import { selectHealth } from './webhook-health.sql.ts'

/** Counted so far and no further. */
export const countedAtMost = 1_000

export interface WebhookHealth {
  readonly webhookId: number
  readonly failures: number
  readonly failingSince: Date | null
  /** Different entities whose first attempt failed since the last success. */
  readonly evidence: number
  /** Everything that waits: for its moment or behind another, what happens and what is sent again. Blocked: those of them behind another. */
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
}

export async function readHealth(sql: Sql, webhooks: readonly Webhook[]): Promise<Map<number, WebhookHealth>> {
  const ids = webhooks.map((webhook) => webhook.id)
  const rows = await sql.query<WebhookHealth>(selectHealth, [ids, countedAtMost])
  return new Map(rows.map((row) => [row.webhookId, row]))
}

export type Condition = 'healthy' | 'failing' | 'breaker open' | 'paused' | 'disabled'

export function judgeHealth(
  webhook: Pick<Webhook, 'state'>,
  health: Pick<WebhookHealth, 'failures' | 'evidence'> | undefined,
): Condition {
  if (webhook.state === 'paused' || webhook.state === 'disabled') return webhook.state
  if (!health || health.failures === 0) return 'healthy'
  return health.evidence >= breakerThreshold ? 'breaker open' : 'failing'
}
