/** Ids grow with time. Where something began is found by halving between the first id and the last, without an index on the time. */
import { type Sql, type Statement, statement } from './database.ts'

/** The id of the first row since the moment `$1`; past the last one when there is none. */
export function firstSince(name: string, table: string, time: string): Statement {
  return statement(
    name,
    `WITH RECURSIVE step AS (
       SELECT 0 AS place, (SELECT min(id) FROM ${table}) AS low, (SELECT max(id) FROM ${table}) + 1 AS high
       UNION ALL
       SELECT place + 1,
         CASE WHEN probe.at < $1 THEN probe.id + 1 ELSE low END,
         CASE WHEN probe.at < $1 THEN high ELSE (low + high) / 2 END
       FROM step CROSS JOIN LATERAL (
         SELECT id, ${time} AS at FROM ${table} WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1) probe
       WHERE low < high AND place < 64)
     SELECT low AS id FROM step ORDER BY place DESC LIMIT 1`,
  )
}

export async function findFirstSince(sql: Sql, search: Statement, at: Date): Promise<number> {
  const [first] = await sql.query<{ id: number | null }>(search, [at])
  return first?.id ?? 0
}
