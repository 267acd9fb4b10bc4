import { instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const insertSubmission = statement({
  name: 'insert_submission',
  takes: { id: text, createdAt: instant },
  gives: { id: text },
  text: `INSERT INTO submissions (id, created_at) VALUES (:id, :createdAt)
   ON CONFLICT DO NOTHING RETURNING id`,
})

export const updateSubmission = statement({
  name: 'update_submission',
  takes: { id: text, leadsTo: text },
  text: 'UPDATE submissions SET leads_to = :leadsTo WHERE id = :id',
})

export const selectSubmission = statement({
  name: 'select_submission',
  takes: { id: text },
  gives: { leadsTo: orNull(text) },
  text: 'SELECT leads_to AS "leadsTo" FROM submissions WHERE id = :id',
})

export const deleteOldSubmissions = statement({
  name: 'delete_old_submissions',
  takes: { before: instant, most: int },
  gives: { id: text },
  text: `DELETE FROM submissions WHERE id = ANY (ARRAY(
     SELECT id FROM submissions WHERE created_at < :before LIMIT :most)) RETURNING id`,
})
