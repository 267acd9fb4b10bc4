import { instant, int } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/** What waits for its next attempt: as many as may fail at once, and what was asked for again. */
export const countLater = statement({
  name: 'count_due_later',
  takes: { part: int, webhookId: int, now: instant },
  gives: { waiting: int },
  text: `SELECT (SELECT count(*) FROM exceptions
      WHERE part = :part AND webhook_id = :webhookId AND due_at > :now)
     + (SELECT count(*) FROM agains WHERE part = :part AND webhook_id = :webhookId
       AND due_at > :now) AS waiting`,
})
