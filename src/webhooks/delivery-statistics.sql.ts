import { statement } from '../database/database.ts'
import { edgesOfColumns } from './columns.sql.ts'
import { idsADay } from './days.ts'

/**
 * Numbers have no gaps but at the end of a day, so a column that passes midnight is looked at in two pieces, each from its first delivery
 * to its last. Deliveries of one event have neighbouring numbers, in the order of their webhooks: looked at in equal steps, always the
 * same webhook might be met. Multiples of the golden section put each look elsewhere within its step. What is looked at weighs as much as
 * its piece has deliveries. Of what was sent again nobody asks how soon. The whole period has place -1.
 */
export const selectThroughput = statement(
  'select_throughput',
  `${edgesOfColumns(['$1', '$2', '$3'])},
   pieces AS MATERIALIZED (
     SELECT place, first, past, past - first AS span, least(past - first, $4::bigint) AS looks FROM (
       SELECT edge.place,
         (SELECT id FROM deliveries WHERE id >= piece.low AND id < piece.high ORDER BY id LIMIT 1) AS first,
         (SELECT id FROM deliveries WHERE id >= piece.low AND id < piece.high ORDER BY id DESC LIMIT 1) + 1 AS past
       FROM edges edge JOIN edges next ON next.place = edge.place + 1 CROSS JOIN LATERAL (
         SELECT edge.id AS low, least(next.id, (edge.id / ${idsADay} + 1) * ${idsADay}) AS high
         UNION ALL SELECT next.id / ${idsADay} * ${idsADay}, next.id WHERE next.id / ${idsADay} > edge.id / ${idsADay}) piece) found
     WHERE first IS NOT NULL),
   looked AS MATERIALIZED (
     SELECT DISTINCT pieces.place, pieces.first, pieces.span, pieces.looks, d.id, d.state, d.repeats IS NULL AS once,
       extract(epoch FROM d.settled_at - d.created_at)::float8 * 1000 AS ms
     FROM pieces CROSS JOIN LATERAL generate_series(0, pieces.looks - 1) AS look CROSS JOIN LATERAL (
       SELECT id, state, repeats, created_at, settled_at FROM deliveries
       WHERE id >= pieces.first + floor((look + (look * 0.6180339887::float8 - floor(look * 0.6180339887::float8))) * pieces.span / pieces.looks)::bigint
         AND id < pieces.past
       ORDER BY id LIMIT 1) d),
   weighed AS MATERIALIZED (
     SELECT looked.*, CASE WHEN looks < span THEN span::float8 / count(*) OVER (PARTITION BY first) ELSE 1 END AS weight FROM looked),
   told AS MATERIALIZED (
     SELECT place, id, state, once, ms, weight, looks < span AS sampled FROM weighed
     UNION ALL SELECT -1, id, state, once, ms, weight, looks < span FROM weighed),
   ranked AS (
     SELECT place, ms, sum(weight) OVER (PARTITION BY place ORDER BY ms, id) / sum(weight) OVER (PARTITION BY place) + 1e-9 AS rank
     FROM told WHERE state = 'delivered' AND once),
   quantiles AS (
     SELECT place, min(ms) FILTER (WHERE rank >= 0.5) AS p50, min(ms) FILTER (WHERE rank >= 0.95) AS p95, min(ms) FILTER (WHERE rank >= 0.99) AS p99
     FROM ranked GROUP BY place),
   counts AS (
     SELECT place, sum(weight) AS made, coalesce(sum(weight) FILTER (WHERE state = 'delivered'), 0) AS accepted, bool_or(sampled) AS sampled
     FROM told GROUP BY place)
   SELECT nullif(place, -1) AS place, made, accepted, sampled, p50, p95, p99 FROM counts LEFT JOIN quantiles USING (place)`,
)
