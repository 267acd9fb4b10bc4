/** A start loads what it needs; what few need is loaded by the first who does. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generateKey, printKey } from '../../src/crypto/vault.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import {
  endGateway,
  type GatewayProcess,
  makeFolder,
  runCommand,
  startGateway,
  startProgram,
} from '../support/process.ts'

const noteModules = fileURLToPath(new URL('../support/note-modules.ts', import.meta.url))
const program = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url))

const database = await keepOpen(openTestDatabase())
let gateway: GatewayProcess | undefined
await keepOpen({ close: () => endGateway(gateway) })

function openList() {
  const path = join(makeFolder(), 'modules')
  return {
    settings: { LOADED_MODULES: path, NODE_OPTIONS: `--import ${noteModules}` },
    read: () => readFileSync(path, 'utf8').split('\n'),
  }
}

const has = (urls: readonly string[], part: string) => urls.some((url) => url.includes(part))

/** Large, and needed only where something is set, or when somebody comes who wants it. */
const putOff = [
  ...['@opentelemetry/', 'prom-client/', 'nodemailer/', 'typebox/', '@simplewebauthn/', '@node-rs/argon2'],
  ...['uqr/', 'undici/'],
  ...[
    'src/web/sign-in/login.ts',
    'src/web/sign-in/consent.ts',
    'src/web/partner/clients/clients.ts',
    'src/web/console/people/users.ts',
  ],
  ...['src/cli/commands.ts', 'src/cli/client.ts', 'src/doctor/'],
]

test('a gateway that starts loads no telemetry, mail, schema library, page or command', async () => {
  const list = openList()
  const settings = { DATABASE_URL: database.url, DATA_DIR: makeFolder(), SECRET_KEY: printKey(generateKey()) }
  gateway = await startGateway({ ...settings, ...list.settings })
  const loaded = list.read()
  for (const needed of ['src/gateway/gateway.ts', 'fastify/', '/pg/']) assert.ok(has(loaded, needed), needed)
  assert.deepEqual(
    putOff.filter((part) => has(loaded, part)),
    [],
  )
  const answer = await fetch(`${gateway.baseUrl}/login`)
  assert.equal(answer.status, 200)
  assert.ok(has(list.read(), 'src/web/sign-in/login.ts'), 'the page is loaded by its visitor')
  assert.equal(has(list.read(), 'src/web/console/people/users.ts'), false)
})

test('a start during which the process stands still for longer than a connection may take does not take the database for away', async () => {
  const settings = {
    DATABASE_URL: database.url,
    SECRET_KEY: printKey(generateKey()),
    PORT: '0',
    SANDBOX_PORT: '0',
  }
  const standStill = fileURLToPath(new URL('../support/stand-still.ts', import.meta.url))
  const started = startProgram(['serve'], { ...settings, NODE_OPTIONS: `--import ${standStill}` })
  await eventually(
    'it is ready, or has ended',
    () => started.ending ?? started.stdout.includes('Countersign is ready'),
  )
  assert.deepEqual([started.ending, started.stderr], [undefined, ''])
  started.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
})

test('a command loads no gateway', async () => {
  const list = openList()
  const { code } = await runCommand(['--help'], list.settings)
  assert.equal(code, 0)
  const loaded = list.read()
  assert.ok(has(loaded, 'src/cli/commands.ts'))
  assert.deepEqual(
    [
      'fastify/',
      'src/gateway/gateway.ts',
      'src/http/server.ts',
      'src/web/routes.ts',
      '@opentelemetry/',
    ].filter((part) => has(loaded, part)),
    [],
  )
})

/** All that the program asks of the Node that runs it. */
const olderNode =
  "--import data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})"

test('an older Node gets one sentence that names the one it takes', async () => {
  for (const words of [['serve'], ['--help'], ['partner', 'list']]) {
    const { code, stdout, stderr } = await runCommand(words, { NODE_OPTIONS: olderNode }, undefined, program)
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
    assert.equal(stderr, 'Countersign needs Node.js 24 or newer; this is 20.20.2.\n')
  }
  const { engines, scripts } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  assert.deepEqual([engines.node, scripts.start], ['>=24', 'exec node bin/countersign.js serve'])
})

test('what Node made of the code is kept where NODE_COMPILE_CACHE says, and a folder that cannot be written is no obstacle', async () => {
  const folder = join(makeFolder(), 'cache')
  const kept = await runCommand(['--help'], { NODE_COMPILE_CACHE: folder }, undefined, program)
  assert.equal(kept.code, 0)
  assert.ok(readdirSync(folder, { recursive: true }).length > 10)
  const impossible = join(noteModules, 'below-a-file')
  const { code, stderr } = await runCommand(
    ['--help'],
    { NODE_COMPILE_CACHE: impossible },
    undefined,
    program,
  )
  assert.deepEqual([code, stderr], [0, ''])
})

test('what Node made of the code is kept beside the code, for nobody else to write', async () => {
  const { code } = await runCommand(['--help'], { NODE_COMPILE_CACHE: undefined }, undefined, program)
  assert.equal(code, 0)
  const folder = fileURLToPath(new URL('../../.compile-cache', import.meta.url))
  assert.ok(readdirSync(folder).length > 0)
  assert.equal(statSync(folder).mode & 0o022, 0)
})
