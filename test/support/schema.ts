/**
 * What a schema is, as lines that can be compared: everything in the catalogs that somebody wrote, and every
 * row. Nothing goes by the order of columns.
 */

import type { Database } from '../../src/database/database.ts'
import { ask } from './ask.ts'

/**
 * Each answers lines. `c` is what the schema has: tables with their partitions, indexes, views, sequences.
 */
const questions: Record<string, string> = {
  relation: `SELECT concat_ws(' ', c.relkind, c.relname, c.relpersistence, c.relam::regclass, c.reloptions,
    c.relacl, c.relowner::regrole,
      c.relrowsecurity, c.relreplident, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), i.inhparent::regclass)
    FROM c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid`,
  column: `SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attnotnull THEN 'NOT NULL' END,
      'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), nullif(a.attidentity, ''), nullif(a.attgenerated, ''), a.attstorage, a.attcompression,
      a.attcollation::regcollation, 'STATISTICS ' || a.attstattarget, a.attoptions, a.attacl)
    FROM c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum`,
  // Nobody names a NOT NULL: it is told by its column.
  constraint: `SELECT concat_ws(' ', c.relname, CASE WHEN k.contype <> 'n'
    THEN k.conname END, pg_get_constraintdef(k.oid), k.convalidated, k.conenforced,
      k.conislocal, k.coninhcount)
    FROM c JOIN pg_constraint k ON k.conrelid = c.oid`,
  index: `SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisunique, i.indimmediate,
    i.indisclustered, i.indisreplident)
    FROM c JOIN pg_index i ON i.indexrelid = c.oid`,
  trigger: `SELECT concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled) FROM c
    JOIN pg_trigger t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal`,
  view: `SELECT c.relname || ' ' || pg_get_viewdef(c.oid) FROM c WHERE c.relkind = 'v'`,
  rule: `SELECT pg_get_ruledef(r.oid) FROM c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relkind <> 'v'`,
  policy: `SELECT to_jsonb(p)::text FROM c JOIN pg_policy p ON p.polrelid = c.oid`,
  statistics: `SELECT pg_get_statisticsobjdef(s.oid) FROM c JOIN pg_statistic_ext s ON s.stxrelid = c.oid`,
  sequence: `SELECT concat_ws(' ', to_jsonb(s) - 'schemaname', pg_get_serial_sequence(owner.relname,
    a.attname))
    FROM c JOIN pg_sequences s ON s.sequencename = c.relname AND s.schemaname = current_schema()
    LEFT JOIN pg_depend d ON d.objid = c.oid AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
    LEFT JOIN pg_class owner ON owner.oid = d.refobjid LEFT JOIN pg_attribute a ON a.attrelid = owner.oid
      AND a.attnum = d.refobjsubid
    WHERE c.relkind = 'S'`,
  function: `SELECT concat_ws(' ', pg_get_functiondef(p.oid), p.proacl, p.proowner::regrole) FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace`,
  type: `SELECT concat_ws(' ', t.typname, t.typtype, t.typacl) FROM pg_type t
    WHERE t.typnamespace = current_schema()::regnamespace AND t.typrelid = 0 AND t.typelem = 0`,
  comment: `SELECT concat_ws(' ', o.type, o.identity, d.description) FROM pg_description d
    CROSS JOIN LATERAL pg_identify_object(d.classoid, d.objoid, d.objsubid) o
      WHERE o.schema = current_schema()`,
  schema: `SELECT concat_ws(' ', nspname, nspacl, (SELECT jsonb_agg(to_jsonb(a) - 'oid')
    FROM pg_default_acl a)) FROM pg_namespace WHERE nspname = current_schema()`,
  extension: 'SELECT extname::text FROM pg_extension',
}

export async function describeSchema(db: Database): Promise<string[]> {
  const parts = Object.entries(questions).map(
    ([kind, text]) => `SELECT '${kind} ' || told.line AS line FROM (${text}) AS told (line)`,
  )
  const rows = await ask<{ line: string }>(
    db,
    `WITH c AS MATERIALIZED (SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
       SELECT line FROM (${parts.join(' UNION ALL ')}) AS told ORDER BY line COLLATE "C"`,
  )
  return rows.map((row) => row.line)
}

const selectTables = `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind
    IN ('r', 'p') AND NOT relispartition
     AND relname <> 'schema_migrations' ORDER BY relname`

/** Every row of every table but the list of migrations, by the names of its columns. */
export async function readRows(db: Database): Promise<Record<string, object[]>> {
  const found: Record<string, object[]> = {}
  for (const { name } of await ask<{ name: string }>(db, selectTables)) {
    const text = `SELECT to_jsonb(t) AS row FROM ${name} t ORDER BY to_jsonb(t)::text COLLATE "C"`
    const rows = await ask<{ row: object }>(db, text)
    if (rows.length > 0) found[name] = rows.map(({ row }) => row)
  }
  return found
}
