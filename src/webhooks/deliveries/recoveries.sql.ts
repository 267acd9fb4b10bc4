import { statement } from '../../database/database.ts'

/** What waits for its next attempt: as many as may fail at once, and what was asked for again. */
export const countLater = statement(
  'count_due_later',
  `SELECT (SELECT count(*) FROM exceptions WHERE part = $1 AND webhook_id = $2 AND due_at > $3)
     + (SELECT count(*) FROM agains WHERE part = $1 AND webhook_id = $2 AND due_at > $3) AS waiting`,
)
