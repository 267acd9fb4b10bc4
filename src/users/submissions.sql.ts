import { statement } from '../database/database.ts'

export const insertSubmission = statement(
  'insert_submission',
  'INSERT INTO submissions (id, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
)

export const updateSubmission = statement('update_submission', 'UPDATE submissions SET leads_to = $2 WHERE id = $1')

export const selectSubmission = statement(
  'select_submission',
  'SELECT leads_to AS "leadsTo" FROM submissions WHERE id = $1',
)

export const deleteOldSubmissions = statement(
  'delete_old_submissions',
  'DELETE FROM submissions WHERE id = ANY (ARRAY(SELECT id FROM submissions WHERE created_at < $1 LIMIT $2)) RETURNING id',
)
