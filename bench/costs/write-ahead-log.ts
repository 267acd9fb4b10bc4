/**
 * What PostgreSQL wrote to its log between two moments: bytes, page images among them, rows and index
 * entries.
 */

import type { Database } from '../../src/database/database.ts'
import { ask } from '../../test/support/ask.ts'

export interface WriteVolume {
  readonly logBytes: number
  /** Of them, images of whole pages: one for each page that is first touched after a checkpoint. */
  readonly imageBytes: number
  readonly rowsInserted: number
  readonly rowsChanged: number
  readonly indexEntries: number
  readonly commits: number
}

const selectPlace = 'SELECT pg_current_wal_insert_lsn()::text AS place'
const selectWritten = `SELECT coalesce(sum(combined_size), 0)::float8 AS "logBytes",
    coalesce(sum(fpi_size), 0)::float8 AS "imageBytes",
     coalesce(sum(count) FILTER (WHERE type LIKE 'Heap/INSERT%'), 0)::float8 AS "rowsInserted",
     coalesce(sum(count) FILTER (WHERE type ~ '^Heap/(HOT_UPDATE|UPDATE|DELETE)'),
       0)::float8 AS "rowsChanged",
     coalesce(sum(count) FILTER (WHERE type ~ '^Btree/INSERT_(LEAF|POST)'), 0)::float8 AS "indexEntries",
     coalesce(sum(count) FILTER (WHERE type = 'Transaction/COMMIT'), 0)::float8 AS commits
   FROM pg_get_wal_stats($1::pg_lsn, $2::pg_lsn, true) AS log (type, count, count_share, record_size,
     record_share, fpi_size, fpi_share, combined_size, combined_share)`
const nothing: WriteVolume = {
  logBytes: 0,
  imageBytes: 0,
  rowsInserted: 0,
  rowsChanged: 0,
  indexEntries: 0,
  commits: 0,
}

export async function findPlace(db: Database): Promise<string> {
  const [found] = await ask<{ place: string }>(db, selectPlace)
  return found!.place
}

export async function readWritten(db: Database, from: string, to: string): Promise<WriteVolume> {
  if (from === to) return nothing
  // The end of the log is read from disk: something behind it makes sure that it is there.
  await db.script("SELECT pg_logical_emit_message(true, 'bench', 'end')")
  const [written] = await ask<WriteVolume>(db, selectWritten, [from, to])
  return written!
}
