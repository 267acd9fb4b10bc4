/** $1 is the part, $2 the webhook; a skip is named by the number up to which it went. */
import { statement } from '../../database/database.ts'

const columns = `upto AS id, webhook_id AS "webhookId", reason, passed_by AS "askedBy", deliveries AS skipped, passed_at AS "createdAt"`

export const selectSkip = statement(
  'select_skip',
  `SELECT ${columns} FROM passes WHERE part = $1 AND webhook_id = $2 AND upto = $3 AND state = 'canceled'`,
)

export const selectSkips = statement(
  'select_skips',
  `SELECT ${columns} FROM passes WHERE part = $1 AND webhook_id = $2 AND state = 'canceled' ORDER BY upto DESC LIMIT 20`,
)

/** $3 up to which number, $4 how many it was. The first to go as far keeps what it counted. */
export const noteSkipped = statement(
  'note_skipped',
  'UPDATE passes SET deliveries = $4 WHERE part = $1 AND webhook_id = $2 AND upto = $3 AND passed_at = $5 AND deliveries IS NULL',
)
