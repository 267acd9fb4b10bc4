import { statement } from '../database/database.ts'

/** $3 is a list of records in JSON, each with its line. */
export const mergeRecords = statement(
  'merge_records',
  `SELECT merge_records($1, $2, ARRAY(SELECT r FROM jsonb_populate_recordset(NULL::provisioned, $3::jsonb) AS r), $4, $5) AS merged`,
)

/** Of those that this transaction has staged. */
export const mergeStaged = statement(
  'merge_staged',
  'SELECT merge_records($1, $2, ARRAY(SELECT s::provisioned FROM pg_temp.staged_records AS s), $3, $4) AS merged',
)

/** What has waited too long. What was removed is kept: it stands in the way of what is older. */
export const deleteExpired = statement(
  'delete_expired_holdings',
  `DELETE FROM waiting_holdings WHERE (source, customer, account) IN (
     SELECT source, customer, account FROM waiting_holdings WHERE status <> 'removed' AND since <= $1 LIMIT $2) RETURNING customer`,
)
