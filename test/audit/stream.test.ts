/** The audit log for those who listen: in the order of its chain, from any position, with its proof. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { recordAct } from '../../src/audit/audit.ts'
import { genesis, printHead } from '../../src/audit/block.ts'
import { findHead, sealBlock } from '../../src/audit/chain.ts'
import { openHeadSigner, signHead } from '../../src/audit/head-signer.ts'
import { findStart, readOn } from '../../src/audit/stream.ts'
import { checkStream } from '../../src/audit/stream-check.ts'
import {
  parseStreamLine,
  printBlockLine,
  printEntryLine,
  printHeadLine,
  type StreamedBlock,
} from '../../src/audit/stream-line.ts'
import { generateKey, openVault } from '../../src/crypto/vault.ts'
import type { Sql } from '../../src/database/database.ts'
import { inTurn, subjectsOf } from '../support/audit-stream.ts'
import { openChance } from '../support/chance.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeFolder, runCommand } from '../support/process.ts'

const now = new Date('2026-03-02T10:00:00.123Z')
const by = { name: 'operator:olga', environment: 'live', address: '192.0.2.7', requestId: 'r-1' } as const

const database = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 4 }))
const signer = await openHeadSigner(db, openVault({ kind: 'environment', keys: [generateKey()] }))

/** As the database's owner could, with all triggers asleep. */
function tamper(...changes: readonly string[]): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    for (const change of changes) await sql.script(change)
  })
}

const write = (sql: Sql, subject: string, details: Record<string, unknown> = { name: subject }) =>
  recordAct(sql, { by, at: now }, 'client.updated', subject, details)

/** Five blocks of one to five entries. The head at block 2 is signed. */
beforeEach(async () => {
  await tamper('TRUNCATE audit_entries, audit_blocks, audit_unsealed, audit_heads RESTART IDENTITY')
  for (const block of [1, 2, 3, 4, 5]) {
    for (let entry = 1; entry <= block; entry++) await write(db, `client:${block}-${entry}`)
    assert.equal(await sealBlock(db, now), block)
    if (block === 2) await signHead(db, signer, await findHead(db), now)
  }
})

function print(blocks: readonly StreamedBlock[]): string[] {
  return blocks.flatMap((block) => [
    ...block.entries.map((entry, index) => printEntryLine(block.position, index, entry)),
    printBlockLine(block),
    ...[printHeadLine(block) ?? []].flat(),
  ])
}

const readAll = async (after = genesis) => print(await readOn(db, signer, after, now))
const check = (lines: readonly string[], key: string | undefined = signer.publicKey) =>
  checkStream(inTurn(lines), key)

test('every entry is told once, in order, and what is told proves itself up to the newest head', async () => {
  const lines = await readAll()
  const expected = [1, 2, 3, 4, 5].flatMap((block) =>
    Array.from({ length: block }, (_, place) => `client:${block}-${place + 1}`),
  )
  assert.deepEqual(subjectsOf(lines), expected)
  const { problems, entries, first, head, signed, repeated, unproven } = await check(lines)
  assert.deepEqual([problems, entries, first, repeated, unproven], [[], 15, 1, 0, 0])
  assert.equal(printHead(head!), printHead(await findHead(db)))
  assert.equal(printHead(signed!), printHead(await findHead(db)))
  const heads = lines.map((line) => parseStreamLine(line)!).filter(({ kind }) => kind === 'head')
  assert.deepEqual(
    heads.map((each) => 'position' in each && each.position),
    [2, 5],
    'where it was signed, and the newest',
  )
})

test('from every position the rest is told, and nothing else', async () => {
  const all = await readOn(db, signer, genesis, now)
  for (const [count, { position, hash }] of [genesis, ...all].entries())
    for (const told of [String(position), printHead({ position, hash })]) {
      const start = await findStart(db, told)
      const rest = await readOn(db, signer, start, now)
      assert.deepEqual(print(rest), print(all.slice(count)), told)
      const { problems } = await check([...print(all.slice(0, count)), ...print(rest)])
      assert.deepEqual(problems, [])
    }
})

test('a listener that is cut off anywhere has everything in the end, and proves it', async () => {
  const all = await readOn(db, signer, genesis, now)
  const whole = print(all)
  const chance = openChance(7)
  for (let round = 0; round < 8; round++) {
    const heard: string[] = []
    let last = genesis
    while (last.position < 5) {
      const lines = print(await readOn(db, signer, last, now))
      const kept = lines.slice(0, chance.below(lines.length + 1))
      heard.push(...kept)
      for (const line of kept.map((each) => parseStreamLine(each)!))
        if (line.kind === 'block') last = { position: line.position, hash: line.hash }
    }
    const { problems, entries } = await check(heard)
    assert.deepEqual([problems, entries], [[], 15])
    assert.deepEqual(new Set(heard), new Set([...heard, ...whole.filter((line) => !line.includes('"head"'))]))
  }
})

test('what commits late is told late, and is never passed over', async () => {
  const { promise: written, resolve: wrote } = Promise.withResolvers<void>()
  const { promise: may, resolve: commit } = Promise.withResolvers<void>()
  const late = db.transaction(async (sql) => {
    await write(sql, 'client:late')
    wrote()
    await may
  })
  await written
  await write(db, 'client:early')
  await sealBlock(db, now)
  const heard = await readOn(db, signer, await findStart(db, '5'), now)
  assert.deepEqual(subjectsOf(print(heard)), ['client:early'])
  commit()
  await late
  assert.deepEqual(await readAll(heard.at(-1)), [], 'not before its block is sealed')
  await sealBlock(db, now)
  assert.deepEqual(subjectsOf(await readAll(heard.at(-1))), ['client:late'])
})

test('a log of more than is told at once comes in pieces, none of which is larger', async () => {
  for (let block = 0; block < 3; block++) {
    await db.script(`INSERT INTO audit_entries (at, actor, action, subject, details)
      SELECT now(), 'operator:olga', 'client.updated', 'client:' || n, '{}' FROM generate_series(1, 700) n`)
    await sealBlock(db, now)
  }
  let last = genesis
  const sizes: number[] = []
  for (;;) {
    const blocks = await readOn(db, signer, last, now)
    if (blocks.length === 0) break
    sizes.push(blocks.reduce((sum, { size }) => sum + size, 0))
    last = blocks.at(-1)!
  }
  assert.deepEqual(sizes, [715, 700, 700])
})

test('a head that the log does not go through is refused, and so is a position beyond its end', async () => {
  const { position, hash } = await findHead(db)
  const other = Buffer.from(hash)
  other[0]! ^= 1
  for (const told of [
    printHead({ position, hash: other }),
    '6',
    `6:${'0'.repeat(64)}`,
    `0:${'1'.repeat(64)}`,
  ])
    await assert.rejects(findStart(db, told), /restored to an earlier moment, cut or rewritten/, told)
  for (const told of ['', '-1', 'x', '5:', '5:abc', '1e3', '1'.repeat(16)])
    await assert.rejects(findStart(db, told), { name: 'Error', message: /POSITION:HASH/ }, told)
})

test('an entry that was changed in the database does not prove itself, whichever column it is', async () => {
  const columns = {
    at: "at + interval '1 millisecond'",
    actor: "'operator:otto'",
    action: "'client.suspended'",
    subject: "'client:other'",
    environment: "'sandbox'",
    address: 'NULL',
    request_id: "'r-2'",
    details: `details || '{"name":"other"}'`,
  }
  for (const [column, value] of Object.entries(columns)) {
    await tamper(
      'DROP TABLE IF EXISTS kept',
      'CREATE TABLE kept AS SELECT * FROM audit_entries WHERE id = 5',
      `UPDATE audit_entries SET ${column} = ${value} WHERE id = 5`,
    )
    const { problems } = await check(await readAll())
    assert.match(problems.join(), /the entries of block 3 are not those that it holds/, column)
    await tamper(`UPDATE audit_entries e SET ${column} = kept.${column} FROM kept WHERE e.id = kept.id`)
  }
  await tamper('DROP TABLE kept', 'DELETE FROM audit_entries WHERE id = 5')
  assert.match((await check(await readAll())).problems.join(), /block 3 has 3 entries, and 2 came/)
})

test('lines that were changed on their way do not prove themselves', async () => {
  const lines = await readAll()
  const place = (kind: string, nth: number) =>
    lines.flatMap((line, index) => (line.startsWith(`{"kind":"${kind}"`) ? [index] : []))[nth]!
  const changed = (index: number, from: string | RegExp, to: string) =>
    lines.with(index, lines[index]!.replace(from, to))
  const entry = place('entry', 4)
  const forgeries: Readonly<Record<string, readonly string[]>> = {
    'another subject': changed(entry, 'client:3-2', 'client:9-9'),
    'another detail': changed(entry, '"name": "client:3-2"', '"name": "client:9-9"'),
    'a space in the details': changed(entry, '"name": ', '"name":'),
    'details twice': changed(entry, '"details":', '"details":{},"details":'),
    'a name more': changed(entry, '"index"', '"more":1,"index"'),
    'a space': changed(entry, ',"id"', ', "id"'),
    'an entry less': lines.toSpliced(entry, 1),
    'an entry twice': lines.toSpliced(entry, 0, lines[entry]!),
    'two entries in each other’s place': lines.toSpliced(entry, 2, lines[entry + 1]!, lines[entry]!),
    'a block less': lines.toSpliced(place('entry', 3), 4),
    'another root': changed(place('block', 2), /"root":"..../, '"root":"0000'),
    'another block before': changed(place('block', 2), /"previous":"..../, '"previous":"0000'),
    'another size': changed(place('block', 2), '"size":3', '"size":2'),
    'another signature': changed(place('head', 1), /"signature":"..../, '"signature":"0000'),
    'another time of the signature': changed(place('head', 1), '.123Z', '.124Z'),
    'no JSON': lines.with(entry, '{'),
  }
  for (const [what, forged] of Object.entries(forgeries)) {
    assert.notDeepEqual(forged, lines, what)
    assert.notDeepEqual((await check(forged)).problems, [], what)
  }
})

test('heads count by the key that was asked for, and by no other', async () => {
  const { problems, signed } = await check(await readAll(), Buffer.alloc(32, 9).toString('base64url'))
  assert.deepEqual([problems.length, signed], [2, undefined])
  assert.match(problems[0]!, /was not signed by the key/)
})

test('details come as PostgreSQL prints them, and as JSON', async () => {
  const details = {
    amount: 1e21,
    '"\\ \u2028 é €': 'line\nfeed\u0000 "quoted" \\ ]',
    nested: { list: [1, null, true, 'x'] },
  }
  await write(db, 'client:odd', details)
  await sealBlock(db, now)
  const lines = await readAll()
  assert.deepEqual((await check(lines)).problems, [])
  const told = JSON.parse(lines.find((line) => line.includes('client:odd'))!)
  assert.deepEqual(told.details.nested, details.nested)
  assert.equal(told.details['"\\ \u2028 é €'], 'line\nfeed\uFFFD "quoted" \\ ]')
})

test('a file of lines is verified without a database, by the key and by a head kept elsewhere', async () => {
  const folder = makeFolder()
  const file = join(folder, 'heard.jsonl')
  const lines = await readAll()
  writeFileSync(file, `${[...lines.slice(0, 3), ...lines].join('\n')}\n`)
  const anchor = printHead(await findHead(db))
  const verify = (...more: string[]) => runCommand(['audit', 'verify', file, '--json', ...more], {})
  const good = await verify('--key', signer.publicKey, '--anchor', anchor)
  assert.equal(good.code, 0, good.stderr)
  assert.deepEqual(good.json(), {
    ...{ proven: true, entries: 15, from_block: 1, head: anchor, signed_head: anchor },
    ...{
      signed_at: now.toISOString(),
      repeated_blocks: 1,
      entries_without_block: 0,
      anchor: true,
      problems: [],
    },
  })
  const otherKey = await verify('--key', Buffer.alloc(32, 9).toString('base64url'))
  assert.equal(otherKey.code, 1)
  assert.match(otherKey.stderr, /was not signed by the key/)
  assert.match(
    (await verify('--anchor', `5:${'0'.repeat(64)}`)).stderr,
    /Block 5 is not the one of the anchor/,
  )
})
