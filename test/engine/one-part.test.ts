/**
 * Room for many machines: every table of the engine could lie on another server for each part. So the part is
 * first in its keys, a statement names one part for each table in it and reads no configuration beside, and
 * no trigger or foreign key leads from one to the other.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { listStatements } from '../support/statements.ts'

const migration = readFileSync(new URL('../../migrations/0012-engine.sql', import.meta.url), 'utf8')
/** What a publisher's transaction writes lies beside the publishers. */
const beside = ['outbox', 'outbox_acts', 'outbox_floors']
const engine = [...migration.matchAll(/^CREATE TABLE (\w+)/gm)]
  .map((found) => found[1]!)
  .filter((name) => !beside.includes(name))
const functions = [
  ...migration.matchAll(/^CREATE FUNCTION (\w+)\(([^)]*)\)([\s\S]*?)(?=^CREATE |(?![\s\S]))/gm),
].map(([, name, of, body]) => [name!, of!, body!] as const)
/** The same on every server: which days there are. */
const everywhere = ['days']

const house = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: house.url, connections: 1 }))
const askOfEngine = <Row extends object>(text: string) => ask<Row>(db, text, [engine])
const isOfEngine = 'c.relname = ANY ($1)'
/** A table that lies in partitions, and one of them. */
const isLogged = (name: string) => /^(log|outcomes|answers)$/.test(name)

test('every key and index of the engine begins with the part, and those of tables by the day have the day', async () => {
  const rows = await askOfEngine<{ table: string; index: string; columns: string[] }>(
    `SELECT c.relname AS table, i.relname AS index, ARRAY(SELECT a.attname::text FROM unnest(x.indkey)
      WITH ORDINALITY AS k (number, place)
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number ORDER BY k.place) AS columns
     FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
       WHERE ${isOfEngine}`,
  )
  assert.deepEqual(new Set(rows.map((row) => row.table)), new Set(engine))
  const wrong = rows.filter(
    ({ table, columns }) => columns[0] !== 'part' || (isLogged(table) && columns.at(-1) !== 'day'),
  )
  assert.deepEqual(wrong, [])
})

test('no trigger is on a table of the engine, and no foreign key leads there or away', async () => {
  const triggers = await askOfEngine(
    `SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE ${isOfEngine}`,
  )
  const keys = await askOfEngine(
    `SELECT k.conname FROM pg_constraint k JOIN pg_class c ON c.oid IN (k.conrelid, k.confrelid)
      WHERE k.contype = 'f' AND ${isOfEngine}`,
  )
  assert.deepEqual([triggers, keys], [[], []])
})

test('no function that a trigger calls knows a table of the engine, but for the outbox by way of publishing', async () => {
  const rows = await askOfEngine<{ name: string; body: string }>(
    `SELECT DISTINCT p.proname AS name, p.prosrc AS body FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
      WHERE $1::text[] IS NOT NULL`,
  )
  const knows = ({ body }: { body: string }) =>
    mentionsOf(body).length > 0 || functions.some(([name]) => new RegExp(`\\b${name}\\(`).test(body))
  assert.deepEqual(
    rows.filter(knows).map(({ name }) => name),
    [],
  )
  assert.ok(rows.length > 10)
})

interface Mention {
  readonly table: string
  readonly alias: string
}

const keywords =
  /^(where|set|on|cross|join|left|order|limit|group|for|using|select|values|union|loop|returning)$/i

/** Where a text names a table of the engine, and by which name it goes on. */
function mentionsOf(text: string): Mention[] {
  const named = new RegExp(
    `\\b(?:FROM|JOIN|UPDATE|INTO|USING)\\s+(${engine.join('|')})(?:_d%\\d?\\$?s)?\\b(?:\\s+(?:AS\\s+)?(\\w+))?`,
    'g',
  )
  return [...text.matchAll(named)].map(([, table, alias]) => ({
    table: table!,
    alias: alias && !keywords.test(alias) ? alias : '',
  }))
}

/** Those for which no part is named. */
function withoutPart(text: string, part: string): string[] {
  return mentionsOf(text)
    .filter(
      ({ alias }) =>
        !new RegExp(`(?<![\\w.])${alias ? `${alias}\\.` : '(?:\\w+\\.)?'}part = (?:${part})(?!\\w)`).test(
          text,
        ),
    )
    .filter(({ table }) => !new RegExp(`INSERT INTO ${table}(_d%1\\$s)?\\b`).test(text))
    .map(({ table, alias }) => `${table} ${alias}`.trim())
}

test('a statement names one part for every table of the engine that is in it, and reads no configuration beside', async () => {
  const tables = await askOfEngine<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relkind IN ('r', 'p')
      AND c.relnamespace = 'public'::regnamespace AND NOT ${isOfEngine}`,
  )
  const others = tables.map(({ name }) => name).filter((name) => !everywhere.includes(name))
  const config = new RegExp(`\\b(?:FROM|JOIN|UPDATE|INTO|USING)\\s+(${others.join('|')})\\b`)
  const wrong: string[] = []
  const statements = (await listStatements()).filter(({ text }) => mentionsOf(text).length > 0)
  for (const { file, name, text, parameters } of statements) {
    const part = `\\$${parameters.indexOf('part') + 1}`
    for (const table of withoutPart(text, part)) wrong.push(`${file}: ${name} names no part of ${table}`)
    const beside = config.exec(text)?.[1]
    if (beside) wrong.push(`${file}: ${name} reads ${beside} beside`)
    if (/\bWITH\b[\s\S]*\bINSERT INTO\b/.test(text)) wrong.push(`${file}: ${name} inserts beside a CTE`)
  }
  assert.deepEqual(wrong, [])
  assert.ok(statements.length > 30, `${statements.length} statements`)
})

/** What is asked part by part inside, and what is true of no part. */
const ofNoPart = [
  ...[
    'part_of',
    'feed_of',
    'wants_event',
    'next_event_id',
    'publishing_now',
    'parts_to_look',
    'parts_to_take',
    'part_count',
  ],
]
/** Those that join the two where one database has both: they are not for parts that lie on other servers. */
const ofOneDatabase = ['look', 'publish']

test('a function of the kernel has the part first, and names it for every table', () => {
  const wrong = functions.flatMap(([name, of, body]) => {
    if (ofNoPart.includes(name) || ofOneDatabase.includes(name)) return []
    // Those of the outbox run beside the publishers, and know nothing of the engine.
    if (of.startsWith('of_part smallint'))
      return mentionsOf(body).map(({ table }) => `${name} reads ${table}`)
    const reads = beside.filter((table) => new RegExp(`\\b(FROM|INTO|JOIN) ${table}\\b`).test(body))
    return [
      ...(of.startsWith('p smallint') ? [] : [`${name} has no part first`]),
      ...reads.map((table) => `${name} reads ${table}, which lies beside the publishers`),
      ...withoutPart(body, 'p').map((table) => `${name} names no part of ${table}`),
    ]
  })
  assert.deepEqual(wrong, [])
  assert.ok(functions.length > 25)
})

/** What an act or a page asks in a transaction or with a connection that it was handed is that one's. */
const handed = /\bsql\.query|\b(?:on|listener)\.query/

test('the worker, the sequencer and the feeds ask one function which pool serves a part', () => {
  const statements =
    /\.(?:query|together)(?:<[^(]*>)?\(\s*\[?(?:kernel\.|keepLanes|selectHolders|freeLanes|settle\b|readLog|shortLockTimeout)/
  const files = ['worker', 'settlements', 'membership', 'gone-holders']
    .map((name) => `engine/${name}`)
    .concat(['feed', 'announcer'].map((name) => `events/${name}`))
  const wrong = files.flatMap((file) =>
    readFileSync(new URL(`../../src/webhooks/${file}.ts`, import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => statements.test(line) && !handed.test(line) && !/\bpoolOf\(/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  assert.deepEqual(wrong, [])
})
