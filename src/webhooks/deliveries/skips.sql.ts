/** A skip of a webhook is named by the number up to which it went. */
import { instant, int, orNull, sure, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

const columns = `upto AS id, webhook_id AS "webhookId", reason, passed_by AS "askedBy", deliveries AS skipped,
  passed_at AS "createdAt"`

const row = {
  id: int,
  webhookId: int,
  reason: sure(text),
  askedBy: sure(text),
  skipped: orNull(int),
  createdAt: instant,
}

export const selectSkip = statement({
  name: 'select_skip',
  takes: { part: int, webhookId: int, upto: int },
  gives: row,
  text: `SELECT ${columns} FROM passes
   WHERE part = :part AND webhook_id = :webhookId AND upto = :upto AND state = 'canceled'`,
})

export const selectSkips = statement({
  name: 'select_skips',
  takes: { part: int, webhookId: int },
  gives: row,
  text: `SELECT ${columns} FROM passes
   WHERE part = :part AND webhook_id = :webhookId AND state = 'canceled' ORDER BY upto DESC LIMIT 20`,
})

/** The first to go as far keeps what it counted. */
export const noteSkipped = statement({
  name: 'note_skipped',
  takes: { part: int, webhookId: int, upto: int, deliveries: orNull(int), now: instant },
  text: `UPDATE passes SET deliveries = :deliveries
   WHERE part = :part AND webhook_id = :webhookId AND upto = :upto AND passed_at = :now
     AND deliveries IS NULL`,
})
