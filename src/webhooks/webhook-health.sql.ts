import { statement } from '../database/database.ts'

const count = (table: string) => `(SELECT count(*) FROM (SELECT FROM ${table} LIMIT $2) counted)`
const waiting = 'queued_deliveries q WHERE q.webhook_id = l.webhook_id ORDER BY q.urgency, q.due_at'
const blocked = (urgency: 0 | 1) =>
  `(SELECT FROM queued_deliveries q WHERE q.webhook_id = l.webhook_id AND q.urgency = ${urgency} AND q.due_at = 'infinity' LIMIT $2)`
const exhausted = "settled_deliveries d WHERE d.webhook_id = l.webhook_id AND d.state = 'exhausted'"

export const selectHealth = statement(
  'select_webhook_health',
  `SELECT l.webhook_id AS "webhookId", l.failures, l.failing_since AS "failingSince", l.evidence, ${count(waiting)} AS waiting,
     (SELECT count(*) FROM (${blocked(0)} UNION ALL ${blocked(1)} LIMIT $2) counted) AS blocked, ${count(exhausted)} AS exhausted
   FROM lanes l WHERE l.webhook_id = ANY ($1::bigint[])`,
)
