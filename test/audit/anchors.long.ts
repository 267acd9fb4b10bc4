/**
 * Heads of the chain that are written down outside the database: what was removed from the end of the log
 * shows.
 */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { openAnchorWriter, printAnchor } from '../../src/audit/anchor.ts'
import { compareAnchors } from '../../src/audit/anchor-check.ts'
import { recordAct } from '../../src/audit/audit.ts'
import { printHead } from '../../src/audit/block.ts'
import { findHead, sealAll, verifyChain } from '../../src/audit/chain.ts'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import type { Result } from '../../src/doctor/finding.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeFolder, runCommand } from '../support/process.ts'

const folder = makeFolder()
const keyFile = join(folder, 'secret.keys')
writeFileSync(keyFile, `${printKey(generateKey())}\n`, { mode: 0o600 })
const house = await openHouse({ SECRET_KEY: '', SECRET_KEY_FILE: keyFile, AUDIT_ANCHOR_FILE: 'off' })
const db = house.gateway.context.db
const opened = (settings: NodeJS.ProcessEnv) => keepOpen(openCommandLineAt(settings))

let files = 0
/** A writer with a file of its own. */
function openFile(file = join(folder, `${++files}.anchors`), log = pino({ level: 'silent' })) {
  const { vault, clock } = house.gateway.context
  const writer = openAnchorWriter({ db, vault, clock, log, file })
  return { file, write: writer.write, compare: () => compareAnchors(db, vault, file) }
}

/** So many entries, each in a block of its own. */
async function act(times = 1): Promise<void> {
  for (let n = 0; n < times; n++) {
    await recordAct(db, house.act(), 'client.updated', 'client:x')
    // The gateway seals as well: what it has in hand is waited for, so that the next entry has a block of its
    // own.
    await sealAll(db, house.clock.now(), 'wait')
  }
}

/**
 * As somebody does it who may write to the tables: the triggers are silenced, and what is left is whole by
 * itself.
 */
async function removeNewest(blocks: number): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.script(`SET LOCAL session_replication_role = replica;
      CREATE TEMP TABLE gone ON COMMIT DROP AS SELECT * FROM audit_blocks ORDER BY position DESC
        LIMIT ${blocks};
      DELETE FROM audit_entries WHERE id IN (SELECT unnest(entry_ids) FROM gone);
      DELETE FROM audit_blocks WHERE position IN (SELECT position FROM gone)`)
  })
  assert.equal((await verifyChain(db, house.clock.now())).kind, 'intact')
}

test('newest blocks that were removed show in a verification, on the command line and to the doctor', async () => {
  const { file, write } = openFile()
  const settings = { ...house.settings, AUDIT_ANCHOR_FILE: file }
  const look = async () => {
    const { checks } = (await runCommand(['doctor', '--json'], settings)).json<{ checks: Result[] }>()
    return checks.find(({ check }) => check === 'audit anchors')!
  }
  await act(3)
  assert.equal((await look()).state, 'warn', 'no anchor yet')
  await write()
  const { position } = await findHead(db)
  const line = await opened(settings)
  assert.equal((await line.read('audit', 'verify')).anchors, 1)
  assert.equal((await look()).state, 'ok')
  await removeNewest(2)
  const cut = await line.run('audit', 'verify')
  assert.deepEqual([cut.code, cut.stdout], [1, ''])
  const moment = house.clock.now().toISOString()
  const sentence = `The log ends with block ${position - 2}, but had block ${position} at ${moment}: what came after block ${position - 2} was removed.`
  assert.equal(cut.stderr, `${sentence}\n`)
  const found = await look()
  assert.deepEqual([found.state, found.found], ['fail', sentence])
})

test('a log that was cut and has grown over the gap since shows too, also to the node that saw it longer', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const { write, compare } = openFile(undefined, log)
  await act(3)
  await write()
  const lost = await findHead(db)
  await removeNewest(2)
  await act(5)
  await write()
  const { problems, anchors } = (await compare())!
  assert.equal(anchors, 2)
  assert.equal(problems.length, 1)
  assert.match(problems[0]!, new RegExp(`^Block ${lost.position} is not the one that the log had at `))
  const alarm = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50)
  assert.equal(alarm.lost, printHead(lost))
})

test('the head goes to the process log as well, with its signature', async () => {
  const lines: string[] = []
  const { file, write } = openFile(undefined, pino({}, { write: (line) => void lines.push(line) }))
  await act()
  await write()
  await write()
  assert.equal(lines.length, 1, 'a head that is the same is told once')
  assert.equal(readFileSync(file, 'utf8'), `\n${JSON.parse(lines[0]!).anchor}`)
})

test('nobody signs an anchor without the key, and half a line of a crash hides no other', async () => {
  const { file, write, compare } = openFile()
  await act()
  await write()
  appendFileSync(file, '\nv1 2026-03-02T10:00')
  await act()
  await write()
  const whole = (await compare())!
  assert.deepEqual([whole.anchors, whole.unreadable, whole.problems], [2, 1, []])
  appendFileSync(file, `\n${printAnchor(Buffer.alloc(32), await findHead(db), house.clock.now())}`)
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, lines.map((line) => line.replace(/ (\d+):/, ' 1:')).join('\n'))
  const forged = (await compare())!
  assert.equal(forged.anchors, 0)
  assert.match(forged.problems[0]!, /^3 lines of .* were not written by this log/)
})

test('anchors of before count after the keys were rotated and pruned', async () => {
  const { file, write } = openFile()
  await act()
  await write()
  const line = await opened({ ...house.settings, AUDIT_ANCHOR_FILE: file })
  for (const words of [['rotate'], ['prune']]) await line.read('keys', ...words)
  await act()
  house.gateway.context.vault.reload()
  await write()
  assert.equal((await line.read('audit', 'verify')).anchors, 2)
  await removeNewest(1)
  assert.match((await line.run('audit', 'verify')).stderr, /was removed\.\n$/)
})

test('several nodes may write one file', async () => {
  const { file } = openFile()
  await act()
  const writers = Array.from({ length: 20 }, () => openFile(file))
  await Promise.all(writers.map((writer) => writer.write()))
  const { anchors, unreadable, problems } = (await writers[0]!.compare())!
  assert.deepEqual([anchors, unreadable, problems], [20, 0, []])
})

test('a gateway writes the head down by itself, at the latest when it closes', async () => {
  const file = join(folder, 'elsewhere', 'of-a-gateway.anchors')
  const own = await openTestGateway({ AUDIT_ANCHOR_FILE: file })
  const { context } = own.gateway
  await own.makeUser()
  await sealAll(context.db, own.clock.now(), 'wait')
  const head = printHead(await findHead(context.db))
  await own.close()
  assert.ok(readFileSync(file, 'utf8').includes(head))
})
