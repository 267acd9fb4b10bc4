import { statement } from '../database/database.ts'
import { edgesOfColumns } from './columns.sql.ts'

export const selectStatistics = statement(
  'select_attempt_statistics',
  `${edgesOfColumns(['$2', '$3', '$4'])},
   sampled AS MATERIALIZED (
     SELECT edge.place, d.id FROM edges edge JOIN edges next ON next.place = edge.place + 1 CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE (owner_id, place) >= ($1, edge.id) AND (owner_id, place) < ($1, next.id)
       ORDER BY owner_id, place LIMIT $5) d)
   SELECT sampled.place, count(*) AS made, count(*) FILTER (WHERE a.outcome = 'accepted') AS accepted,
     percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY a.duration_ms) FILTER (WHERE a.outcome <> 'unreachable') AS quantiles
   FROM sampled CROSS JOIN LATERAL (
     SELECT outcome, duration_ms FROM attempts WHERE delivery_id = sampled.id AND day >= sampled.id / 10000000000 ORDER BY number LIMIT $6) a
   GROUP BY GROUPING SETS ((sampled.place), ())`,
)
