import { bytes, instant, int, list } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** Of several nodes that sign the same head one is enough. */
export const insertHead = statement({
  name: 'insert_audit_head',
  takes: { position: int, at: instant, signature: bytes },
  text: `INSERT INTO audit_heads (position, at, signature) VALUES (:position, :at, :signature)
   ON CONFLICT DO NOTHING`,
})

/** The first that covers a block. */
export const selectHeadFrom = statement({
  name: 'select_audit_head_from',
  takes: { from: int },
  gives: { position: int, at: instant, signature: bytes },
  text: 'SELECT position, at, signature FROM audit_heads WHERE position >= :from ORDER BY position LIMIT 1',
})

/** Every link of the chain between two positions. */
export const selectLinks = statement({
  name: 'select_audit_links',
  takes: { from: int, to: int, most: int },
  gives: { position: int, size: int, root: bytes, hash: bytes },
  text: `SELECT position, cardinality(entry_ids) AS size, root, hash FROM audit_blocks
   WHERE position BETWEEN :from AND :to ORDER BY position LIMIT :most`,
})

/**
 * About where an entry is: numbers grow with positions, but for what was committed late. The last block that
 * begins at or before it, by halving (a binary search).
 */
export const guessPosition = statement({
  name: 'guess_block_of_entry',
  takes: { entryId: int },
  gives: { position: int },
  text: `WITH RECURSIVE step AS (
     SELECT 1::bigint AS low, coalesce((SELECT max(position) FROM audit_blocks), 0) + 1 AS high
     UNION ALL
     SELECT CASE WHEN probe.first <= :entryId THEN middle + 1 ELSE low END,
       CASE WHEN probe.first <= :entryId THEN high ELSE middle END
     FROM step CROSS JOIN LATERAL (SELECT (low + high) / 2 AS middle) halved
     LEFT JOIN LATERAL (SELECT entry_ids[1] AS first FROM audit_blocks WHERE position = middle) probe ON true
     WHERE low < high)
   SELECT low - 1 AS position FROM step WHERE low >= high`,
})

/** Those of these blocks that hold any of these entries. */
export const selectHolding = statement({
  name: 'select_blocks_holding',
  takes: { low: int, high: int, entryIds: list(int) },
  gives: { position: int, entryIds: list(int) },
  text: `SELECT position, entry_ids AS "entryIds" FROM audit_blocks
   WHERE position BETWEEN :low AND :high AND entry_ids && :entryIds::bigint[] ORDER BY position`,
})
