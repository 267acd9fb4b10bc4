import type { Sql } from '../../src/database/database.ts'
import { look } from '../../src/webhooks/events/log.sql.ts'
import { entriesAtMost, type NumberedBatch, numberedBy } from '../../src/webhooks/events/numbered-batch.ts'

/** In the transaction that published, before any sequencer sees it: for parts that lie in the same database. */
export async function lookInside(sql: Sql, part: number, now: Date): Promise<NumberedBatch> {
  return numberedBy(part, await sql.query(look, { part, now, most: entriesAtMost }))
}
