/** The chain over the audit log: nothing in it can be changed, removed or slipped in without showing. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { recordAct } from '../../src/audit/audit.ts'
import { findHead, sealAll, sealBlock, verifyChain } from '../../src/audit/chain.ts'
import { auditCommands } from '../../src/cli/audit.ts'
import { parseWords } from '../../src/cli/command.ts'
import { generateKey, openVault } from '../../src/crypto/vault.ts'
import type { Database, Sql } from '../../src/database/database.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeFolder } from '../support/process.ts'

const now = new Date('2026-03-02T10:00:00.123Z')
const by = { name: 'operator:olga', environment: 'live', address: '192.0.2.7', requestId: 'r-1' } as const
const act = { by, at: now }

const database = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 6 }))

/** As the database's owner could, with all triggers asleep. */
function tamper(...changes: readonly string[]): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    for (const change of changes) await sql.script(change)
  })
}

const write = (sql: Sql, subject: string) => recordAct(sql, act, 'client.updated', subject, { name: subject })

/** Three blocks of two entries each, with the numbers 1 to 6. */
beforeEach(async () => {
  await tamper('TRUNCATE audit_entries, audit_blocks, audit_unsealed RESTART IDENTITY')
  for (const block of [1, 2, 3]) {
    await write(db, `client:${block}a`)
    await write(db, `client:${block}b`)
    assert.equal(await sealBlock(db, now), 2)
  }
})

const verify = () => verifyChain(db, now)

async function findProblem(): Promise<string> {
  const result = await verify()
  return result.kind === 'broken' ? `block ${result.position}: ${result.problem}` : result.kind
}

test('an untouched log is intact, and every entry is accounted for', async () => {
  await write(db, 'client:late')
  const result = await verify()
  assert.equal(result.kind, 'intact')
  assert.equal(result.kind === 'intact' && result.entries, 7, 'what was not sealed yet is sealed first')
  assert.deepEqual(result.kind === 'intact' && result.head, await findHead(db))
})

test('what is hashed of an entry is the same in every release', async () => {
  const { position, hash } = await findHead(db)
  assert.equal(position, 3)
  assert.equal(hash.toString('hex'), '003ebe84c0f2b3bd2444f5a8dd5536e1abc2aa60a77e7161ea20526b4c9f1b63')
})

test('UPDATE, DELETE and TRUNCATE are refused, even where they would touch nothing', async () => {
  for (const table of ['audit_entries', 'audit_blocks']) {
    const column = table === 'audit_entries' ? 'actor = actor' : 'position = position'
    for (const attempt of [
      `UPDATE ${table} SET ${column}`,
      `DELETE FROM ${table}`,
      `DELETE FROM ${table} WHERE false`,
    ]) {
      await assert.rejects(db.script(attempt), /The audit log is append-only/, attempt)
    }
    await assert.rejects(db.script(`TRUNCATE ${table}`), /The audit log is append-only/)
    await assert.rejects(db.script(`TRUNCATE ${table} CASCADE`), /The audit log is append-only/)
  }
  assert.equal(await findProblem(), 'intact')
})

test('a change of any column of any entry shows', async () => {
  const changes = {
    at: "at + interval '1 millisecond'",
    actor: "'operator:otto'",
    action: "'client.suspended'",
    subject: "'client:other'",
    environment: "'sandbox'",
    address: "'192.0.2.8'",
    request_id: 'NULL',
    details: `details || '{"name":"other"}'`,
  }
  for (const [column, value] of Object.entries(changes)) {
    await tamper(
      'DROP TABLE IF EXISTS kept',
      'CREATE TABLE kept AS SELECT * FROM audit_entries WHERE id = 3',
      `UPDATE audit_entries SET ${column} = ${value} WHERE id = 3`,
    )
    assert.match(await findProblem(), /^block 2: an entry of 3 to 4 was changed/, column)
    await tamper(
      `UPDATE audit_entries SET ${column} = kept.${column} FROM kept WHERE audit_entries.id = kept.id`,
    )
    assert.equal(await findProblem(), 'intact', `${column} is as it was`)
  }
  await tamper('DROP TABLE kept')
})

test('a change of the number of an entry shows', async () => {
  await tamper(
    `INSERT INTO audit_entries (id, at, actor, action, subject, environment, address, request_id,
      details) OVERRIDING SYSTEM VALUE
     SELECT 40, at, actor, action, subject, environment, address, request_id, details FROM audit_entries
       WHERE id = 4`,
    'DELETE FROM audit_entries WHERE id = 4',
    "UPDATE audit_blocks SET entry_ids = '{3,40}' WHERE position = 2",
  )
  assert.match(await findProblem(), /^block 2: an entry of 3 to 40 was changed/)
})

test('a root that is not that of its entries shows', async () => {
  await tamper('UPDATE audit_blocks SET root = hash WHERE position = 2')
  assert.match(await findProblem(), /^block 2: an entry of 3 to 4 was changed/)
})

test('a removed entry shows', async () => {
  await tamper('DELETE FROM audit_entries WHERE id = 4')
  assert.equal(await findProblem(), 'block 2: entry 4 is missing')
})

test('a removed entry shows although its block forgets it too', async () => {
  await tamper(
    'DELETE FROM audit_entries WHERE id = 4',
    "UPDATE audit_blocks SET entry_ids = '{3}' WHERE position = 2",
  )
  assert.match(await findProblem(), /^block 2: an entry of 3 to 3 was changed/)
})

const insertEntry = `INSERT INTO audit_entries (id, at, actor, action, subject, details) OVERRIDING SYSTEM
  VALUE
  VALUES (100, now(), 'operator:otto', 'user.enabled', 'user:id-x', '{}')`

test('an inserted entry that no block holds shows', async () => {
  await tamper(insertEntry)
  assert.match(await findProblem(), /the log holds entries that no block accounts for/)
})

test('an inserted entry shows although a block claims it', async () => {
  await tamper(insertEntry, "UPDATE audit_blocks SET entry_ids = '{3,4,100}' WHERE position = 2")
  assert.match(await findProblem(), /^block 2: /)
})

test('an inserted entry shows although it takes the place of another one on the list of what is not sealed', async () => {
  await write(db, 'client:late')
  await tamper(insertEntry, 'UPDATE audit_unsealed SET entry_id = 100')
  assert.match(await findProblem(), /the log holds entries that no block accounts for/)
})

test('a removed block and exchanged blocks show', async () => {
  await tamper(
    'CREATE TABLE kept AS SELECT * FROM audit_blocks',
    'DELETE FROM audit_blocks WHERE position = 2',
  )
  assert.equal(await findProblem(), 'block 2: block 2 is missing')
  await tamper(
    'DELETE FROM audit_blocks',
    'INSERT INTO audit_blocks SELECT CASE position WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE 1 END, entry_ids, hash, sealed_at, root FROM kept',
    'DROP TABLE kept',
  )
  assert.match(await findProblem(), /^block 2: /)
})

test('a block that was computed anew after a change shows in the one behind it', async () => {
  await tamper(
    'CREATE TABLE kept AS SELECT * FROM audit_blocks WHERE position = 3',
    "UPDATE audit_entries SET actor = 'operator:otto' WHERE id = 3",
    'DELETE FROM audit_blocks WHERE position >= 2',
    'INSERT INTO audit_unsealed VALUES (3), (4)',
  )
  assert.equal(await sealBlock(db, now), 2)
  await tamper('INSERT INTO audit_blocks SELECT * FROM kept', 'DROP TABLE kept')
  assert.match(await findProblem(), /^block 3: /)
})

/** "audit verify", in this process; rejects as the command fails. */
async function verifyOnTheCommandLine(...args: string[]): Promise<Record<string, unknown>> {
  const command = auditCommands.find((each) => each.name === 'audit verify')!
  let printed: Record<string, unknown> = {}
  const silent = () => {}
  const print = {
    record(fields: Record<string, unknown>) {
      printed = fields
    },
    table: silent,
    pages: async () => {},
    say: silent,
    json: silent,
    text: silent,
    progress: silent,
  }
  const vault = openVault({ kind: 'environment', keys: [generateKey()] })
  const context = {
    config: readConfig({ DATA_DIR: makeFolder() }),
    clock: { now: () => now },
    db,
    vault,
    act: () => act,
    print,
  }
  await command.run(context, parseWords(command, args))
  return printed
}

test('a log whose end was cut off is found out by an earlier head', async () => {
  const { head: early } = await verifyOnTheCommandLine()
  await write(db, 'client:4a')
  const { head, entries } = await verifyOnTheCommandLine('--anchor', String(early))
  assert.equal(entries, 7)
  await tamper('DELETE FROM audit_entries WHERE id >= 5', 'DELETE FROM audit_blocks WHERE position >= 3')
  assert.equal(await findProblem(), 'intact', 'the chain alone cannot tell')
  for (const anchor of [early, head]) {
    await assert.rejects(
      verifyOnTheCommandLine('--anchor', String(anchor)),
      /The chain does not contain the anchor/,
    )
  }
  // Whoever fills the gap with other entries does not get the same hash.
  for (const subject of ['client:3a', 'client:3x']) await write(db, subject)
  await assert.rejects(
    verifyOnTheCommandLine('--anchor', String(early)),
    /The chain does not contain the anchor/,
  )
})

test('an anchor that cannot be read proves nothing, and is refused', async () => {
  for (const anchor of ['999', '3', 'head', '', '3:', `3:${'0'.repeat(64)}`, `-1:${'0'.repeat(64)}`]) {
    await assert.rejects(verifyOnTheCommandLine('--anchor', anchor), `"${anchor}"`)
  }
})

test('the head of an empty log is an anchor too', async () => {
  await tamper('TRUNCATE audit_entries, audit_blocks, audit_unsealed RESTART IDENTITY')
  const { head, entries } = await verifyOnTheCommandLine()
  assert.equal(entries, 0)
  await write(db, 'client:1a')
  assert.equal((await verifyOnTheCommandLine('--anchor', String(head))).intact, true)
})

test('a log that grows while it is walked is not taken for a broken one', async () => {
  let grown = 0
  // Whenever the walk finds nothing more, another node seals one more block.
  const growing: Database = {
    ...db,
    async query(statement, ...values) {
      const rows = await db.query(statement, ...values)
      if (rows.length === 0 && grown < 3) {
        await write(db, `client:grown${++grown}`)
        await sealAll(db, now)
      }
      return rows
    },
  }
  const result = await verifyChain(growing, now)
  assert.deepEqual(result.kind === 'broken' && result.problem, false)
  assert.ok(grown > 0)
})

test('more entries than fit one block make several, and all of them count', async () => {
  await db.script(`INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT now(), 'gateway', 'client.updated', 'client:' || n, '{}' FROM generate_series(1, 2500) AS n`)
  const result = await verify()
  assert.equal(result.kind === 'intact' && result.entries, 2506)
  assert.ok(result.kind === 'intact' && result.head.position >= 6)
})

test('entries written in parallel, in transactions of any length, end up in exactly one block each', async () => {
  const nodes = Array.from({ length: 3 }, () =>
    openLenientDatabase({ connectionString: database.url, connections: 3 }),
  )
  let writing = true
  const writers = nodes.flatMap((node, index) =>
    ['left', 'right'].map(async (side) => {
      for (let turn = 0; turn < 25; turn++) {
        const subject = `client:${index}-${side}-${turn}`
        await node
          .transaction(async (sql) => {
            await write(sql, subject)
            await sql.script(`SELECT pg_sleep(${((turn * 7) % 5) / 1000})`)
            await write(sql, subject)
            if (turn % 5 === 4) throw new Error('not after all')
          })
          .catch((error: Error) => assert.equal(error.message, 'not after all'))
      }
    }),
  )
  const sealers = nodes.map(async (node) => {
    while (writing) await sealBlock(node, now)
  })
  await Promise.all(writers)
  writing = false
  await Promise.all(sealers)
  const result = await verify()
  await Promise.all(nodes.map((node) => node.close()))
  assert.deepEqual(result.kind === 'broken' && result.problem, false)
  const [count] = await ask<{ entries: number; held: number; distinct: number; blocks: number }>(
    db,
    `SELECT (SELECT count(*) FROM audit_entries) AS entries, count(*) AS blocks,
              sum(cardinality(entry_ids))::int AS held,
              (SELECT count(DISTINCT id) FROM audit_blocks, unnest(entry_ids) AS id) AS distinct
                FROM audit_blocks`,
  )
  const expected = 6 + 3 * 2 * 20 * 2
  assert.deepEqual([count!.entries, count!.held, count!.distinct], [expected, expected, expected])
  assert.ok(count!.blocks > 4, 'the sealers were at work meanwhile')
})
