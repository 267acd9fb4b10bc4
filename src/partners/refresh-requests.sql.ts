import { bool, instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const insertRequest = statement({
  name: 'insert_refresh_request',
  takes: { branchId: int, reason: text, askedAt: instant },
  text: 'INSERT INTO refresh_requests (branch_id, reason, asked_at) VALUES (:branchId, :reason, :askedAt)',
})

export const selectNewest = statement({
  name: 'select_newest_refresh_request',
  takes: { branchId: int },
  gives: { reason: text, askedAt: instant, granted: orNull(bool), answeredAt: orNull(instant) },
  text: `SELECT reason, asked_at AS "askedAt", granted, answered_at AS "answeredAt" FROM refresh_requests
    WHERE branch_id = :branchId ORDER BY id DESC LIMIT 1`,
})
