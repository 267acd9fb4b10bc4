/** Webhooks whose receivers refuse or do not answer, failing longest first: of all partners, or of some. */
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { selectFailing, selectFailingOfBranches } from './failing-webhooks.sql.ts'
import { attemptOf, type FailedAttempt, type ReadAttempt } from './failure.ts'
import { breakerThreshold } from './lane.ts'
import type { Webhook } from './webhook.ts'
import { type Condition, judgeHealth, type WebhookHealth } from './webhook-health.ts'

interface FailingWebhook {
  readonly id: number
  readonly url: string
  readonly environment: Environment
  readonly branchId: number
  readonly partner: string
  /** In a row. */
  readonly failures: number
  readonly since: Date
  /** Its breaker: one attempt at a time probes. */
  readonly isOpen: boolean
}

export function listFailingWebhooks(sql: Sql, most: number): Promise<FailingWebhook[]> {
  return sql.query<FailingWebhook>(selectFailing, [breakerThreshold, most])
}

export interface FailingOfBranch {
  readonly webhook: Webhook
  readonly condition: Condition
  /** Undefined when it has left with its day. */
  readonly last: FailedAttempt | undefined
  /** How many of the branch fail, those included that are not listed. */
  readonly total: number
}

type Row = Webhook &
  Pick<WebhookHealth, 'failures' | 'evidence'> & { readonly last: ReadAttempt | null; readonly total: number }

/** At most so many of each branch; those that were disabled are among them. */
export async function listFailingOf(
  sql: Sql,
  branchIds: readonly number[],
  environment: Environment,
  mostOfEach: number,
): Promise<ReadonlyMap<number, readonly FailingOfBranch[]>> {
  if (branchIds.length === 0) return new Map()
  const rows = await sql.query<Row>(selectFailingOfBranches, [branchIds, environment, mostOfEach])
  const failing = rows.map((row) => ({
    webhook: row,
    condition: judgeHealth(row, row),
    last: attemptOf(row.last),
    total: row.total,
  }))
  return Map.groupBy(failing, ({ webhook }) => webhook.branchId)
}
