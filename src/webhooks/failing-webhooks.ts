/** Webhooks whose receivers refuse or do not answer, of all partners, failing longest first. */
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { selectFailing } from './failing-webhooks.sql.ts'
import { breakerThreshold } from './lane.ts'

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
