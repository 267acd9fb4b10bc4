import { bytes, instant, int, list, orNull } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** The next blocks, as far as they hold so many entries together; each with its signature if it has one. */
export const selectBlocksAfter = statement({
  name: 'select_audit_blocks_after',
  takes: { after: int, most: int, entries: int },
  gives: {
    position: int,
    hash: bytes,
    root: bytes,
    entryIds: list(int),
    at: orNull(instant),
    signature: orNull(bytes),
  },
  text: `SELECT b.position, b.hash, b.root, b.entry_ids AS "entryIds", h.at, h.signature
   FROM (SELECT *, sum(cardinality(entry_ids)) OVER (ORDER BY position) AS total
     FROM (SELECT * FROM audit_blocks WHERE position > :after ORDER BY position LIMIT :most) next) b
   LEFT JOIN audit_heads h USING (position)
   WHERE b.total <= :entries ORDER BY b.position`,
})
