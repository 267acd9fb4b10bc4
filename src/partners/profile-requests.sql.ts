import { bool, instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

const columns = `profile_requests.id, profile_requests.client_id AS "clientId",
  profile_requests.wished_from AS "wishedFrom", profile_requests.asked_at AS "askedAt",
  profile_requests.granted, profile_requests.answered_at AS "answeredAt"`

const row = {
  id: int,
  clientId: text,
  wishedFrom: orNull(instant),
  askedAt: instant,
  granted: orNull(bool),
  answeredAt: orNull(instant),
}

export const insertRequest = statement({
  name: 'insert_profile_request',
  takes: { clientId: text, wishedFrom: orNull(instant), askedAt: instant },
  text: `INSERT INTO profile_requests (client_id, wished_from, asked_at)
   VALUES (:clientId, :wishedFrom, :askedAt)`,
})

export const selectNewest = statement({
  name: 'select_newest_profile_request',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM profile_requests WHERE client_id = :clientId ORDER BY id DESC LIMIT 1`,
})

export const selectOpenOfBranch = statement({
  name: 'select_open_profile_requests_of_branch',
  takes: { branchId: int },
  gives: row,
  text: `SELECT ${columns} FROM clients c JOIN profile_requests ON profile_requests.client_id = c.id
   WHERE c.branch_id = :branchId AND answered_at IS NULL ORDER BY profile_requests.id`,
})

export const declineRequest = statement({
  name: 'decline_profile_request',
  takes: { id: int, clientId: text, answeredAt: instant },
  gives: { id: int },
  text: `UPDATE profile_requests SET granted = false, answered_at = :answeredAt
   WHERE id = :id AND client_id = :clientId AND answered_at IS NULL RETURNING id`,
})
