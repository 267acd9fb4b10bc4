import { statement } from '../database/database.ts'

export const insertRequest = statement(
  'insert_refresh_request',
  'INSERT INTO refresh_requests (branch_id, reason, asked_at) VALUES ($1, $2, $3)',
)

export const selectNewest = statement(
  'select_newest_refresh_request',
  `SELECT reason, asked_at AS "askedAt", granted, answered_at AS "answeredAt" FROM refresh_requests WHERE branch_id = $1 ORDER BY id DESC LIMIT 1`,
)
