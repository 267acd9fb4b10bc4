/** What PostgreSQL tells of tables that are being migrated: `upgrade.ts` asks. */
import { bool, int, list, orNull, text } from './column.ts'
import { statement } from './statement.ts'

/** Of a table with all its partitions: about how many rows, and bytes with indexes. */
export const selectTableSizes = statement({
  name: 'select_table_sizes',
  gives: { name: text, rows: int, bytes: int },
  text: `WITH RECURSIVE pieces AS (
      SELECT oid AS root, oid AS piece FROM pg_class
        WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
      UNION ALL SELECT root, inhrelid FROM pieces JOIN pg_inherits ON inhparent = piece)
    SELECT root::regclass::text AS name, sum(pg_total_relation_size(piece))::bigint AS bytes,
        sum(CASE WHEN relkind = 'r' THEN greatest(reltuples::bigint, pg_stat_get_live_tuples(piece)) ELSE 0 END)::bigint
          AS rows
      FROM pieces JOIN pg_class ON oid = piece GROUP BY root`,
})

/** One partition of each table that has some, as it was declared. */
export const selectPartitionSamples = statement({
  name: 'select_partition_samples',
  gives: { parent: text, name: text, bound: text },
  text: `SELECT DISTINCT ON (inhparent) inhparent::regclass::text AS parent, oid::regclass::text AS name,
      pg_get_expr(relpartbound, oid) AS bound
    FROM pg_inherits JOIN pg_class ON oid = inhrelid
    WHERE relispartition AND relkind = 'r' AND relnamespace = 'public'::regnamespace
    ORDER BY inhparent, oid DESC`,
})

/** Every table, with the one whose partition it is. */
export const selectTables = statement({
  name: 'select_tables',
  gives: { table: int, name: text },
  text: `SELECT oid::bigint AS table, coalesce(pg_partition_root(oid), oid::regclass)::text AS name FROM pg_class
    WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
})

/** How these tables fared in this transaction so far. A table that is rewritten gets another file. */
export const selectTraces = statement({
  name: 'select_traces',
  takes: { tables: list(int) },
  gives: { table: int, exists: bool, file: orNull(int), scans: int, locks: list(text) },
  text: `SELECT t.oid::bigint AS table, c.oid IS NOT NULL AS exists, pg_relation_filenode(t.oid)::bigint AS file,
      (SELECT coalesce(sum(pg_stat_get_xact_numscans(part)), 0)::bigint FROM (
        SELECT t.oid AS part UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = t.oid) AS parts) AS scans,
      ARRAY(SELECT upper(trim(regexp_replace(regexp_replace(mode, 'Lock$', ''), '([A-Z])', ' \\1', 'g')))
        FROM pg_locks WHERE locktype = 'relation' AND pid = pg_backend_pid() AND relation = t.oid
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS locks
    FROM unnest(:tables::bigint[]::oid[]) AS t (oid) LEFT JOIN pg_class c ON c.oid = t.oid`,
})
