import { instant, int, json, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { KeptApplication } from './application-details.ts'
import { partnerStatuses } from './partner-status.ts'

export const insertMessage = statement({
  name: 'insert_partner_message',
  takes: {
    branchId: int,
    kind: text,
    side: text,
    authorId: orNull(text),
    text: orNull(text),
    application: orNull(json<KeptApplication>()),
    writtenAt: instant,
  },
  gives: { id: int },
  text: `INSERT INTO partner_messages (branch_id, kind, side, author_id, text, application, written_at)
   VALUES (:branchId, :kind, :side, (SELECT id FROM users WHERE id = :authorId), :text, :application,
     :writtenAt) RETURNING id`,
})

export const selectMessages = statement({
  name: 'select_partner_messages',
  takes: { branchId: int, most: int },
  gives: {
    id: int,
    kind: oneOf('message', ...partnerStatuses),
    side: oneOf('partner', 'brokerage'),
    authorId: orNull(text),
    authorName: orNull(text),
    text: orNull(text),
    application: orNull(json<KeptApplication>()),
    writtenAt: instant,
  },
  text: `SELECT m.id, m.kind, m.side, m.author_id AS "authorId", u.name AS "authorName", m.text,
     m.application, m.written_at AS "writtenAt"
   FROM partner_messages m LEFT JOIN users u ON u.id = m.author_id
   WHERE m.branch_id = :branchId ORDER BY m.id DESC LIMIT :most`,
})

/** Of the newest few hundred: there are no more in a day. */
export const countSince = statement({
  name: 'count_partner_messages',
  takes: { branchId: int, side: text, since: instant },
  gives: { messages: int },
  text: `SELECT count(*) AS messages FROM (
     SELECT kind, side, written_at FROM partner_messages WHERE branch_id = :branchId ORDER BY id DESC
     LIMIT 200) newest
   WHERE kind = 'message' AND side = :side AND written_at > :since`,
})
