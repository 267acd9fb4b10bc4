import { halving } from '../database/halving.ts'

/**
 * A recursive part of a statement: `step` ends with the first id since a moment, for each row of `moments` (place, at). An id carries its
 * day and grows within it, so each is found by halving what the day can hold of the numbers that were given, all at once.
 */
export function halvingOfDay(moments: string): string {
  return halving({
    ...{ table: 'deliveries', time: 'created_at' },
    from: `SELECT place, at, first AS low, coalesce(least(first + 10000000000, delivery_offset + last_value + 1), first) AS high, first + 10000000000 AS past
     FROM (${moments}) moments CROSS JOIN LATERAL (SELECT day_of(at) AS day, day_of(at) * 10000000000 AS first) of_day
     CROSS JOIN delivery_numbers LEFT JOIN days USING (day)`,
  })
}

/**
 * The beginning of a statement: `edges` has the first id of each column, and the one past the last. The parameters are the start, a
 * column's milliseconds and the number of columns.
 */
export function edgesOfColumns([startsAt, columnMs, columns]: readonly [string, string, string]): string {
  const moments = `SELECT place, ${startsAt}::timestamptz + place * ${columnMs}::float8 * interval '1 ms' AS at
       FROM generate_series(0, ${columns}::int) AS place`
  return `WITH RECURSIVE ${halvingOfDay(moments)},
   edges AS MATERIALIZED (SELECT place, low AS id FROM step WHERE low >= high)`
}
