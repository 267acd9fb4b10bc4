import { statement } from '../database/database.ts'

export const insertMessage = statement(
  'insert_partner_message',
  `INSERT INTO partner_messages (branch_id, kind, side, author_id, text, application, written_at)
   VALUES ($1, $2, $3, (SELECT id FROM users WHERE id = $4), $5, $6, $7) RETURNING id`,
)

export const selectMessages = statement(
  'select_partner_messages',
  `SELECT m.id, m.kind, m.side, m.author_id AS "authorId", u.name AS "authorName", m.text, m.application, m.written_at AS "writtenAt"
   FROM partner_messages m LEFT JOIN users u ON u.id = m.author_id
   WHERE m.branch_id = $1 ORDER BY m.id DESC LIMIT $2`,
)

/** Of the newest few hundred: there are no more in a day. */
export const countSince = statement(
  'count_partner_messages',
  `SELECT count(*) AS messages FROM (
     SELECT kind, side, written_at FROM partner_messages WHERE branch_id = $1 ORDER BY id DESC LIMIT 200) newest
   WHERE kind = 'message' AND side = $2 AND written_at > $3`,
)
