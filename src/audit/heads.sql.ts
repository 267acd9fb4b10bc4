import { statement } from '../database/database.ts'

/** Of several nodes that sign the same head one is enough. */
export const insertHead = statement(
  'insert_audit_head',
  'INSERT INTO audit_heads (position, at, signature) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
)

/** The first that covers a block. */
export const selectHeadFrom = statement(
  'select_audit_head_from',
  'SELECT position, at, signature FROM audit_heads WHERE position >= $1 ORDER BY position LIMIT 1',
)

/** Every link of the chain between two positions. */
export const selectLinks = statement(
  'select_audit_links',
  `SELECT position, cardinality(entry_ids) AS size, root, hash FROM audit_blocks
   WHERE position BETWEEN $1 AND $2 ORDER BY position LIMIT $3`,
)

/**
 * About where an entry is: numbers grow with positions, but for what was committed late. The last block that begins at or before it, by halving
 * (a binary search).
 */
export const guessPosition = statement(
  'guess_block_of_entry',
  `WITH RECURSIVE step AS (
     SELECT 1::bigint AS low, coalesce((SELECT max(position) FROM audit_blocks), 0) + 1 AS high
     UNION ALL
     SELECT CASE WHEN probe.first <= $1 THEN middle + 1 ELSE low END, CASE WHEN probe.first <= $1 THEN high ELSE middle END
     FROM step CROSS JOIN LATERAL (SELECT (low + high) / 2 AS middle) halved
     LEFT JOIN LATERAL (SELECT entry_ids[1] AS first FROM audit_blocks WHERE position = middle) probe ON true
     WHERE low < high)
   SELECT low - 1 AS position FROM step WHERE low >= high`,
)

/** Those of these blocks that hold any of these entries. */
export const selectHolding = statement(
  'select_blocks_holding',
  `SELECT position, entry_ids AS "entryIds" FROM audit_blocks
   WHERE position BETWEEN $1 AND $2 AND entry_ids && $3::bigint[] ORDER BY position`,
)
