/**
 * What a source says costs what it says, and not what is known: a small batch reads none of the large tables
 * from end to end, whatever the statistics say, and in whichever session it is merged: one of ours, or one of
 * the brokerage's core with the settings that PostgreSQL has by itself.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import type { Database, Sql } from '../../src/database/database.ts'
import * as imports from '../../src/provisioning/imports.sql.ts'
import type { ImportMode } from '../../src/provisioning/outcomes.ts'
import { mergeAll } from '../../src/provisioning/provisioning.ts'
import { selectChecksums, selectCustomers } from '../../src/provisioning/reconciliation.sql.ts'
import type { SourceRecord } from '../../src/provisioning/record.ts'
import { mergeAllStaged, StagedRows, stage } from '../../src/provisioning/staging.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { operatorAct } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'

/** `PLANS_ROWS=1000000` for the length of it. */
const rows = Number(process.env.PLANS_ROWS ?? 60_000)
const origin = { source: 'core', environment: 'live' } as const
const large = [
  'users',
  'accounts',
  'holdings',
  'import_seen',
  'import_known',
  'import_missing',
  'waiting_holdings',
  'tombstones',
]

const house = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: house.url, connections: 1 }))
const core = new pg.Client({ connectionString: house.url })
await core.connect()
await keepOpen({ close: () => core.end() })

const fill = `INSERT INTO sources (name, environment, heard_at, newest_at)
  VALUES ('core', 'live', now(), now()) ON CONFLICT DO NOTHING;
  INSERT INTO users (id, username, name, status, source, external_id, version, source_status, created_at,
    updated_at)
    SELECT 'id-' || lpad(n::text, 12, '0'), 'core:c' || n, 'Name', 'active', 'core', 'C' || n, 1, 'active',
      now(), now() FROM generate_series(1, ${rows}) n;
  INSERT INTO accounts (account_number, environment, classification, date_created, type, last_update_date,
    source, external_id, version)
    SELECT 'NUM' || n, 'live', 'individual', now(), 'cash', now(), 'core', 'A' || n, 1
      FROM generate_series(1, ${rows}) n;
  INSERT INTO holdings (user_id, account_number, role, scopes, version, created_at, updated_at)
    SELECT 'id-' || lpad(n::text, 12, '0'), 'NUM' || n, 'owner', '{read}', 1, now(), now()
      FROM generate_series(1, ${rows}) n;
  INSERT INTO waiting_holdings (source, customer, account, role, scopes, status, version, since)
    SELECT 'core', 'X' || n, 'Y' || n, 'owner', '{read}', 'active', 1, now()
      FROM generate_series(1, ${rows}) n;
  INSERT INTO tombstones (source, kind, external_id, version, removed_at)
    SELECT 'core', 'customer', 'X' || n, 9, now() FROM generate_series(1, ${rows}) n;
  INSERT INTO imports (source, environment, mode, dry_run, state, actor, started_at, updated_at)
    SELECT 'core', 'live', 'snapshot', false, 'removing', 'test', now(), now() FROM generate_series(1, 1000);
  INSERT INTO import_seen (import_id, part, marks) SELECT n % 1000 + 1, n % 64, '{1}'
    FROM generate_series(1, ${rows}) n;
  INSERT INTO import_known (import_id, part, keys) SELECT n % 1000 + 1, n % 64, ARRAY['customer C' || n]
    FROM generate_series(1, ${rows}) n;
  INSERT INTO import_missing (import_id, kind, key) SELECT n % 1000 + 1, 'customer', 'C' || n
    FROM generate_series(1, ${rows}) n`

/** New, changed, as before, waiting and removed, ten of each kind. */
function* say(): Generator<SourceRecord> {
  for (let n = 0; n < 10; n++) {
    const id = (first: number) => first + n
    for (const [version, first] of [
      [1, rows + 1],
      [2, 100],
      [1, 200],
    ] as const) {
      yield { kind: 'customer', op: 'upsert', externalId: `C${id(first)}`, name: 'Name', version }
      yield {
        kind: 'account',
        op: 'upsert',
        externalId: `A${id(first)}`,
        number: `NUM${id(first)}`,
        type: 'cash',
        version,
      }
      yield {
        kind: 'holding',
        op: 'upsert',
        customer: `C${id(first)}`,
        account: `A${id(first)}`,
        role: 'owner',
        version,
      }
    }
    yield { kind: 'holding', op: 'upsert', customer: `W${n}`, account: `W${n}`, role: 'owner', version: 1 }
    yield { kind: 'customer', op: 'remove', externalId: `C${id(300)}`, version: 2 }
    yield { kind: 'account', op: 'remove', externalId: `A${id(400)}`, version: 2 }
    yield { kind: 'holding', op: 'remove', customer: `C${id(500)}`, account: `A${id(500)}`, version: 2 }
  }
}
const records = [...say()].map((each, place): SourceRecord => ({ ...each, line: place + 1 }))
const act = operatorAct(new Date())
const page = 100
const known = { importId: 1, source: 'core', startedAt: new Date(), after: 'A5', most: page }
const missing = {
  kinds: ['customer', 'account', 'holding'],
  keys: ['C7', 'A7', 'C8 A8'],
  source: 'core',
  startedAt: act.at,
  asOf: 5,
}
const customers = { source: 'core', after: 'C5', most: page, without: [] }

async function copy(sql: Sql, mode: ImportMode): Promise<void> {
  const rows = new StagedRows()
  for (const [place, each] of records.entries()) rows.add(each, place + 1)
  await stage(sql, rows.bytes())
  await mergeAllStaged(sql, { id: 1, ...origin, mode }, act)
}

const works: Readonly<Record<string, (sql: Sql) => Promise<unknown>>> = {
  'records in JSON': (sql) => mergeAll(sql, origin, records, act),
  'records by COPY': (sql) => copy(sql, 'changes'),
  'records of a snapshot by COPY': async (sql) => {
    await copy(sql, 'snapshot')
    await sql.query(imports.insertSeen, { importId: 1 })
  },
  'a page of known customers': (sql) => sql.query(imports.noteKnownCustomers, known),
  'a page of known accounts': (sql) => sql.query(imports.noteKnownAccounts, known),
  'what is missing of a part': (sql) => sql.query(imports.findMissing, { importId: 1, part: 7 }),
  'what is missing, taken': (sql) => sql.query(imports.takeMissing, { importId: 7, most: page }),
  'what is still missing': (sql) => sql.query(imports.selectStillMissing, missing),
  'what was known of an import': (sql) => sql.query(imports.forgetKnown, { importId: 7 }),
  'a page of customers': (sql) => sql.query(selectCustomers, customers),
  'checksums of a page': (sql) => sql.query(selectChecksums, { ...customers, customersAPage: 10 }),
}

const counts = `SELECT relname AS name, seq_tup_read AS read, idx_tup_fetch AS fetched
  FROM pg_stat_xact_user_tables WHERE relname = ANY ($1)`
/** Of each record in several steps, and of each row that it leads to. */
const atMost = 60 * records.length

interface Count {
  readonly name: string
  readonly read: number
  readonly fetched: number
}

function judge(work: string, before: readonly Count[], after: readonly Count[]): string[] {
  return after.flatMap(({ name, read, fetched }) => {
    const earlier = before.find((each) => each.name === name)!
    const [whole, found] = [Number(read) - Number(earlier.read), Number(fetched) - Number(earlier.fetched)]
    return whole > 0 || found > atMost ? [`${work}: ${whole} rows of all ${name}, ${found} by an index`] : []
  })
}

/** With what it writes undone. */
async function look(own: Database, name: string): Promise<string[]> {
  const undone = new Error('undone')
  let problems: string[] = []
  const looking = own.transaction(async (sql) => {
    const read = () => ask<Count>(sql, counts, [large])
    const before = await read()
    await works[name]!(sql)
    problems = judge(name, before, await read())
    throw undone
  })
  await assert.rejects(looking, undone)
  return problems
}

async function lookFromCore(): Promise<string[]> {
  const read = async () => (await core.query<Count>(counts, [large])).rows
  await core.query('BEGIN')
  const before = await read()
  const sent = records.map(({ line: _, ...each }) => each)
  await core.query('SELECT provision($1, $2, $3)', ['live', 'core', JSON.stringify(sent)])
  const problems = judge('provision in a session of the core', before, await read())
  await core.query('ROLLBACK')
  return problems
}

test('a small batch costs what it says and not what is known, whatever the statistics say', async () => {
  await db.script(large.map((each) => `ALTER TABLE ${each} SET (autovacuum_enabled = off)`).join(';'))
  await db.script("SELECT set_source_role('core', session_user, true)")
  await db.script('ANALYZE')
  await db.script(fill)
  const problems: string[] = []
  for (const statistics of ['taken while all was empty', 'as it is']) {
    if (statistics === 'as it is') await db.script('ANALYZE')
    const found = [...(await lookFromCore())]
    for (const name of Object.keys(works)) found.push(...(await look(db, name)))
    problems.push(...found.map((each) => `${each} (${statistics})`))
  }
  assert.deepEqual(problems, [])
})
