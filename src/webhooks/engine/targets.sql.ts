import { int, list, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

export const selectTargets = statement({
  name: 'select_targets',
  takes: { webhookIds: list(int) },
  gives: { webhookId: int, url: text, rateLimit: orNull(int) },
  text: `SELECT id AS "webhookId", url, rate_limit AS "rateLimit" FROM webhooks
   WHERE id = ANY (:webhookIds::bigint[])`,
})
