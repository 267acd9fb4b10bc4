/**
 * What was acknowledged arrives, whatever dies. By default 500 events go to 20 webhooks, so that it fits into
 * `npm run test:long`; the full size takes some minutes:
 *
 * DELIVERY_EVENTS=10000 DELIVERY_KILLS=6 node --test --test-global-setup=test/support/global-setup.ts
 * test/delivery/nothing-lost.long.ts
 */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { second } from '../../src/clock.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { applyAsPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { readConfig } from '../../src/settings/config.ts'
import { lifeLock } from '../../src/webhooks/engine/workers.sql.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { createWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { eventOf, openEngine, startWorkerProcess } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { operatorAct } from '../support/gateway.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { testTimeoutMs } from '../support/timeout.ts'

const events = Number(process.env.DELIVERY_EVENTS ?? 500)
const kills = Number(process.env.DELIVERY_KILLS ?? 2)
const webhooks = 20
const recoveryLimitMs = 15 * second
const deliveredWithinMs = Math.max(testTimeoutMs, events * 60)

const paths = Array.from({ length: webhooks }, (_, index) => `/${index}`)

/** Counts without keeping 200,000 requests apart. */
class Tally {
  readonly #seen = new Map<string, Set<string>>(paths.map((path) => [path, new Set<string>()]))
  duplicates = 0
  distinct = 0

  note(path: string, id: string): void {
    const seen = this.#seen.get(path)!
    if (seen.has(id)) this.duplicates++
    else this.distinct++
    seen.add(id)
  }

  lacking(): string[] {
    return paths.filter((path) => this.#seen.get(path)!.size < events)
  }
}

function countAll(receiver: Receiver): Tally {
  const tally = new Tally()
  for (const path of paths) {
    receiver.on(path, ({ id }, response) => {
      tally.note(path, id)
      response.end()
    })
  }
  return tally
}

/** A hundred at a time, a few events to an entity. */
async function publishAll(insert: (drafts: { entity: string }[]) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < events; done += 100) {
    const size = Math.min(100, events - done)
    await insert(
      Array.from({ length: size }, (_, index) => ({ entity: `transaction:${(done + index) >> 1}` })),
    )
  }
}

test('every event reaches every webhook although the worker is killed again and again', {
  timeout: 2 * deliveredWithinMs,
}, async (t) => {
  const engine = await openEngine({ ROLES: 'api' })
  t.after(() => engine.close())
  const { receiver, db, branchId } = engine
  const tally = countAll(receiver)
  for (const path of paths) await engine.makeWebhook(path)
  const settled = async () =>
    (await engine.sql<{ n: number }>(`SELECT count(*) AS n FROM outcomes WHERE state = 'delivered'`))[0]!.n
  const othersConnected = async () =>
    (
      await engine.sql<{ n: number }>(
        `SELECT count(*) AS n FROM pg_stat_activity WHERE pid <> pg_backend_pid()
          AND datname = current_database() 
           AND (pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = ${lifeLock})
             OR query LIKE '%FROM settle(%' AND state <> 'idle')`,
      )
    )[0]!.n > 0

  const publishing = publishAll((drafts) =>
    insertEvents(
      db,
      drafts.map((draft) => eventOf(branchId, draft)),
      new Date(),
    ),
  )
  const all = events * webhooks
  let worker = startWorkerProcess(engine.house.settings)
  t.after(() => worker.kill())
  let inFlightAtKills = 0
  const recoveriesMs: number[] = []
  for (let kill = 1; kill <= kills; kill++) {
    const mark = Math.floor((all * kill) / (kills + 1))
    await receiver.until(() => tally.distinct >= mark, `${mark} deliveries`, deliveredWithinMs)
    await worker.kill()
    await receiver.until(() => receiver.connections === 0, 'the end of its connections')
    await eventually('the end of its sessions', async () => !(await othersConnected()))
    inFlightAtKills += tally.distinct - (await settled())
    const before = receiver.received.length
    worker = startWorkerProcess(engine.house.settings)
    // How long a process takes to start is not the engine's matter.
    await eventually('the next worker', othersConnected)
    const startedAtMs = performance.now()
    await receiver.until(() => receiver.received.length > before, 'its first delivery', deliveredWithinMs)
    recoveriesMs.push(Math.max(0, receiver.received[before]!.atMs - startedAtMs))
  }
  await publishing
  await receiver.until(() => tally.distinct === all, 'all of them', deliveredWithinMs)
  await eventually('their settlement', async () => (await settled()) === all)
  t.diagnostic(
    `${all} deliveries, ${kills} kills, ${tally.duplicates} duplicates, ${inFlightAtKills} in flight at kills, recovered after ${recoveriesMs.map((ms) => (ms / second).toFixed(1)).join(', ')} s`,
  )
  await worker.kill()
  assert.deepEqual(tally.lacking(), [])
  assert.ok(
    tally.duplicates <= inFlightAtKills,
    `${tally.duplicates} duplicates, ${inFlightAtKills} in flight at kills`,
  )
  assert.ok(Math.max(...recoveriesMs) < recoveryLimitMs, `a lane was free after ${recoveriesMs} ms`)
})

test('every event reaches every webhook although PostgreSQL is killed in the middle', {
  timeout: 2 * deliveredWithinMs,
}, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-restart-'))
  const receiver = await openReceiver()
  const tally = countAll(receiver)
  const settings = {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
  }
  const gateway = await openGateway(readConfig({ ...settings, WEBHOOK_ALLOW_LOOPBACK: 'true' }))
  t.after(async () => {
    await receiver.close()
    await gateway.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const { db, vault, guard } = gateway.context
  const act = operatorAct(new Date())
  const partner = await applyAsPartner(db, 'Partner', act)
  await setPartnerStatus(db, partner, 'approved', undefined, act)
  const { branchId } = partner
  for (const path of paths) {
    const draft = { url: receiver.url(path), secret: 'a secret of its own', kinds: undefined }
    const deps = { db, vault, policy: guard }
    await createWebhook(deps, { branchId, environment: 'live' }, undefined, draft, act)
  }
  // Only what was acknowledged counts: a refused publication is tried again, and its event has another id.
  const publishing = publishAll(async (drafts) => {
    for (;;) {
      const made = drafts.map((draft) => eventOf(branchId, draft))
      const done = await insertEvents(db, made, new Date()).catch(() => undefined)
      if (done) return
      await eventually('PostgreSQL', () =>
        db.script('SELECT 1').then(
          () => true,
          () => false,
        ),
      )
    }
  })
  const all = events * webhooks
  await receiver.until(() => tally.distinct >= all / 2, 'half of them', deliveredWithinMs)
  const pid = Number(readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n')[0])
  process.kill(pid, 'SIGKILL')
  const killedAtMs = performance.now()
  await publishing
  const isSettled = `SELECT NOT EXISTS (SELECT FROM outbox) AND (SELECT count(*) FROM log) * $1 = (SELECT count(*)
      FROM outcomes WHERE state = 'delivered') AS "isSo"`
  await receiver.until(() => tally.distinct >= all, 'all of them', deliveredWithinMs)
  await eventually(
    'their settlement',
    async () => (await ask<{ isSo: boolean }>(db, isSettled, [webhooks]))[0]!.isSo,
  )
  const seconds = ((performance.now() - killedAtMs) / second).toFixed(1)
  t.diagnostic(
    `${tally.distinct} deliveries, ${tally.duplicates} duplicates, done ${seconds} s after the kill`,
  )
  assert.deepEqual(tally.lacking(), [])
  const inHandAtMost = webhooks * 100
  assert.ok(tally.duplicates <= inHandAtMost, `${tally.duplicates} duplicates`)
})

test('a connection that dies between two statements of a transaction fails the transaction, not the process', async (t) => {
  const engine = await openEngine({ ROLES: 'api' })
  t.after(() => engine.close())
  const work = engine.db.transaction(async (sql) => {
    const [own] = await ask<{ pid: number }>(sql, 'SELECT pg_backend_pid() AS pid')
    await engine.sql('SELECT pg_terminate_backend($1::int, 5000)', [own!.pid])
    // The answer to another query shows that the event loop has turned.
    await engine.sql('SELECT')
    await ask(sql, 'SELECT')
  })
  await assert.rejects(work, { name: 'DatabaseUnavailable' })
})
