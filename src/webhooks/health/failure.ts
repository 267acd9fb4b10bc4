/**
 * Why a webhook fails: the first failure since its last success, and the last one, as the receiver answered.
 * They are found among the attempts of what still waits because of them.
 */

import type { Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { printDeliveryId } from '../engine/delivery-id.ts'
import { byPart } from '../events/branch-log.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectFailures } from './failures.sql.ts'

/** An attempt that failed, with an excerpt of what came back. */
export interface FailedAttempt {
  readonly deliveryId: string
  readonly number: number
  readonly at: Date
  readonly durationMs: number
  readonly outcome: 'refused' | 'unreachable'
  readonly status: number | null
  readonly why: string | null
  readonly detail: string | null
  readonly response: string | null
}

export interface WebhookFailure {
  readonly webhookId: number
  readonly first: FailedAttempt
  readonly last: FailedAttempt
}

type Row = RowOf<typeof selectFailures>

/** Of those that fail, or failed before the last act; and of what is tried again. */
export async function readFailures(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id' | 'branchId'>[],
): Promise<ReadonlyMap<number, WebhookFailure>> {
  const failures = new Map<number, WebhookFailure>()
  for (const [part, of] of byPart(webhooks)) {
    const rows = await sql.query(selectFailures, { part, webhookIds: of.map(({ id }) => id) })
    for (const [webhookId, ends] of Map.groupBy(rows, (row) => row.webhookId)) {
      const first = ends.find(({ which }) => which === 'first')
      const last = ends.find(({ which }) => which === 'last')
      if (!first || !last) continue
      failures.set(webhookId, { webhookId, first: attemptOf(first), last: attemptOf(last) })
    }
  }
  return failures
}

function attemptOf(row: Row): FailedAttempt {
  const { which: _, webhookId, seq, round, ...attempt } = row
  return { deliveryId: printDeliveryId({ webhookId, seq, round }), ...attempt }
}
