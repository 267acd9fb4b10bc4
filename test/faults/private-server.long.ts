/**
 * The gateway's own PostgreSQL: wherever its folder is, whoever comes first, and whatever the last one left
 * behind.
 */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { openPrivateServer, type PrivateServer } from '../../src/database/private-server.ts'
import { openStorage } from '../../src/database/storage.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { eventually } from '../support/eventually.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import {
  clusterFolder,
  endGateway,
  findPostmaster,
  findServerProcesses,
  type GatewayProcess,
  makeFolder,
  type Program,
  readDemo,
  readProfile,
  runCommand,
  startGateway,
  startProgram,
  tryReading,
} from '../support/process.ts'

const helpers: ChildProcess[] = []
const gateways: GatewayProcess[] = []
const programs: Program[] = []

after(async () => {
  for (const each of [...helpers, ...programs]) each.kill('SIGKILL')
  await Promise.all(gateways.map(endGateway))
})

function open(dataDir: string, purpose: 'serve' | 'visit' = 'serve'): Promise<PrivateServer> {
  return openPrivateServer({ dataDir, purpose, searchPath: process.env.PATH ?? '' })
}

async function serve(settings: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  const gateway = await startGateway(settings)
  gateways.push(gateway)
  return gateway
}

function start(args: readonly string[], settings: NodeJS.ProcessEnv): Program {
  const program = startProgram(args, settings)
  programs.push(program)
  return program
}

/** Works, and ends in order. */
async function check(dataDir: string): Promise<void> {
  const server = await open(dataDir)
  try {
    assert.equal(await askServer(server, 'SELECT current_database() AS answer'), 'countersign')
  } finally {
    await server.close()
  }
  assert.deepEqual(findServerProcesses(dataDir), [])
}

async function askServer(server: PrivateServer, question: string): Promise<unknown> {
  const db: Database = openLenientDatabase({ connectionString: server.connectionString, connections: 1 })
  try {
    return (await ask<{ answer: unknown }>(db, question))[0]?.answer
  } finally {
    await db.close()
  }
}

/** As `check`, in a process that can be ended when it waits for what never comes. */
async function tryCommand(dataDir: string): Promise<{ code: number | null; stderr: string }> {
  const { code, stderr } = await runCommand(['partner', 'list'], { DATA_DIR: dataDir })
  return { code, stderr }
}

async function listPartnersOf(dataDir: string): Promise<unknown> {
  const server = await open(dataDir, 'visit')
  const names = await askServer(server, 'SELECT array_agg(name ORDER BY name) AS answer FROM partners')
  await server.close()
  return names
}

const modeOf = (path: string) => statSync(path).mode & 0o777
const serverLog = (dataDir: string) => tryReading(join(dataDir, 'postgres', 'server.log')) ?? ''

test('it lives in a folder that its owner alone can enter, on a socket that its owner alone can open', async () => {
  const dataDir = await withCluster(makeFolder())
  assert.equal(modeOf(dataDir), 0o700)
  const server = await open(dataDir)
  try {
    const home = join(dataDir, 'postgres')
    assert.equal(modeOf(home), 0o700)
    assert.equal(modeOf(join(home, 'socket')), 0o700)
    assert.equal(modeOf(join(home, 'socket', '.s.PGSQL.5432')), 0o700)
    assert.equal(await askServer(server, "SELECT current_setting('listen_addresses') AS answer"), '')
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      assert.equal(await askServer(server, `SELECT current_setting('${setting}') AS answer`), 'on')
    }
  } finally {
    await server.close()
  }
})

test('it runs where PostgreSQL itself would refuse to, as root', {
  skip: process.getuid?.() !== 0,
}, async () => {
  await check(await withCluster(makeFolder()))
})

test('a path too long for a socket gets its socket elsewhere, and a command still finds it', async () => {
  const dataDir = join(makeFolder(), 'a-folder-with-quite-a-long-name'.repeat(4), 'data')
  assert.ok(dataDir.length > 107)
  const server = await open(await withCluster(dataDir))
  const socketFolder = decodeURIComponent(server.connectionString.split('host=')[1]!)
  try {
    assert.ok(join(socketFolder, '.s.PGSQL.5432').length <= 107)
    assert.equal(modeOf(socketFolder), 0o700)
    const visit = await open(dataDir, 'visit')
    const process = 'SELECT pg_postmaster_start_time()::text AS answer'
    assert.equal(
      await askServer(visit, process),
      await askServer(server, process),
      'the visitor is on the same server',
    )
    await visit.close()
    assert.equal(await askServer(server, 'SELECT 1 AS answer'), 1)
  } finally {
    await server.close()
  }
  chmodSync(socketFolder, 0o755)
  await assert.rejects(
    open(dataDir),
    /must be a folder of this user alone \(mode 0700\)\. Remove it and start again\./,
  )
  rmSync(socketFolder, { recursive: true })
})

test('spaces, quotes, commas and letters of any alphabet in the path are only letters', async () => {
  const dataDir = await withCluster(join(makeFolder(), `Ada's "own", größer 100%`))
  assert.deepEqual(await tryCommand(dataDir), { code: 0, stderr: '' })
})

test('two commands at once on a new folder both do their work', async () => {
  const settings = { DATA_DIR: makeFolder() }
  const made = await Promise.all(
    ['Left', 'Right'].map((name) => runCommand(['partner', 'create', '--name', name, '--json'], settings)),
  )
  assert.deepEqual(
    made.map(({ code, stderr }) => ({ code, stderr })),
    [
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ],
  )
  assert.deepEqual(await listPartnersOf(settings.DATA_DIR), ['Left', 'Right'])
})

test('four commands at once without a gateway all do their work and leave no server behind', async () => {
  const settings = { DATA_DIR: await withCluster(makeFolder()) }
  const names = ['1st', '2nd', '3rd', '4th']
  const made = await Promise.all(
    names.map((name) => runCommand(['partner', 'create', '--name', name], settings)),
  )
  assert.deepEqual(
    made.map(({ stderr }) => stderr),
    names.map(() => ''),
  )
  assert.deepEqual(await listPartnersOf(settings.DATA_DIR), names)
  await eventually('no server is left', () => findServerProcesses(settings.DATA_DIR).length === 0)
})

test('visitors come and go without one of them losing the server', async () => {
  const config = readConfig({ DATA_DIR: await withCluster(makeFolder()), PATH: process.env.PATH })
  const visit = async () => {
    const { db, close } = await openStorage(config, 'visit')
    try {
      for (let turn = 0; turn < 5; turn++) await ask(db, 'SELECT pg_sleep(0.002)')
    } finally {
      await close()
    }
  }
  const visitors = Array.from({ length: 4 }, async () => {
    for (let turn = 0; turn < 6; turn++) await visit()
  })
  const outcomes = await Promise.allSettled(visitors)
  await eventually('no server is left', () => findServerProcesses(config.dataDir).length === 0)
  assert.deepEqual(
    outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
    [],
  )
})

test('a command on its own ends as soon as its work is done', async (context) => {
  const settings = { DATA_DIR: await withCluster(makeFolder()) }
  const server = await open(settings.DATA_DIR, 'visit')
  const stoppedAt = performance.now()
  await server.close()
  // As long as its server takes to end on this machine, and a little more.
  const limitMs = 600 + 3 * (performance.now() - stoppedAt)
  const lingered: number[] = []
  // The quickest of three: a busy machine can slow any one of them down.
  for (let turn = 0; turn < 3 && !lingered.some((ms) => ms < limitMs); turn++) {
    const program = start(['partner', 'list'], settings)
    await eventually('the answer is printed', () => program.stdout.includes('There are no partners.'))
    const printedAt = performance.now()
    await program.ended
    lingered.push(Math.round(performance.now() - printedAt))
  }
  context.diagnostic(`the command ended ${lingered.join(', ')} ms after its answer`)
  assert.ok(Math.min(...lingered) < limitMs, `the limit is ${Math.round(limitMs)} ms`)
})

test('a command joins the server of the gateway that runs, and a second gateway is refused with what to do', async () => {
  const settings = { DATA_DIR: await withCluster(makeFolder()) }
  const gateway = await serve(settings)
  const { apiToken } = await readDemo(gateway, settings.DATA_DIR)
  const postmaster = findPostmaster(settings.DATA_DIR)
  const shown = await runCommand(['user', 'show', 'alice', '--json'], settings)
  assert.equal(shown.json().username, 'alice')

  const second = await runCommand(['serve'], settings)
  assert.equal(second.code, 1)
  assert.match(
    second.stderr,
    new RegExp(`^A gateway \\(process ${gateway.pid}\\) already runs on the data folder `),
  )
  assert.match(second.stderr, /Stop it first, or set DATA_DIR to another folder, or DATABASE_URL/)
  assert.equal(second.stderr.trim().split('\n').length, 1, 'one sentence or two, no stack')

  assert.equal(findPostmaster(settings.DATA_DIR), postmaster, 'the server was not touched')
  assert.equal((await readProfile(gateway.baseUrl, apiToken)).status, 200)
})

test('a gateway waits for the server of a command to end, and then starts its own', async () => {
  const settings = { DATA_DIR: await withCluster(makeFolder()) }
  const visit = await open(settings.DATA_DIR, 'visit')
  const visitor = findPostmaster(settings.DATA_DIR)
  const starting = serve(settings)
  await eventually('the gateway has tried', () => serverLog(settings.DATA_DIR).includes('already exists'))
  assert.equal(await askServer(visit, 'SELECT 1 AS answer'), 1, 'the command is not disturbed')
  await visit.close()
  await starting
  assert.notEqual(findPostmaster(settings.DATA_DIR), visitor)
})

test('a command that is killed leaves no server behind', async () => {
  const settings = { DATA_DIR: makeFolder() }
  const program = start(['migrate'], settings)
  await eventually('its server runs', () => findServerProcesses(settings.DATA_DIR).length > 0)
  program.kill('SIGKILL')
  await program.ended
  await eventually('no server is left', () => findServerProcesses(settings.DATA_DIR).length === 0)
  await check(settings.DATA_DIR)
})

test('a gateway that cannot open its port says so, ends with code 1 and leaves no server behind', async () => {
  const settings = { DATA_DIR: await withCluster(makeFolder()) }
  const other = createServer().listen(0, '127.0.0.1')
  await eventually('the port is taken', () => other.listening)
  const { port } = other.address() as { port: number }
  const refused = await runCommand(['serve'], { ...settings, PORT: String(port), SANDBOX_PORT: '0' })
  other.close()
  assert.equal(refused.code, 1)
  assert.equal(refused.stderr, `Port ${port} is taken by another program. Set PORT to a free one.\n`)
  assert.deepEqual(findServerProcesses(settings.DATA_DIR), [])
})

test('what an interrupted first start left is cleared away', async () => {
  const dataDir = makeFolder()
  const draft = `${clusterFolder(dataDir)}.new`
  mkdirSync(join(draft, 'base'), { recursive: true, mode: 0o700 })
  writeFileSync(join(draft, 'PG_VERSION'), '18\n')
  await check(dataDir)
  assert.ok(!existsSync(draft))
})

test('a gateway killed in the middle of its first start does not spoil the next one', async () => {
  // On a busy machine one that is caught in the middle may be through when it is killed: then the next is
  // tried.
  const settings = await eventually('one was in the middle', async () => {
    const tried = { DATA_DIR: makeFolder() }
    const program = start(['serve'], tried)
    await eventually(
      'a cluster is being made',
      () => findDrafts(tried.DATA_DIR, join('base', '1')).length > 0,
    )
    program.kill('SIGKILL')
    await program.ended
    return !existsSync(clusterFolder(tried.DATA_DIR)) && tried
  })
  const gateway = await serve(settings)
  const { apiToken } = await readDemo(gateway, settings.DATA_DIR)
  assert.equal((await readProfile(gateway.baseUrl, apiToken)).status, 200)
})

/** Folders beside the cluster in which a cluster is being made, as far as this file. */
function findDrafts(dataDir: string, file: string): string[] {
  const home = join(dataDir, 'postgres')
  const names = existsSync(home) ? readdirSync(home) : []
  return names.filter((name) => name !== 'cluster' && existsSync(join(home, name, file)))
}

/**
 * As after a power cut: the files of a server that did not end in order, whose number now belongs to somebody
 * else.
 */
async function leaveStalePid(dataDir: string, stranger: number): Promise<void> {
  const server = await open(dataDir, 'visit')
  const pidFile = join(clusterFolder(dataDir), 'postmaster.pid')
  const lockFile = join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432.lock')
  const left = [pidFile, lockFile].map((path) => [path, readFileSync(path, 'utf8')] as const)
  process.kill(findPostmaster(dataDir)!, 'SIGKILL')
  await eventually('the server is gone', () => findServerProcesses(dataDir).length === 0)
  await server.close()
  for (const [path, text] of left)
    writeFileSync(path, text.replace(/^\d+/, String(stranger)), { mode: 0o600 })
}

test('a gateway told to stop in the middle of its start ends in order, and its server ends before it', async () => {
  const dataDir = makeFolder()
  const program = start(['serve'], { DATA_DIR: dataDir })
  await eventually('its server runs', () => findPostmaster(dataDir))
  program.kill('SIGTERM')
  await eventually('it has ended', () => program.ending !== undefined)
  assert.deepEqual(program.ending, { code: 0, signal: null }, program.stderr)
  assert.deepEqual(findServerProcesses(dataDir), [])
  assert.equal(findPostmaster(dataDir), undefined)
})

test('a stale postmaster.pid whose number now belongs to another program does not keep the server from starting', async () => {
  const stranger = spawn('sleep', ['600'], { stdio: 'ignore' })
  helpers.push(stranger)
  const dataDir = await withCluster(makeFolder())
  await leaveStalePid(dataDir, stranger.pid!)
  assert.deepEqual(await tryCommand(dataDir), { code: 0, stderr: '' })
  assert.deepEqual([stranger.exitCode, stranger.signalCode], [null, null], 'the stranger is left alone')
})

test('a stale postmaster.pid whose number now belongs to the PostgreSQL of another folder does not either', async () => {
  const elsewhere = await withCluster(makeFolder())
  const neighbour = await open(elsewhere)
  try {
    const dataDir = await withCluster(makeFolder())
    await leaveStalePid(dataDir, findPostmaster(elsewhere)!)
    assert.deepEqual(await tryCommand(dataDir), { code: 0, stderr: '' })
    assert.equal(await askServer(neighbour, 'SELECT 1 AS answer'), 1, 'the neighbour is left alone')
  } finally {
    await neighbour.close()
  }
})

test('a dead gateway that nobody has buried yet does not count as running', async () => {
  const dataDir = await withCluster(makeFolder())
  // A parent that never asks how its child ended, as the first process of many containers.
  const undertaker = spawn('/bin/sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  helpers.push(undertaker)
  const dead = await new Promise<number>((found) =>
    undertaker.stdout.once('data', (line) => found(Number(line))),
  )
  const stateOf = () => /^State:\s+(\w)/m.exec(tryReading(`/proc/${dead}/status`) ?? '')?.[1]
  await eventually('it is dead and not buried', () => stateOf() === 'Z')
  await startBesideOwner(dataDir, JSON.stringify({ pid: dead, purpose: 'serve' }))
})

test('a note about the owner that was cut off in writing does not keep the next gateway from starting', async () => {
  await startBesideOwner(await withCluster(makeFolder()), '{"pid":')
})

/** A server that is about to end still holds the folder, and this is written about who owns it. */
async function startBesideOwner(dataDir: string, owner: string): Promise<void> {
  const leaving = await open(dataDir, 'visit')
  writeFileSync(join(dataDir, 'postgres', 'owner.json'), owner)
  const opening = open(dataDir).catch((error: Error) => error)
  await eventually('the next one has tried', () => serverLog(dataDir).includes('already exists'))
  await leaving.close()
  const opened = await opening
  if (opened instanceof Error) throw opened
  await opened.close()
}
