/** Several processes behind one port are one node: one address, one sum, one limit, one end. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import type { Demo } from '../../src/demo/demo.ts'
import { ask } from '../support/ask.ts'
import { askFresh, findChildren, isRunning, meetAll } from '../support/children.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { openTestServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { basic } from '../support/gateway.ts'
import { findFreePort } from '../support/ports.ts'
import {
  endGateway,
  findServerProcesses,
  type GatewayProcess,
  makeFolder,
  openPrivateDatabase,
  readDemo,
  runCommand,
  startGateway,
} from '../support/process.ts'

const processes = 3
const allowed = 30
const dataDir = makeFolder()
let settings: NodeJS.ProcessEnv
let gateway: GatewayProcess
let demo: Demo
let metricsUrl: string

before(async () => {
  const metricsPort = await findFreePort()
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  settings = {
    DATA_DIR: dataDir,
    PROCESSES: String(processes),
    METRICS_PORT: String(metricsPort),
    RATE_LIMIT_PER_MINUTE: String(allowed),
    CLIENT_FAILURES_PER_MINUTE: '5',
  }
  gateway = await startGateway(settings)
  demo = await readDemo(gateway, dataDir)
})
after(() => endGateway(gateway))

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { msg: string; process?: number })

async function readMetric(name: string): Promise<number | undefined> {
  const text = await (await fetch(metricsUrl)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

test('three processes answer on each of the three ports, and the parent says once that they are ready', async () => {
  assert.equal((await meetAll(gateway.baseUrl, processes)).size, processes)
  assert.equal((await meetAll(gateway.sandboxUrl, processes)).size, processes)
  assert.equal((await meetAll(gateway.internalUrl, processes)).size, processes)
  assert.equal(findChildren(gateway.pid).length, processes)
  const ready = linesOf(gateway.stdout).filter(({ msg }) => msg === 'Countersign is ready')
  assert.equal(ready.length, 1)
})

test('what is set up once is there once: those of the demo, and the key that all of them use', async () => {
  const listed = await runCommand(['user', 'list', '--json'], settings)
  assert.deepEqual(
    listed
      .json<{ username: string }[]>()
      .map(({ username }) => username)
      .sort(),
    ['alice', 'bob', 'operator'],
  )
  assert.equal(readFileSync(`${dataDir}/secret.keys`, 'utf8').trim().split('\n').length, 1)
})

const minuteNow = () => Math.floor(Date.now() / 60_000)

/**
 * Counts are in windows of a minute: a round that fell into two says nothing, and has used up some of the
 * second. It is played again in the third.
 */
async function inOneWindow(play: () => Promise<void>): Promise<void> {
  for (;;) {
    const begun = minuteNow()
    const failed = await play().then(
      () => undefined,
      (error: unknown) => error,
    )
    const ended = minuteNow()
    if (ended === begun && failed) throw failed
    if (ended === begun) return
    await eventually('a minute in which nothing was counted', () => minuteNow() > ended)
  }
}

test('requests of a token are counted by all processes together, to the last one', () =>
  inOneWindow(async () => {
    const profile = () =>
      askFresh(`${gateway.baseUrl}/v1/user/profile`, { authorization: `Bearer ${demo.apiToken}` })
    const answers = await Promise.all(Array.from({ length: 2 * allowed }, profile))
    const served = answers.filter(({ status }) => status === 200)
    assert.ok(new Set(answers.map((answer) => answer.process)).size > 1, 'several processes answered')
    assert.ok(answers.every(({ status }) => status === 200 || status === 429))
    const used = served
      .map(({ headers }) => Number(headers['x-ratelimit-used']))
      .sort((one, other) => one - other)
    assert.deepEqual(
      used,
      Array.from({ length: allowed }, (_, place) => place + 1),
      'each use has its number, whoever counted it, up to the last that is allowed',
    )
  }))

test('failed authentications of a client at one process keep it out at every other', () =>
  inOneWindow(async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const call = (secret: string) =>
      askFresh(
        `${gateway.baseUrl}/v1/oauth/revoke`,
        { ...form, ...basic({ id: demo.clientId, secret }) },
        'token=unknown',
      )
    const failures = await Promise.all(Array.from({ length: 12 }, () => call('wrong')))
    assert.equal(
      failures.filter(({ status }) => status === 401).length,
      5,
      'five are told that they are wrong',
    )
    assert.equal(failures.filter(({ status }) => status === 429).length, 7)
    // What one process counted the others hear of a moment later.
    await eventually('the right secret is refused by each of them', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => call(demo.clientSecret)))
      const refusing = answers.filter(({ status }) => status === 429)
      return refusing.length === 12 && new Set(refusing.map((answer) => answer.process)).size === processes
    })
  }))

test('streams of a branch are counted by all processes together, and their places are free when they end', async () => {
  const credentials = basic({ id: demo.sandbox.clientId, secret: demo.sandbox.clientSecret })
  const headers = { accept: 'text/event-stream', connection: 'close', ...credentials }
  const leaving = new AbortController()
  const open = async (signal: AbortSignal) =>
    (await fetch(`${gateway.sandboxUrl}/v2/events`, { headers, signal })).status
  const statuses: number[] = []
  for (let turn = 0; turn < 25; turn++) statuses.push(await open(leaving.signal))
  assert.deepEqual(statuses, [
    ...Array.from({ length: 20 }, () => 200),
    ...Array.from({ length: 5 }, () => 429),
  ])
  leaving.abort()
  const leavingToo = new AbortController()
  await eventually('there is room again', async () => (await open(leavingToo.signal)) === 200)
  leavingToo.abort()
})

const insertDisabled = `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, state, disabled_reason, created_at,
    updated_at)
   VALUES ($1, 'live', $2, 'http://127.0.0.1:1/', '{ACH_PROFILE}', 'disabled', 'a test', now(), now())`

test('/metrics is the sum over the processes; what describes the database is told once', async () => {
  const route =
    'countersign_http_requests_total{site="sandbox",method="GET",route="/v1/user/profile",status="401"}'
  const before = (await readMetric(route)) ?? 0
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => askFresh(`${gateway.sandboxUrl}/v1/user/profile`)),
  )
  assert.ok(new Set(answers.map((answer) => answer.process)).size > 1, 'several processes answered')
  await eventually('all are counted', async () => (await readMetric(route)) === before + 30)
  assert.equal(await readMetric('countersign_processes'), processes)
  assert.equal(await readMetric('countersign_webhooks{condition="disabled"}'), 0)
  const db = await openPrivateDatabase(dataDir)
  await ask(db, insertDisabled, [demo.branchId, demo.clientId])
  await db.close()
  await eventually(
    'it is counted',
    async () => (await readMetric('countersign_webhooks{condition="disabled"}')) !== 0,
  )
  assert.equal(await readMetric('countersign_webhooks{condition="disabled"}'), 1)
})

test('the doctor counts the processes, and names a worker for each', async () => {
  const finished = await runCommand(['doctor', '--json'], settings)
  const { checks } = finished.json<{ checks: { check: string; found: string }[] }>()
  const found = (name: string) => checks.find(({ check }) => check === name)!.found
  assert.match(found('configuration'), /3 processes/)
  assert.equal([...found('workers').matchAll(/worker \d+ holds/g)].length, processes)
  assert.match(found('connections'), /a node of 3 processes takes up to 23/)
})

test('a process that is killed is started again, and what it had counted stays counted', async () => {
  const met = await meetAll(gateway.baseUrl, processes)
  const [victim] = findChildren(gateway.pid)
  const total = 'countersign_process_cpu_seconds_total'
  const before = await readMetric(total)
  process.kill(victim!, 'SIGKILL')
  await eventually('a new process answers', async () => {
    const { process } = await askFresh(`${gateway.baseUrl}/healthz`)
    return !met.has(process)
  })
  assert.equal(findChildren(gateway.pid).length, processes)
  assert.ok(!findChildren(gateway.pid).includes(victim!))
  assert.ok((await readMetric(total))! >= before!, 'a counter does not fall')
  assert.equal(await readMetric('countersign_process_restarts_total'), 1)
  const told = linesOf(gateway.stdout).filter(({ msg }) => msg === 'a process ended; it is started again')
  assert.equal(told.length, 1)
})

test('a connection on its way to a process that dies goes to another', async () => {
  await meetAll(gateway.baseUrl, processes)
  const [victim] = findChildren(gateway.pid)
  process.kill(victim!, 'SIGSTOP')
  let answered = 0
  const asked = Array.from({ length: 12 }, async () => {
    const answer = await askFresh(`${gateway.baseUrl}/healthz`)
    answered++
    return answer
  })
  // One of them is handed to the one that does not take it, and nothing more while it does not.
  await eventually('all but one are answered', () => answered >= asked.length - 1)
  process.kill(victim!, 'SIGKILL')
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  await meetAll(gateway.baseUrl, processes)
})

test('told to stop, all of them end in order, and PostgreSQL after them', async () => {
  const children = findChildren(gateway.pid)
  const ending = await gateway.stop()
  assert.deepEqual(ending, { code: 0, signal: null }, gateway.stderr)
  assert.deepEqual(children.filter(isRunning), [])
  assert.deepEqual(findServerProcesses(dataDir), [])
  const stopped = linesOf(gateway.stdout).filter(
    ({ msg, process }) => msg.startsWith('stopping') && process !== undefined,
  )
  assert.deepEqual(stopped.map(({ process }) => process).sort(), [0, 1, 2])
})

test('a parent that is killed takes its processes with it, and the next start goes on where it stopped', async () => {
  gateway = await startGateway(settings)
  const children = findChildren(gateway.pid)
  assert.equal(children.length, processes)
  gateway.kill('SIGKILL')
  await eventually('its processes have ended', () => !children.some(isRunning), 60_000)
  gateway = await startGateway(settings)
  const again = await readDemo(gateway, dataDir)
  assert.equal(again.apiToken, demo.apiToken)
  const answer = await askFresh(`${gateway.sandboxUrl}/v1/user/profile`, {
    authorization: `Bearer ${demo.sandboxToken}`,
  })
  assert.equal(answer.status, 200)
})

test('a port that is taken keeps all of them from starting, and is named', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const refused = await runCommand(['serve'], {
    DATA_DIR: await withCluster(makeFolder()),
    PORT: String(port),
    PROCESSES: '2',
  })
  assert.equal(refused.code, 1)
  assert.equal(refused.stderr, `Port ${port} is taken by another program. Set PORT to a free one.\n`)
})

test('a number of processes that is none is a mistake of the configuration', async () => {
  for (const text of ['0', 'abc']) {
    const refused = await runCommand(['serve'], { DATA_DIR: makeFolder(), PROCESSES: text })
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      new RegExp(`PROCESSES must be auto or a whole number from 1 to 64, not "${text}"`),
    )
  }
})

test('connections that do not fit into max_connections are told at the start, with what to change', async (t) => {
  const server = await openTestServer()
  t.after(() => server.close())
  const shared = { DATABASE_URL: server.url, SECRET_KEY: 'a'.repeat(64), PROCESSES: '2' }
  const fitting = await startGateway(shared)
  await fitting.stop()
  assert.doesNotMatch(fitting.stdout, /max_connections/)
  const large = await startGateway({ ...shared, DATABASE_CONNECTIONS: '120' })
  await large.stop()
  assert.match(
    large.stdout,
    /2 processes take up to 128 connections to PostgreSQL, and \d+ are free: raise max_connections, or lower DATABASE_CONNECTIONS or PROCESSES/,
  )
})
