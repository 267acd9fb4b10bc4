import { instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { scopes } from '../vocabulary/scope.ts'

const columns = `scope_requests.id, scope_requests.client_id AS "clientId", scope_requests.scopes,
  scope_requests.reason, scope_requests.asked_at AS "askedAt", scope_requests.granted,
  scope_requests.answered_at AS "answeredAt"`

export const insertRequest = statement({
  name: 'insert_scope_request',
  takes: { clientId: text, scopes: list(text), reason: text, askedAt: instant },
  text: `INSERT INTO scope_requests (client_id, scopes, reason, asked_at)
   VALUES (:clientId, :scopes, :reason, :askedAt)`,
})

const row = {
  id: int,
  clientId: text,
  scopes: list(oneOf(...scopes)),
  reason: text,
  askedAt: instant,
  granted: orNull(list(oneOf(...scopes))),
  answeredAt: orNull(instant),
}

export const selectNewest = statement({
  name: 'select_newest_scope_request',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM scope_requests WHERE client_id = :clientId ORDER BY id DESC LIMIT 1`,
})

export const selectOpen = statement({
  name: 'select_open_scope_request',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM scope_requests WHERE client_id = :clientId AND answered_at IS NULL`,
})

export const selectOpenOfBranch = statement({
  name: 'select_open_scope_requests_of_branch',
  takes: { branchId: int },
  gives: row,
  text: `SELECT ${columns} FROM clients c JOIN scope_requests ON scope_requests.client_id = c.id
   WHERE c.branch_id = :branchId AND answered_at IS NULL ORDER BY scope_requests.id`,
})

export const declineRequest = statement({
  name: 'decline_scope_request',
  takes: { id: int, answeredAt: instant },
  text: `UPDATE scope_requests SET granted = '{}', answered_at = :answeredAt WHERE id = :id`,
})
