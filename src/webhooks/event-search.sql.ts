import { statement } from '../database/database.ts'
import { halving } from '../database/halving.ts'

const columns = 'id, uid, branch_id AS "branchId", environment, kind, action, entity, created_at AS "createdAt"'

/** As halvingOfDay (columns.sql.ts), of events. */
const step = halving({
  ...{ table: 'events', time: 'created_at' },
  from: `SELECT place, at, first AS low, coalesce(least(first + 10000000000, event_offset + last_value + 1), first) AS high, first + 10000000000 AS past
     FROM (SELECT 0 AS place, $2::timestamptz AS at UNION ALL SELECT 1, $3::timestamptz) moments
     CROSS JOIN LATERAL (SELECT day_of(at) AS day, day_of(at) * 10000000000 AS first) of_day
     CROSS JOIN event_numbers LEFT JOIN days USING (day)`,
})

/** Among those of a few seconds, at most so many: ids grow with time, so no index of names is needed. */
export const selectNamedBetween = statement(
  'select_event_named_between',
  `WITH RECURSIVE ${step}, bounds AS MATERIALIZED (
     SELECT min(low) AS low, max(low) AS past FROM step WHERE low >= high)
   SELECT ${columns} FROM (
     SELECT * FROM events WHERE id >= (SELECT low FROM bounds) AND id < (SELECT past FROM bounds) ORDER BY id LIMIT $4) near
   WHERE uid = $1::uuid LIMIT 1`,
)

/** Of a name that does not say when: among the newest. */
export const selectNamedLately = statement(
  'select_event_named_lately',
  `SELECT ${columns} FROM (SELECT * FROM events ORDER BY id DESC LIMIT $2) newest WHERE uid = $1::uuid LIMIT 1`,
)

/** Of whichever partner, with its webhook. */
export const selectAnyDelivery = statement(
  'select_any_delivery',
  `SELECT d.id, d.state, d.entity, d.attempts, d.webhook_id AS "webhookId", w.url, w.branch_id AS "branchId", w.environment, p.name AS partner
   FROM (SELECT * FROM deliveries WHERE id = $1 OFFSET 0) d JOIN webhooks w ON w.id = d.webhook_id JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.state <> 'deleted'`,
)

/** Every word that was typed begins a word of the address, or the number is the webhook's. */
export const selectAddressed = statement(
  'select_webhooks_addressed',
  `SELECT found.id, found.url, found.branch_id AS "branchId", found.environment, p.name AS partner FROM (
     (SELECT id, url, branch_id, environment FROM webhooks WHERE id = $2 AND state <> 'deleted')
     UNION
     (SELECT id, url, branch_id, environment FROM webhooks WHERE state <> 'deleted' AND address_words(url) @@
        (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(address_words($1))) LIMIT $3)
   ) AS found JOIN partners p ON p.branch_id = found.branch_id ORDER BY found.id LIMIT $3`,
)
