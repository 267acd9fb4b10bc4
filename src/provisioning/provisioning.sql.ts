import { instant, int, json, jsonText, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { MergeResult } from './outcomes.ts'

const merging = { source: text, environment: text, actor: text, moment: instant, how: json<object>() }

/** All of the records in one text, each with its line. */
export const mergeRecords = statement({
  name: 'merge_records',
  takes: { ...merging, records: jsonText },
  gives: { merged: json<MergeResult>() },
  text: `SELECT merge_records(:source, :environment,
     ARRAY(SELECT r FROM jsonb_populate_recordset(NULL::provisioned, :records::jsonb) AS r),
     :actor, :moment, :how) AS merged`,
})

/** Of those that this transaction has staged. */
export const mergeStaged = statement({
  name: 'merge_staged',
  takes: merging,
  gives: { merged: json<MergeResult>() },
  text: `SELECT merge_records(:source, :environment,
     ARRAY(SELECT s::provisioned FROM pg_temp.staged_records AS s), :actor, :moment, :how) AS merged`,
})

/**
 * The version that is known of what `s` names. A customer who is known lies in no grave, and a holding that
 * is known does not wait: nothing else can have a version of it.
 */
const knownVersion = `CASE s.kind
     WHEN 'customer' THEN (SELECT u.version FROM users u
       WHERE u.source = :source AND u.external_id = s."externalId")
     WHEN 'account' THEN (SELECT a.version FROM accounts a
       WHERE a.source = :source AND a.external_id = s."externalId")
     ELSE (SELECT h.version FROM holdings h
       WHERE h.user_id = (SELECT u.id FROM users u
           WHERE u.source = :source AND u.external_id = s.customer)
         AND h.account_number = (SELECT a.account_number FROM accounts a
           WHERE a.source = :source AND a.external_id = s.account)) END`

/**
 * The same for a snapshot, of which most is known already: that is counted, and only the rest is merged. What
 * changed last goes along in any case: it says how far the source has come.
 */
export const mergeSnapshot = statement({
  name: 'merge_snapshot',
  takes: merging,
  gives: { merged: json<MergeResult>(), known: int },
  text: `WITH news AS MATERIALIZED (
     SELECT ARRAY(SELECT s::provisioned FROM pg_temp.staged_records AS s
       WHERE s.op <> 'upsert' OR s.version IS DISTINCT FROM ${knownVersion}
         OR s.line = (SELECT line FROM pg_temp.staged_records ORDER BY "changedAt" DESC NULLS LAST
           LIMIT 1)) AS records)
   SELECT merge_records(:source, :environment, news.records, :actor, :moment, :how) AS merged,
     (SELECT count(*) FROM pg_temp.staged_records) - cardinality(news.records) AS known FROM news`,
})

/** What has waited too long. What was removed is kept: it stands in the way of what is older. */
export const deleteExpired = statement({
  name: 'delete_expired_holdings',
  takes: { before: instant, most: int },
  gives: { customer: text },
  text: `DELETE FROM waiting_holdings WHERE (source, customer, account) IN (
     SELECT source, customer, account FROM waiting_holdings WHERE status <> 'removed' AND since <= :before
     LIMIT :most) RETURNING customer`,
})
