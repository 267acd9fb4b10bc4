import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../test/support/ask.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { keepOpen } from '../../test/support/keep-open.ts'
import { openLenientDatabase } from '../../test/support/lenient-database.ts'
import { text } from './column.ts'
import { sessionSettings } from './session.ts'
import { statement } from './statement.ts'

/** What a role or a database could say instead. */
const hostile: Readonly<Record<string, string>> = {
  statement_timeout: '7s',
  idle_in_transaction_session_timeout: '7s',
  lock_timeout: '7s',
  transaction_timeout: '7s',
  idle_session_timeout: '7s',
  search_path: 'elsewhere, pg_catalog',
  default_transaction_isolation: 'serializable',
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  exit_on_error: 'on',
  client_min_messages: 'error',
  TimeZone: 'Asia/Kathmandu',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  gin_fuzzy_search_limit: '1',
  plan_cache_mode: 'force_custom_plan',
  enable_seqscan: 'on',
  enable_mergejoin: 'on',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  enable_tidscan: 'off',
  enable_partition_pruning: 'off',
  enable_nestloop: 'off',
  enable_hashjoin: 'off',
  enable_hashagg: 'off',
  enable_sort: 'off',
  jit: 'on',
  'citus.allow_nested_distributed_execution': 'off',
  'citus.propagate_set_commands': 'none',
  tcp_user_timeout: '7s',
  tcp_keepalives_idle: '77',
  tcp_keepalives_interval: '77',
  tcp_keepalives_count: '77',
}

const role = 'stubborn'
const limits = { answerTimeoutMs: 60_000, stillTimeoutMs: 60_000 }
const settings = sessionSettings(limits)

const database = await keepOpen(openTestDatabase())
const owner = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 1 }))
const known = new Set(
  (await ask<{ name: string }>(owner, 'SELECT name FROM pg_settings')).map(({ name }) => name),
)
const name = new URL(database.url.replace('@/', '@local/')).pathname.slice(1)
const defaults = Object.entries(hostile).filter(([setting]) => known.has(setting))

const asDefaults = (whose: string) =>
  defaults
    .map(
      ([setting, value]) =>
        `ALTER ${whose} SET ${setting} = ${setting === 'search_path' ? value : `'${value}'`}`,
    )
    .join('; ')

await owner.script(`CREATE SCHEMA elsewhere; CREATE ROLE ${role} LOGIN SUPERUSER`)
await keepOpen({ close: () => owner.script(`DROP ROLE ${role}`) })

interface Setting {
  readonly name: string
  readonly setting: string
  readonly source: string
}

const selectSettings = statement({
  name: '',
  gives: { name: text, setting: text, source: text },
  text: `SELECT name, setting, source FROM pg_settings WHERE name = ANY ('{${[...settings.keys()]}}')`,
})
const print = (rows: readonly Setting[]) => Object.fromEntries(rows.map((row) => [row.name, row.setting]))

/** Of the pool, and of a connection that listens. */
async function readSessions(url: string): Promise<(readonly Setting[])[]> {
  const db = openLenientDatabase({ connectionString: url, connections: 1, ...limits })
  const listener = await db.listen(
    'nothing',
    () => {},
    () => {},
  )
  try {
    return [await db.query(selectSettings), await listener.query(selectSettings, {}, 60_000)]
  } finally {
    await listener.close()
    await db.close()
  }
}

test('there is a hostile default of every setting of a session', () => {
  assert.deepEqual(Object.keys(hostile).sort(), [...settings.keys()].sort())
})

test('whatever a role or a database has for its default, a session has what it relies on', async () => {
  const [plain] = await readSessions(database.url)
  await owner.script(asDefaults(`DATABASE ${name}`))
  const ofDatabase = await readSessions(database.url)
  await owner.script(asDefaults(`ROLE ${role}`))
  const ofRole = await readSessions(database.url.replace('//countersign@', `//${role}@`))
  for (const session of [...ofDatabase, ...ofRole]) {
    assert.deepEqual(print(session), print(plain!))
    for (const { name, source } of session) assert.equal(source, 'session', name)
  }
  assert.equal(print(plain!).jit, 'off')
  assert.equal(plain!.length, defaults.length)
})

/** No session relies on these, or they are its administrator's to choose. */
const left = new Map([
  ['sent by the driver with the connection', ['client_encoding']],
  [
    'of the transaction under way',
    ['transaction_deferrable', 'transaction_isolation', 'transaction_read_only'],
  ],
  [
    'where and how tables are kept',
    [
      'default_table_access_method',
      'default_tablespace',
      'default_toast_compression',
      'gin_pending_list_limit',
      'temp_tablespaces',
    ],
  ],
  [
    'of what no statement here uses',
    [
      ...[
        'default_text_search_config',
        'icu_validation_level',
        'lc_monetary',
        'lc_numeric',
        'lc_time',
        'timezone_abbreviations',
      ],
      ...[
        'createrole_self_grant',
        'restrict_nonsystem_relation_kind',
        'row_security',
        'xmlbinary',
        'xmloption',
      ],
      ...['backslash_quote', 'escape_string_warning', 'quote_all_identifiers', 'synchronize_seqscans'],
    ],
  ],
  ['what is true without it is true with it', ['check_function_bodies']],
  [
    'another way to the same rows, by the same indexes',
    [
      ...[
        'async_append',
        'distinct_reordering',
        'gathermerge',
        'group_by_reordering',
        'incremental_sort',
        'material',
        'memoize',
      ],
      ...[
        'parallel_append',
        'parallel_hash',
        'partitionwise_aggregate',
        'partitionwise_join',
        'presorted_aggregate',
      ],
      ...['self_join_elimination'],
    ].map((way) => `enable_${way}`),
  ],
])

test('every setting by which a default could change what a statement means or how it is planned is in the table, or has its reason', async () => {
  const rows = await ask<{ name: string }>(
    owner,
    `SELECT name FROM pg_settings
      WHERE context = 'user'
      AND (name !~ '^vacuum_'
      AND category ~ '/ (Statement Behavior|Locale and Formatting|Previous PostgreSQL Versions|Planner Method Configuration)$')`,
  )
  assert.ok(rows.length > 50)
  const reasoned = new Set([...left.values()].flat())
  assert.deepEqual(
    rows.map(({ name }) => name).filter((each) => !settings.has(each) && !reasoned.has(each)),
    [],
  )
})
