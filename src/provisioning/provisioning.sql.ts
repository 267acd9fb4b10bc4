import { statement } from '../database/database.ts'

/** $3 is a list of records in JSON, each with its line. */
export const mergeRecords = statement(
  'merge_records',
  `SELECT merge_records($1, $2, ARRAY(SELECT r FROM jsonb_populate_recordset(NULL::provisioned, $3::jsonb) AS r), $4, $5, $6) AS merged`,
)

/** Of those that this transaction has staged. */
export const mergeStaged = statement(
  'merge_staged',
  'SELECT merge_records($1, $2, ARRAY(SELECT s::provisioned FROM pg_temp.staged_records AS s), $3, $4, $5) AS merged',
)

/**
 * The version that is known of what `s` names. Whoever is known lies in no grave, and a holding that is known does not wait: nothing else can have a version of it.
 */
const knownVersion = `CASE s.kind
     WHEN 'customer' THEN (SELECT u.version FROM users u WHERE u.source = $1 AND u.external_id = s."externalId")
     WHEN 'account' THEN (SELECT a.version FROM accounts a WHERE a.source = $1 AND a.external_id = s."externalId")
     ELSE (SELECT h.version FROM holdings h
       WHERE h.user_id = (SELECT u.id FROM users u WHERE u.source = $1 AND u.external_id = s.customer)
         AND h.account_number = (SELECT a.account_number FROM accounts a WHERE a.source = $1 AND a.external_id = s.account)) END`

/**
 * The same for a snapshot, of which most is known already: that is counted, and only the rest is merged. What changed last goes along in any case: it says how far
 * the source has come.
 */
export const mergeSnapshot = statement(
  'merge_snapshot',
  `WITH news AS MATERIALIZED (
     SELECT ARRAY(SELECT s::provisioned FROM pg_temp.staged_records AS s
       WHERE s.op <> 'upsert' OR s.version IS DISTINCT FROM ${knownVersion}
         OR s.line = (SELECT line FROM pg_temp.staged_records ORDER BY "changedAt" DESC NULLS LAST LIMIT 1)) AS records)
   SELECT merge_records($1, $2, news.records, $3, $4, $5) AS merged, (SELECT count(*) FROM pg_temp.staged_records) - cardinality(news.records) AS known FROM news`,
)

/** What has waited too long. What was removed is kept: it stands in the way of what is older. */
export const deleteExpired = statement(
  'delete_expired_holdings',
  `DELETE FROM waiting_holdings WHERE (source, customer, account) IN (
     SELECT source, customer, account FROM waiting_holdings WHERE status <> 'removed' AND since <= $1 LIMIT $2) RETURNING customer`,
)
