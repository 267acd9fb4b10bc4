import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { lineOf, placeOf } from './queue-key.ts'
import { wants } from './webhooks.sql.ts'

/** Asked for only where somebody traces. */
export const selectPublishes = statement(
  'select_publishes',
  'SELECT traceparent, count(*) AS events FROM events WHERE id = ANY ($1::bigint[]) AND traceparent IS NOT NULL GROUP BY traceparent',
)

/** What the inbox does not say of entries that nodes of the release before wrote. */
export const selectActions = statement(
  'select_event_actions',
  'SELECT id, action FROM events WHERE id = ANY ($1::bigint[])',
)

/** Test events may be for one webhook alone. */
export const selectAims = statement(
  'select_event_aims',
  'SELECT id, webhook_id AS "webhookId" FROM events WHERE id = ANY ($1::bigint[]) AND webhook_id IS NOT NULL',
)

export const selectThere = statement('select_events_there', 'SELECT id FROM events WHERE id = ANY ($1::bigint[])')

/**
 * Branches that have something for the first time on a day: where their numbers go on. The day before is closed with its last number, so
 * that nothing has to be counted when its log has left.
 */
export const openBranchDays = statement(
  'open_branch_days',
  `WITH branch AS MATERIALIZED (
     SELECT b.branch_id, b.environment FROM unnest($1::int[], $2::text[]) AS b (branch_id, environment)
     WHERE NOT EXISTS (SELECT FROM branch_days d WHERE d.branch_id = b.branch_id AND d.environment = b.environment AND d.day = $3)),
   before AS MATERIALIZED (
     SELECT branch.*, d.day, coalesce(d.last, (
       SELECT max(sequence) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day), d.first - 1) AS last
     FROM branch CROSS JOIN LATERAL (
       SELECT * FROM branch_days d WHERE d.branch_id = branch.branch_id AND d.environment = branch.environment ORDER BY day DESC LIMIT 1) d),
   closed AS (
     UPDATE branch_days d SET last = before.last FROM before
     WHERE d.branch_id = before.branch_id AND d.environment = before.environment AND d.day = before.day)
   INSERT INTO branch_days (branch_id, environment, day, first)
   SELECT branch.branch_id, branch.environment, $3, coalesce(before.last, 0) + 1
   FROM branch LEFT JOIN before USING (branch_id, environment)`,
)

/**
 * Gives each event the next number of its branch and one delivery for each webhook that wants it; each request to send again, one delivery.
 * A delivery whose entity has an unfinished one is blocked behind it (head-of-line blocking, of that entity alone), be it an older one or one of this very batch; what is sent
 * again waits only for what is sent again. Under the part's lock: nobody settles or creates meanwhile. None is due before what its lane
 * looks at, whatever clock its maker has.
 * Lanes are told: an idle one needs attention (but waits for its next probe while its breaker is open, and until its receiver wants to be asked), a held one has news; that
 * of a paused webhook too, which may be resumed just now: whoever looks at it in vain puts it to rest. Answers whose lanes somebody
 * should look at now.
 */
export const createDeliveries = statementOfDay(
  'create_deliveries',
  (day) => `WITH told AS MATERIALIZED (
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[], $8::bigint[], $9::bigint[], $13::text[])
       WITH ORDINALITY AS t (event_id, branch_id, environment, kind, entity, simulated, only_id, repeats, replay_id, action, place)),
   ${creating(day, { offset: '$10::bigint', now: '$11::timestamptz' })},
   locked AS MATERIALIZED (
     SELECT webhook_id, claim_id, attention_at, has_news, evidence, held_until FROM lanes
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM pairs)) ORDER BY webhook_id FOR UPDATE),
   told_lanes AS (
     UPDATE lanes SET ${attention({ now: '$11', threshold: '$12' })},
       has_news = claim_id IS NOT NULL
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked WHERE ${needsTelling({ now: '$11', threshold: '$12' })})))
   SELECT webhook_id AS "webhookId", (SELECT count(*) FROM pairs) AS deliveries FROM locked WHERE claim_id IS NOT NULL OR (evidence < $12 AND held_until <= $11) OR attention_at IS NULL OR attention_at <= $11`,
)

/** The deliveries of what was told, and its place in the log. */
export function creating(day: number, { offset, now }: { offset: string; now: string }): string {
  return `pairs AS MATERIALIZED (
     SELECT ${offset} + nextval('delivery_numbers') AS id, pair.* FROM (
       SELECT told.*, w.id AS webhook_id, CASE WHEN told.repeats IS NULL THEN 0 ELSE 1 END AS urgency
       FROM told JOIN webhooks w ON w.branch_id = told.branch_id AND w.environment = told.environment AND w.state <> 'deleted'
         AND CASE WHEN told.only_id IS NULL THEN told.simulated OR (${wants('w', 'told')}) ELSE w.id = told.only_id END
       ORDER BY told.place, w.id) pair),
   chained AS MATERIALIZED (
     SELECT pairs.*, coalesce(
       lag(pairs.id) OVER (PARTITION BY webhook_id, entity, urgency ORDER BY pairs.id),
       (SELECT q.id FROM queued_deliveries q WHERE ${lineOf('q')} = ${lineOf('pairs')}
          ORDER BY ${placeOf('q')} DESC LIMIT 1)) AS after_id
     FROM pairs),
   created AS (
     INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at, repeats, replay_id)
     SELECT id, webhook_id, event_id, entity, urgency, after_id, CASE WHEN after_id IS NULL THEN greatest(${now}, due_from) ELSE 'infinity' END, ${now},
       repeats, replay_id
     FROM chained JOIN lanes USING (webhook_id)
     RETURNING id, webhook_id, event_id, entity, due_at),
   heads AS MATERIALIZED (
     SELECT b.branch_id, b.environment, coalesce(newest.sequence, d.first - 1) AS last
     FROM (SELECT DISTINCT branch_id, environment FROM told WHERE repeats IS NULL) b
     JOIN branch_days d ON d.branch_id = b.branch_id AND d.environment = b.environment AND d.day = ${day}
     LEFT JOIN LATERAL (
       SELECT sequence FROM branch_log_d${day} l WHERE l.branch_id = b.branch_id AND l.environment = b.environment
       ORDER BY sequence DESC LIMIT 1) newest ON true),
   counts AS (SELECT place, count(*) AS deliveries FROM pairs GROUP BY place),
   logged AS (
     INSERT INTO branch_log_d${day} (branch_id, environment, sequence, event_id, day, deliveries)
     SELECT n.branch_id, n.environment, heads.last + n.nth, n.event_id, ${day}, coalesce(counts.deliveries, 0)
     FROM (SELECT *, row_number() OVER (PARTITION BY branch_id, environment ORDER BY place) AS nth FROM told WHERE repeats IS NULL) n
     JOIN heads USING (branch_id, environment) LEFT JOIN counts USING (place))`
}

interface Telling {
  readonly now: string
  readonly threshold: string
}

/** When a lane that has something new is looked at. */
export function attention({ now, threshold }: Telling): string {
  return `attention_at = CASE
         WHEN claim_id IS NOT NULL THEN attention_at
         WHEN evidence >= ${threshold} THEN coalesce(attention_at, ${now})
         ELSE least(attention_at, greatest(held_until, ${now})) END`
}

/** Most lanes know already. */
export function needsTelling({ now, threshold }: Telling): string {
  return `CASE WHEN claim_id IS NOT NULL THEN NOT has_news
         WHEN evidence >= ${threshold} THEN attention_at IS NULL ELSE attention_at IS NULL OR attention_at > greatest(held_until, ${now}) END`
}

export const wakeDispatchers = statement('wake_dispatchers', "SELECT pg_notify('countersign_work', 'event')")

export const wakeWorkers = statement('wake_workers', "SELECT pg_notify('countersign_work', $1)")
