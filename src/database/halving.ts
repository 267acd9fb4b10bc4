/**
 * Ids grow with time. Where something began is found by halving between two ids (a binary search), without an
 * index on the time.
 */

import { instant, int } from './column.ts'
import type { Sql } from './database.ts'
import { type Statement, statement } from './statement.ts'

interface Halving {
  readonly table: string
  /** The column that says when a row came. */
  readonly time: string
  /**
   * Rows (place, at, low, high, past): for each, the first id since `at` is sought from `low` to `high`,
   * among rows below `past`.
   */
  readonly from: string
}

/**
 * A recursive part of a statement: `step` ends, where `low >= high`, with `low` as the first id since the
 * moment of each place, all of them at once.
 */
function halving({ table, time, from }: Halving): string {
  return `step AS (
     SELECT place, at, low, high, past FROM (${from}) bounds
     UNION ALL
     SELECT place, at, CASE WHEN probe.moment < at THEN probe.id + 1 ELSE low END,
       CASE WHEN probe.moment < at THEN high ELSE (low + high) / 2 END, past
     FROM step LEFT JOIN LATERAL (
       SELECT id, ${time} AS moment FROM ${table} WHERE id >= (low + high) / 2 AND id < past ORDER BY id
         LIMIT 1) probe ON true
     WHERE low < high)`
}

type FirstSince = Statement<{ readonly at: Date }, { readonly id: number }>

/** The id of the first row since a moment; past the last one when there is none. */
export function firstSince(name: string, table: string, time: string): FirstSince {
  const from = `SELECT 0 AS place, :at::timestamptz AS at, low, past AS high, past FROM (
       SELECT (SELECT min(id) FROM ${table}) AS low, (SELECT max(id) FROM ${table}) + 1 AS past) ids`
  return statement({
    name,
    takes: { at: instant },
    gives: { id: int },
    text: `WITH RECURSIVE ${halving({ table, time, from })}
     SELECT low AS id FROM step WHERE low >= high`,
  })
}

export async function findFirstSince(sql: Sql, search: FirstSince, at: Date): Promise<number> {
  const [first] = await sql.query(search, { at })
  return first?.id ?? 0
}
