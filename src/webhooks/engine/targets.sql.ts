import { statement } from '../../database/database.ts'

export const selectTargets = statement(
  'select_targets',
  'SELECT id AS "webhookId", url, rate_limit AS "rateLimit" FROM webhooks WHERE id = ANY ($1::bigint[])',
)
