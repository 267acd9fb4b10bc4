import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { attention, creating, needsTelling } from './dispatch.sql.ts'
import { isUnread } from './inbox.sql.ts'

/** Whoever is at a part is waited for so long; a settlement is over by then. */
export const waitBriefly = statement('wait_briefly', "SET LOCAL lock_timeout = '20ms'")

const telling = { now: '$9::timestamptz', threshold: '$14' }

/**
 * Accepts events and, where the caller holds their part ($15) and nothing in it waits to be dispatched, dispatches them as the dispatcher would: the same
 * deliveries and numbers. Lanes that nobody holds are leased to the node that asks ($12), which has them in hand already. The others
 * wait in the inbox. Answers a row for each event and delivery; none where the day is not open.
 */
export const publishAtOnce = statementOfDay(
  'publish_at_once',
  (day) => `WITH numbered AS MATERIALIZED (
     SELECT d.event_offset + nextval('event_numbers') AS id, d.delivery_offset, (e.branch_id % 16)::smallint AS part, e.*
     FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $10::text[])
       WITH ORDINALITY AS e (uid, environment, branch_id, kind, action, entity, body, simulated, traceparent, place)
     CROSS JOIN days d WHERE d.day = ${day} ORDER BY place),
   parts AS MATERIALIZED (
     SELECT p.part, p.part = ANY ($15::smallint[]) AND r.day = ${day} AND NOT ${isUnread('p.part')}
       AND NOT EXISTS (SELECT FROM numbered n WHERE n.part = p.part AND NOT EXISTS (
         SELECT FROM branch_days b WHERE b.branch_id = n.branch_id AND b.environment = n.environment AND b.day = ${day})) AS is_free
     FROM unnest($11::smallint[]) AS p (part)
     CROSS JOIN LATERAL (SELECT read, target, day FROM inbox_reads WHERE part = p.part ORDER BY number DESC LIMIT 1) r),
   stored AS (
     INSERT INTO events_d${day} (id, uid, environment, branch_id, kind, action, entity, body, simulated, created_at, traceparent)
     SELECT id, uid, environment, branch_id, kind, action, entity, body, simulated, $9, traceparent FROM numbered),
   noted AS (
     INSERT INTO inbox (part, event_id, branch_id, environment, kind, action, entity, simulated)
     SELECT part, n.id, n.branch_id, n.environment, n.kind, n.action, n.entity, n.simulated FROM numbered n JOIN parts USING (part) WHERE NOT parts.is_free ORDER BY n.place),
   told AS MATERIALIZED (
     SELECT n.id AS event_id, n.branch_id, n.environment, n.kind, n.action, n.entity, n.simulated, NULL::bigint AS only_id, NULL::bigint AS repeats,
       NULL::bigint AS replay_id, n.place, n.delivery_offset
     FROM numbered n JOIN parts USING (part) WHERE parts.is_free),
   ${creating(day, { offset: 'pair.delivery_offset', now: telling.now })},
   locked AS MATERIALIZED (
     SELECT webhook_id, claim_id, held_by, attention_at, has_news, evidence, held_until, limited_until, failures, failing_since, due_from FROM lanes
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM pairs)) ORDER BY webhook_id FOR UPDATE),
   judged AS MATERIALIZED (
     SELECT locked.*, w.url, w.rate_limit, p.branch_id IS NOT NULL AS is_served,
       claim_id IS NULL AND $12::uuid IS NOT NULL AND p.branch_id IS NOT NULL AND evidence < $14 AND held_until <= $9 AS is_leased
     FROM locked JOIN webhooks w ON w.id = locked.webhook_id
     LEFT JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment) AND w.state = 'active'),
   leased AS (
     UPDATE lanes SET claim_id = $12, held_by = $13, attention_at = 'infinity', has_news = false
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM judged WHERE is_leased))),
   told_lanes AS (
     UPDATE lanes SET ${attention(telling)}, has_news = claim_id IS NOT NULL
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM judged WHERE NOT is_leased AND ${needsTelling(telling)})))
   SELECT n.place, n.id AS "eventId", parts.is_free AS "isFree", c.id, c.webhook_id AS "webhookId", c.entity, c.due_at AS "dueAt",
     isfinite(c.due_at) AND j.is_served AS "isDue", n.branch_id AS "branchId", n.part, j.url, j.rate_limit AS "rateLimit", j.is_leased AS "isLeased", j.held_by AS "heldBy",
     j.failures, j.failing_since AS "failingSince", j.evidence, j.due_from AS "dueFrom", j.limited_until AS "limitedUntil", j.attention_at > $9 OR j.attention_at IS NULL AS "isIdle"
   FROM numbered n JOIN parts ON parts.part = n.part LEFT JOIN created c ON c.event_id = n.id LEFT JOIN judged j ON j.webhook_id = c.webhook_id
   ORDER BY n.place, c.id`,
)
