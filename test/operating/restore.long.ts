/**
 * A backup is worth what its restore is. Each way of docs/operating.md, on a gateway with something to lose:
 * afterwards tokens work, revoked ones do not, what waited is delivered and signed, and the audit chain is
 * whole.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findHead, sealAll, verifyChain } from '../../src/audit/chain.ts'
import { minute, systemClock } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { getDisguise } from '../../src/database/postgres-binaries.ts'
import { openPrivateServer, type PrivateServer } from '../../src/database/private-server.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { takeBaseBackup } from '../support/base-backup.ts'
import { askForRecovery } from '../support/documented-recovery.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import type { TestClient, TokenBody } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import {
  clusterFolder,
  endGateway,
  makeFolder,
  readDemo,
  readProfile,
  refresh,
  revoke,
  runCommand,
  startGateway,
} from '../support/process.ts'
import { answer, openReceiver, type Receiver } from '../support/receiver.ts'
import { findSystemPostgres, openSystemServer, run } from '../support/system-postgres.ts'

interface Belongings {
  readonly client: TestClient
  readonly accessToken: string
  readonly refreshToken: string
  readonly revokedToken: string
  readonly webhookPath: string
  /** POSITION:HASH, as an operator keeps it. */
  readonly anchor: { readonly position: number; readonly hash: Buffer }
}

/** Approvals, a revocation, an event that its webhook has refused once, and the chain over all of it. */
async function fill(engine: Engine, receiver: Receiver): Promise<Belongings> {
  const { house, client, db } = engine
  const obtain = async () =>
    (await house.exchange(client, await house.makeCode(client))).json<TokenBody & { refresh_token: string }>()
  const [kept, given] = [await obtain(), await obtain()]
  assert.equal((await revoke(house.baseUrl, client, given.access_token)).status, 200)
  const webhookPath = '/hooks'
  receiver.on(webhookPath, answer(500))
  const webhook = await engine.makeWebhook(receiver.url(webhookPath))
  await engine.publish({ entity: 'transaction:1' })
  await receiver.count(webhookPath, 1)
  await eventually('the refusal is written down', async () => (await engine.attempts(webhook)).length === 1)
  await sealAll(db, house.clock.now())
  return {
    ...{ client, webhookPath, accessToken: kept.access_token, refreshToken: kept.refresh_token },
    ...{ revokedToken: given.access_token, anchor: await findHead(db) },
  }
}

/** The gateway again, on the restored server and with the same keys. */
function reopen(engine: Engine, url: string): Promise<Gateway> {
  const { settings, clock } = engine.house
  return openGateway(readConfig({ ...settings, DATABASE_URL: url, WEBHOOK_ALLOW_LOOPBACK: 'true' }), {
    clock,
  })
}

async function assertWhole(
  gateway: Gateway,
  engine: Engine,
  receiver: Receiver,
  kept: Belongings,
): Promise<void> {
  const { baseUrl } = gateway
  const { db } = gateway.context
  assert.equal((await readProfile(baseUrl, kept.accessToken)).status, 200, 'a token works')
  assert.equal((await readProfile(baseUrl, kept.revokedToken)).status, 401, 'a revoked token does not')
  assert.equal((await refresh(baseUrl, kept.client, kept.refreshToken)).status, 200, 'a refresh token works')
  await assertDelivery(engine, receiver, kept)
  const { clock } = engine.house
  await sealAll(db, clock.now())
  assert.equal((await verifyChain(db, clock.now(), () => {})).kind, 'intact')
  const [block] = await ask<{ hash: Buffer }>(db, selectBlock, [kept.anchor.position])
  assert.deepEqual(block?.hash, kept.anchor.hash, 'the chain contains the anchor that was kept elsewhere')
}

const selectBlock = 'SELECT hash FROM audit_blocks WHERE position = $1'

/** What was refused before the backup is sent again, once it is due, and signed. */
async function assertDelivery(engine: Engine, receiver: Receiver, kept: Belongings): Promise<void> {
  const before = receiver.at(kept.webhookPath).length
  receiver.on(kept.webhookPath, answer(200))
  engine.house.clock.advance(minute)
  await receiver.count(kept.webhookPath, before + 1)
  const received = receiver.at(kept.webhookPath).at(-1)!
  const signature = createHmac('sha256', kept.client.secret).update(received.body).digest('hex')
  assert.equal(received.headers['x-webhook-signature'], signature)
  assert.equal(received.id, receiver.at(kept.webhookPath)[0]!.id, 'the same event')
}

function open(dataDir: string): Promise<PrivateServer> {
  return openPrivateServer({ dataDir, purpose: 'serve', searchPath: process.env.PATH ?? '' })
}

async function withDatabase<Result>(url: string, work: (db: Database) => Promise<Result>): Promise<Result> {
  const db = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** A server that keeps its log: every segment is copied away when it is full. */
async function openArchivingServer(dataDir: string, archive: string): Promise<PrivateServer> {
  const first = await open(dataDir)
  await withDatabase(first.connectionString, async (db) => {
    await ask(db, 'ALTER SYSTEM SET archive_mode = on')
    await ask(db, `ALTER SYSTEM SET archive_command = 'cp %p "${archive}/%f"'`)
  })
  await first.close()
  return open(dataDir)
}

/** Until all that was written so far is in the archive. */
async function archiveAll(url: string): Promise<void> {
  await withDatabase(url, async (db) => {
    const [row] = await ask<{ segment: string }>(db, 'SELECT pg_walfile_name(pg_switch_wal()) AS segment')
    await eventually('the segment is archived', async () => {
      const [archiver] = await ask<{ last: string | null }>(
        db,
        'SELECT last_archived_wal AS last FROM pg_stat_archiver',
      )
      return (archiver!.last ?? '') >= row!.segment
    })
  })
}

/** Answers the moment before it. */
async function makeMistake({ sql }: Engine): Promise<string> {
  const [moment] = await sql<{ at: string }>('SELECT clock_timestamp()::text AS at')
  await sql('DELETE FROM access_tokens')
  return moment!.at
}

/** Until the server has read the whole log it is a standby, to which no connection is made. */
function recovered(url: string): Promise<boolean> {
  return withDatabase(url, (db) =>
    eventually('the server has recovered', () =>
      ask(db, 'SELECT 1').then(
        () => true,
        () => false,
      ),
    ),
  )
}

test('a base backup, taken under way, with its archived log goes back to the moment before a mistake', async (t) => {
  const [home, copy, archive] = [makeFolder(), makeFolder(), makeFolder()]
  const server = await openArchivingServer(home, archive)
  const engine = await openEngine({ DATABASE_URL: server.connectionString })
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const restored = clusterFolder(copy)
  mkdirSync(join(copy, 'postgres'), { mode: 0o700 })
  await takeBaseBackup(server.connectionString, clusterFolder(home), restored)
  const kept = await fill(engine, receiver)
  const at = await makeMistake(engine)
  await archiveAll(server.connectionString)
  await engine.close()
  await server.close()
  rmSync(clusterFolder(home), { recursive: true })

  askForRecovery(restored, archive, at)
  const second = await open(copy)
  t.after(() => second.close())
  await recovered(second.connectionString)
  const gateway = await reopen(engine, second.connectionString)
  t.after(() => gateway.close())
  await assertWhole(gateway, engine, receiver, kept)
})

const programs = findSystemPostgres()

/** The command of docs/operating.md that begins so, on one line, with these for its variables and names. */
function documented(program: string, filled: Readonly<Record<string, string>>): string[] {
  const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const [, line] = new RegExp(`^(${program} .+)$`, 'm').exec(text)!
  const whole = Object.entries(filled).reduce((command, [of, to]) => {
    assert.ok(command.includes(of), `"${of}" is in: ${command}`)
    return command.replace(of, to)
  }, line!)
  return whole.split(' ').slice(1)
}

test('a dump goes into another database, whatever else is beside it, and what is published there before the first gateway is delivered', {
  skip: programs ? false : 'no pg_dump is installed here',
}, async (t) => {
  const server = await openSystemServer(programs!)
  t.after(() => server.close())
  const named = (name: string) => server.url.replace('/postgres?', `/${name}?`)
  const owned = (name: string) => named(name).replace('//countersign@', '//gateway_owner@')
  const asAdministrator = (name: string, ...texts: string[]) =>
    withDatabase(named(name), async (db) => {
      for (const text of texts) await ask(db, text)
    })
  await asAdministrator(
    'postgres',
    'CREATE ROLE gateway_owner LOGIN',
    'CREATE ROLE core',
    'CREATE DATABASE first OWNER gateway_owner',
  )
  // Tables of the core, which the gateway's role may not read, and an extension.
  await asAdministrator(
    'first',
    'CREATE SCHEMA core AUTHORIZATION core',
    'CREATE EXTENSION pg_trgm SCHEMA core',
    'CREATE TABLE core.customers (id text PRIMARY KEY)',
  )
  const engine = await openEngine({ DATABASE_URL: owned('first') })
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const kept = await fill(engine, receiver)
  const folder = makeFolder()
  const disguise = getDisguise()
  disguise.adopt(folder)
  const file = join(folder, 'countersign.dump')
  run(
    disguise,
    join(programs!, 'pg_dump'),
    documented('pg_dump', { 'countersign.dump': file, '"$DATABASE_URL"': owned('first') }),
  )
  await engine.close()
  await asAdministrator('postgres', 'DROP DATABASE first WITH (FORCE)')

  await asAdministrator('postgres', 'CREATE DATABASE second OWNER gateway_owner')
  await asAdministrator(
    'second',
    'CREATE SCHEMA core AUTHORIZATION core',
    'CREATE TABLE core.customers (id text PRIMARY KEY)',
  )
  run(
    disguise,
    join(programs!, 'pg_restore'),
    documented('pg_restore', { '"$RESTORED_URL"': owned('second'), ' countersign.dump': ` ${file}` }),
  )
  // The core goes on before any gateway does.
  const events = 10
  await withDatabase(owned('second'), async (db) => {
    for (let profileId = 1; profileId <= events; profileId++) {
      const { branchId } = engine
      const body = JSON.stringify({
        profileId,
        clearingAccount: '1',
        type: 'ACH_PROFILE',
        action: 'PENDING',
        branchId,
      })
      await ask(
        db,
        `SELECT publish_event('live', ${branchId}, 'ACH_PROFILE', 'PENDING', '${profileId}', '${body}')`,
      )
    }
  })
  receiver.on(kept.webhookPath, answer(200))
  const gateway = await reopen(engine, owned('second'))
  t.after(() => gateway.close())
  const published = () =>
    receiver.at(kept.webhookPath).flatMap(({ body }) => {
      const { type, profileId } = JSON.parse(body)
      return type === 'ACH_PROFILE' ? [profileId as number] : []
    })
  await receiver.until(() => published().length === events, 'what was published before the first gateway')
  assert.equal(new Set(published()).size, events)
  await assertWhole(gateway, engine, receiver, kept)
})

test('pg_basebackup and the lines of the documentation bring back the moment before a mistake', {
  skip: programs ? false : 'no pg_basebackup is installed here',
}, async (t) => {
  const [archive, copy] = [makeFolder(), makeFolder()]
  const disguise = getDisguise()
  for (const folder of [archive, copy]) disguise.adopt(folder)
  const server = await openSystemServer(programs!, {
    archive_mode: 'on',
    archive_command: `cp %p "${archive}/%f"`,
  })
  const engine = await openEngine({ DATABASE_URL: server.url })
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const words = documented('pg_basebackup', { '/backup/$(date +%F)': copy })
  run(disguise, join(programs!, 'pg_basebackup'), [
    ...words,
    `--host=${server.sockets}`,
    '--username=countersign',
  ])
  const kept = await fill(engine, receiver)
  const at = await makeMistake(engine)
  await archiveAll(server.url)
  await engine.close()
  await server.close()

  askForRecovery(copy, archive, at)
  const second = await openSystemServer(programs!, {}, copy)
  t.after(() => second.close())
  await recovered(second.url)
  const gateway = await reopen(engine, second.url)
  t.after(() => gateway.close())
  await assertWhole(gateway, engine, receiver, kept)
})

test('the data folder of a stopped gateway is a backup; without its key file the doctor says what is missing', async (t) => {
  const home = makeFolder()
  const first = await startGateway({ DATA_DIR: home })
  t.after(() => endGateway(first))
  const { apiToken } = await readDemo(first, home)
  await first.stop()
  const copy = join(makeFolder(), 'data')
  execFileSync('cp', ['-a', home, copy])
  rmSync(home, { recursive: true })

  const second = await startGateway({ DATA_DIR: copy })
  t.after(() => endGateway(second))
  assert.equal((await readProfile(second.baseUrl, apiToken)).status, 200)
  assert.equal((await runCommand(['audit', 'verify', '--json'], { DATA_DIR: copy })).json().intact, true)
  await second.stop()

  rmSync(join(copy, 'secret.keys'))
  const settings = { DATA_DIR: copy, HOST: '127.0.0.1', PORT: '0', PATH: process.env.PATH }
  const results = await examine(() => readConfig(settings), systemClock)
  const sealed = results.find(({ check }) => check === 'sealed secrets')!
  assert.equal(sealed.state, 'fail', JSON.stringify(results))
  assert.ok(!existsSync(join(copy, 'secret.keys')))
})
