import { bool, int, text } from '../../database/column.ts'
import { type RowOf, statement } from '../../database/statement.ts'

/** How many parts there are, and whether they lie on the workers of a Citus. */
export const readLayout = statement({
  name: 'read_layout',
  gives: { parts: int, isDistributed: bool },
  text: 'SELECT part_count() AS parts, is_distributed() AS "isDistributed"',
})
export type Layout = RowOf<typeof readLayout>

/** Which server has a part; no row where the database has all of them. */
export const readPartServers = statement({
  name: 'read_part_servers',
  gives: { part: int, host: text, port: int },
  text: 'SELECT part, host, port FROM part_servers()',
})

export const findPart = statement({
  name: 'find_part',
  takes: { part: int },
  gives: { part: int },
  text: 'SELECT part FROM parts WHERE part = :part',
})
