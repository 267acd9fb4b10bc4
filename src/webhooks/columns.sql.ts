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
