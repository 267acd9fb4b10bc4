/**
 * Evidence: entries that leave the log with the proof that they stand in it, for a reader who has nothing but
 * the file.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { openAnchorWriter } from '../../src/audit/anchor.ts'
import { recordAct } from '../../src/audit/audit.ts'
import { printHead } from '../../src/audit/block.ts'
import { findHead, sealBlock, verifyChain } from '../../src/audit/chain.ts'
import { printEvidence } from '../../src/audit/evidence.ts'
import { checkEvidence } from '../../src/audit/evidence-check.ts'
import { openHeadSigner, signHead } from '../../src/audit/head-signer.ts'
import { generateKey, openVault } from '../../src/crypto/vault.ts'
import type { Database, Sql } from '../../src/database/database.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeFolder, runCommand } from '../support/process.ts'

const now = new Date('2026-03-02T10:00:00.123Z')
const clock = { now: () => now }
const by = { name: 'operator:olga', environment: 'live', address: '192.0.2.7', requestId: 'r-1' } as const
const vault = openVault({ kind: 'environment', keys: [generateKey()] })
const folder = makeFolder()

let database: TestDatabase
let db: Database
before(async () => {
  database = await openTestDatabase()
  db = openLenientDatabase({ connectionString: database.url, connections: 4 })
})
after(async () => {
  await db?.close()
  await database?.close()
})

/** As the database's owner could, with all triggers asleep. */
function tamper(...changes: readonly string[]): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    for (const change of changes) await sql.script(change)
  })
}

const write = (sql: Sql, subject: string) =>
  recordAct(sql, { by, at: now }, 'client.updated', subject, { name: subject })
const sign = async () => signHead(db, await openHeadSigner(db, vault), await findHead(db), now)

/**
 * Six blocks of three entries each, with the numbers 1 to 18. The heads at the blocks 2, 4 and 6 are signed.
 */
beforeEach(async () => {
  await tamper('TRUNCATE audit_entries, audit_blocks, audit_unsealed, audit_heads RESTART IDENTITY')
  for (let block = 1; block <= 6; block++) {
    for (const letter of 'abc') await write(db, `client:${block}${letter}`)
    assert.equal(await sealBlock(db, now), 3)
    if (block % 2 === 0) await sign()
  }
})

async function print(ids: readonly number[], file?: string): Promise<string> {
  const pieces: string[] = []
  const request = { ids, search: { actor: 'operator:olga' } }
  for await (const piece of printEvidence({ db, vault, clock, file }, request)) pieces.push(piece)
  return pieces.join('')
}

async function* linesOf(text: string) {
  yield* text.replace(/\n$/, '').split('\n')
}
const check = (text: string, key?: string) => checkEvidence(linesOf(text), { key })

/** What is proven, and what is wrong. */
async function judge(text: string, key?: string) {
  const { proven, problems } = await check(text, key)
  return { proven: proven.map(({ entry }) => entry.id), problems }
}

/** The file with one of its lines made anew. */
function change(
  text: string,
  kind: string,
  place: number,
  make: (line: Record<string, unknown>) => object | undefined,
) {
  let seen = 0
  const lines = text.trimEnd().split('\n')
  const changed = lines.flatMap((printed) => {
    const line = JSON.parse(printed)
    if (line.kind !== kind || seen++ !== place) return [printed]
    const made = make(line)
    return made ? [JSON.stringify(made)] : []
  })
  assert.notDeepEqual(changed, lines, 'the test changes something')
  return `${changed.join('\n')}\n`
}

test('a file of evidence proves its entries up to a signed head, and shows nothing of the others', async () => {
  const text = await print([2, 3, 8])
  const { proven, problems, opening } = await check(text)
  assert.deepEqual(problems, [])
  assert.deepEqual(
    proven.map(({ entry, block, head }) => [entry.id, entry.subject, block, head.position]),
    [
      [2, 'client:1b', 1, 2],
      [3, 'client:1c', 1, 2],
      [8, 'client:3b', 3, 4],
    ],
  )
  assert.equal(opening?.key, (await openHeadSigner(db, vault)).publicKey)
  assert.deepEqual(text.match(/client:\w+/g), [
    'client:1b',
    'client:1b',
    'client:1c',
    'client:1c',
    'client:3b',
    'client:3b',
  ])
})

test('the newest entries are sealed and signed for it, and nobody waits for the next minute', async () => {
  await write(db, 'client:late')
  assert.deepEqual(await judge(await print([19])), { proven: [19], problems: [] })
})

test('a changed entry is found, whatever of it was changed, and the others stay proven', async () => {
  const text = await print([2, 3, 8])
  const changes = {
    id: 4,
    at: '2026-03-02T10:00:00.124Z',
    actor: 'operator:otto',
    action: 'client.suspended',
    subject: 'client:other',
    environment: 'sandbox',
    address: null,
    requestId: 'r-2',
    details: '{"name": "other"}',
  }
  for (const [name, value] of Object.entries(changes)) {
    const changed = change(text, 'entry', 1, (line) => ({
      ...line,
      entry: { ...(line.entry as object), [name]: value },
    }))
    const { proven, problems } = await judge(changed)
    assert.deepEqual(proven, [2, 8], name)
    assert.match(problems[0]!, /^Line 5: entry \d is not the one that block 1 holds\.$/, name)
    assert.match(problems.at(-1)!, /the file is not as it was exported/, name)
  }
})

test('a removed entry is found', async () => {
  const text = await print([2, 3, 8])
  const { problems } = await judge(change(text, 'entry', 1, () => undefined))
  assert.deepEqual(problems, ['Line 12: the file had 3 entries and has 2.'])
  const counted = change(
    change(text, 'entry', 1, () => undefined),
    'end',
    0,
    (line) => ({ ...line, entries: 2 }),
  )
  assert.match((await judge(counted)).problems.join(), /the file is not as it was exported/)
})

test('an added entry is found, also one that is in the log', async () => {
  const text = await print([2, 8])
  const other = (await print([3])).split('\n').find((line) => line.includes('"kind":"entry"'))!
  const lines = text.split('\n')
  const place = lines.findIndex((line) => line.includes('"kind":"entry"'))
  const added = lines.toSpliced(place + 1, 0, other).join('\n')
  assert.match((await judge(added)).problems.join(), /the file had 2 entries and has 3/)
  const twice = lines.toSpliced(place + 1, 0, lines[place]!).join('\n')
  assert.match((await judge(twice)).problems[0]!, /^Line 5: entry 2 is not in its place in block 1\.$/)
  const invented = change(added, 'entry', 1, (line) => ({
    ...line,
    entry: { ...(line.entry as object), id: 77 },
  }))
  assert.match((await judge(invented)).problems[0]!, /^Line 5: entry 77 is not the one that block 1 holds\.$/)
})

test('a swapped, a changed and a removed block are found', async () => {
  const text = await print([2, 8])
  const lines = text.split('\n')
  const [first, second] = lines.flatMap((line, place) => (line.includes('"kind":"block"') ? [place] : []))
  const swapped = lines.with(first!, lines[second!]!).with(second!, lines[first!]!).join('\n')
  const found = await judge(swapped)
  assert.deepEqual(found.proven, [8], 'the stretch that was not touched')
  assert.match(found.problems.join('\n'), /block 1 does not follow on block 2/)
  const sizes = await judge(change(text, 'block', 1, (line) => ({ ...line, size: 4 })))
  assert.deepEqual(sizes.proven, [8])
  assert.match(sizes.problems[0]!, /the blocks before it do not lead to the head at block 2/)
  const removed = await judge(change(text, 'block', 1, () => undefined))
  assert.deepEqual(removed.proven, [8])
  const renamed = await judge(change(text, 'block', 0, (line) => ({ ...line, position: 2 })))
  assert.match(renamed.problems.join(), /does not follow on/)
})

test('a forged head is found: its hash, its moment, its place, its signature, and one that another key signed', async () => {
  const text = await print([2, 8])
  const forgeries: Record<string, unknown> = {
    hash: '0'.repeat(64),
    at: '2026-03-02T10:00:01.000Z',
    position: 3,
    signature: '0'.repeat(128),
  }
  for (const [name, value] of Object.entries(forgeries)) {
    const { proven, problems } = await judge(change(text, 'head', 0, (line) => ({ ...line, [name]: value })))
    assert.deepEqual(proven, [8], name)
    assert.match(problems[0]!, /the head at block \d was not signed by the key/, name)
  }
  const { publicKey } = await openHeadSigner(db, vault)
  assert.deepEqual((await judge(text, publicKey)).problems, [])
  // Whoever makes a log of their own signs it with a key of their own: it is whole by itself.
  await tamper('DELETE FROM audit_anchor_keys', 'DELETE FROM audit_heads')
  const foreign = await print([2, 8])
  assert.deepEqual((await judge(foreign)).problems, [])
  const found = await judge(foreign, publicKey)
  assert.deepEqual(found.proven, [])
  assert.match(found.problems[0]!, /^Line 1: it is signed by another key \(\S+\) than the one you gave\.$/)
  assert.equal(found.problems.length, 3, 'the beginning, the head and the end')
})

test('no character of the file can be another, and no line be missing', async () => {
  const text = await print([2, 8])
  for (let place = 0; place < text.length; place += 11) {
    const other = text[place] === 'a' ? 'b' : 'a'
    const { problems } = await judge(text.slice(0, place) + other + text.slice(place + 1))
    assert.ok(problems.length > 0, `${place}: ${text.slice(place - 20, place + 20)}`)
  }
  const lines = text.trimEnd().split('\n')
  for (const place of lines.keys()) {
    assert.ok((await judge(lines.toSpliced(place, 1).join('\n'))).problems.length > 0, `line ${place + 1}`)
  }
  assert.ok((await judge(`${text}${lines.at(-1)}`)).problems.length > 0, 'a line behind the end')
  assert.deepEqual((await judge('')).problems, [
    'Line 1: it is no line of evidence.',
    'The end of the file is missing.',
  ])
})

test('evidence is not made of a log that was changed', async () => {
  await tamper("UPDATE audit_entries SET actor = 'operator:otto' WHERE id = 2")
  await assert.rejects(print([2]), /The audit log is not as it was written/)
  await assert.rejects(print([3]), /The audit log is not as it was written/, 'nor of what stands beside it')
  assert.deepEqual((await judge(await print([8]))).proven, [8])
  await tamper('DELETE FROM audit_entries WHERE id = 8')
  await assert.rejects(print([7]), /The audit log is not as it was written/)
})

test('a log that was rewritten with every hash computed anew does not pass its own signed heads, nor the anchors when those are gone', async () => {
  const file = join(folder, 'rewritten.anchors')
  await openAnchorWriter({ db, vault, clock, log: pino({ level: 'silent' }), file }).write()
  await tamper(
    "UPDATE audit_entries SET actor = 'operator:otto' WHERE id = 2",
    'DELETE FROM audit_blocks',
    'INSERT INTO audit_unsealed SELECT id FROM audit_entries',
  )
  await sealBlock(db, now)
  for (let more = 0; more < 6; more++) {
    await write(db, 'client:more')
    await sealBlock(db, now)
  }
  assert.equal((await verifyChain(db, now)).kind, 'intact')
  await assert.rejects(print([2]), /The audit log is not as it was written/)
  await tamper('DELETE FROM audit_heads')
  await assert.rejects(print([2], file), /The audit log is not as it was written/)
})

test('an entry is found in its block although it was committed long after it got its number', async () => {
  const slow = openLenientDatabase({ connectionString: database.url, connections: 1 })
  await slow.transaction(async (sql) => {
    await write(sql, 'client:slow')
    for (let more = 0; more < 150; more++) {
      await write(db, `client:quick${more}`)
      await sealBlock(db, now)
    }
  })
  await slow.close()
  await sealBlock(db, now)
  assert.deepEqual((await judge(await print([19, 60, 4]))).proven, [4, 60, 19])
  const [holder] = await ask<{ position: number }>(
    db,
    'SELECT position FROM audit_blocks WHERE 19 = ANY (entry_ids)',
  )
  assert.equal(holder!.position, 157)
})

test('countersign audit verify FILE says what is proven and up to where, without database or configuration', async () => {
  const file = join(folder, 'evidence.jsonl')
  await write(db, 'client:\u2028 a line\r that is none\n')
  writeFileSync(file, await print([2, 3, 8, 19]))
  // Settings that no other command would start with.
  const settings = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none', SECRET_KEY: 'no key' }
  const { publicKey } = await openHeadSigner(db, vault)
  const head = await findHead(db)
  const words = ['audit', 'verify', file, '--key', publicKey, '--anchor', printHead(head)]
  const good = await runCommand([...words, '--json'], settings)
  assert.deepEqual([good.code, good.stderr], [0, ''])
  assert.deepEqual(good.json(), {
    ...{ proven: true, entries: '2-3 8 19', blocks: '1 3 7', head: printHead(head) },
    ...{ signed_at: now.toISOString(), key: publicKey, made_at: now.toISOString() },
    ...{ search: { actor: 'operator:olga' }, anchor: true, problems: [] },
  })
  const alone = await runCommand(['audit', 'verify', file], settings)
  assert.match(alone.stdout, /Compare it with the one that the brokerage published/)

  const strange = await runCommand([...words.slice(0, -1), `7:${'0'.repeat(64)}`], settings)
  assert.equal(strange.code, 1)
  assert.match(strange.stderr, /^Block 7 is not the one of the anchor/)
  const elsewhere = await runCommand([...words.slice(0, -1), `999:${'0'.repeat(64)}`], settings)
  assert.match(elsewhere.stderr, /^It does not go through block 999/)

  writeFileSync(file, (await print([2, 3, 8])).replace('client:3b', 'client:3x'))
  const forged = await runCommand([...words.slice(0, 3), '--json'], settings)
  assert.equal(forged.code, 1)
  assert.equal(forged.json().entries, '2-3')
  assert.match(
    forged.stderr,
    /^Line \d+: entry 8 is not the one that block 3 holds\.\nLine \d+: the file is not as it was/,
  )
  for (const wrong of [
    ['--key', 'x'],
    ['--anchor', 'x'],
  ]) {
    assert.equal((await runCommand(['audit', 'verify', file, ...wrong], settings)).code, 1)
  }
  assert.equal((await runCommand(['audit', 'verify', join(folder, 'absent')], settings)).code, 1)
})
