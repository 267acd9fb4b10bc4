import { statement } from '../database/database.ts'

const columns = `scope_requests.id, scope_requests.client_id AS "clientId", scope_requests.scopes, scope_requests.reason,
  scope_requests.asked_at AS "askedAt", scope_requests.granted, scope_requests.answered_at AS "answeredAt"`

export const insertRequest = statement(
  'insert_scope_request',
  'INSERT INTO scope_requests (client_id, scopes, reason, asked_at) VALUES ($1, $2, $3, $4)',
)

export const selectNewest = statement(
  'select_newest_scope_request',
  `SELECT ${columns} FROM scope_requests WHERE client_id = $1 ORDER BY id DESC LIMIT 1`,
)

export const selectOpen = statement(
  'select_open_scope_request',
  `SELECT ${columns} FROM scope_requests WHERE client_id = $1 AND answered_at IS NULL`,
)

export const selectOpenOfBranch = statement(
  'select_open_scope_requests_of_branch',
  `SELECT ${columns} FROM clients c JOIN scope_requests ON scope_requests.client_id = c.id
   WHERE c.branch_id = $1 AND answered_at IS NULL ORDER BY scope_requests.id`,
)

export const declineRequest = statement(
  'decline_scope_request',
  `UPDATE scope_requests SET granted = '{}', answered_at = $2 WHERE id = $1`,
)
