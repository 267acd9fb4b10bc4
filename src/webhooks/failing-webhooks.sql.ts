import { statement } from '../database/database.ts'
import { failedAttempt } from './failures.sql.ts'
import { webhookColumns } from './webhooks.sql.ts'

/** Down the index of what fails, longest first; what somebody holds back is left out. $1: from how much evidence on a breaker is open. */
export const selectFailing = statement(
  'select_failing_webhooks',
  `SELECT w.id, w.url, w.environment, w.branch_id AS "branchId", p.name AS partner, l.failures, l.failing_since AS since, l.evidence >= $1 AS "isOpen"
   FROM lanes l JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)
   WHERE l.failing_since IS NOT NULL ORDER BY l.failing_since LIMIT $2`,
)

/**
 * Of several branches in one environment: of each the few that have failed longest, with the last failure, and how many there are. By the index of a branch's
 * webhooks, of which it has a hundred at most; then each by its key.
 */
export const selectFailingOfBranches = statement(
  'select_failing_webhooks_of_branches',
  `SELECT w.*, last.last FROM unnest($1::int[]) AS b (branch_id)
   CROSS JOIN LATERAL (
     SELECT ${webhookColumns}, l.failures, l.evidence, l.failing_since AS "failingSince", count(*) OVER () AS total
     FROM webhooks
     CROSS JOIN LATERAL (SELECT failures, evidence, failing_since FROM lanes WHERE webhook_id = webhooks.id LIMIT 1) l
     WHERE webhooks.branch_id = b.branch_id AND webhooks.environment = $2 AND webhooks.state <> 'deleted'
       AND (webhooks.state = 'disabled' OR webhooks.state = 'active' AND l.failures > 0)
     ORDER BY l.failing_since NULLS LAST, webhooks.id LIMIT $3) w
   LEFT JOIN webhook_failures f ON f.webhook_id = w.id ${failedAttempt('last')}
   ORDER BY w."branchId", w."failingSince" NULLS LAST, w.id`,
)
