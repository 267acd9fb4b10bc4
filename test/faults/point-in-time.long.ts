/**
 * Nodes, primary and standby are gone at once. What is left is a base backup that was taken under load, the
 * archived log and the secret keys: the house goes back to a moment. Whatever was acknowledged before it is
 * there; what came after it is named.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { findHead, sealAll } from '../../src/audit/chain.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { ask } from '../support/ask.ts'
import { takeBaseBackup } from '../support/base-backup.ts'
import { askForRecovery } from '../support/documented-recovery.ts'
import { eventually } from '../support/eventually.ts'
import { makeFolder, readProfile, refresh, revoke } from '../support/process.ts'
import { checkPromises } from './suite/checker.ts'
import { type House, openHouse } from './suite/house.ts'
import { type Server, urlOf } from './suite/postgres.ts'
import { measureResumption } from './suite/run.ts'
import { type Promises, startTraffic } from './suite/traffic.ts'

const pauseMs = 30

interface Moment {
  /** By the primary's clock. */
  readonly at: string
  /** What had been acknowledged. */
  readonly promises: Promises
  readonly head: Awaited<ReturnType<typeof findHead>>
  /** By webhook: what had been settled. */
  readonly settled: ReadonlyMap<string, ReadonlySet<string>>
}

const selectMoment = 'SELECT clock_timestamp()::text AS at'

const selectSettled = `SELECT o.webhook_id, l.uid FROM outcomes o JOIN cursors c USING (part, webhook_id)
     JOIN log l ON l.part = c.part AND l.feed = c.feed AND l.seq = o.seq WHERE o.state = 'delivered'`

async function findSettled({ db, hooks }: House) {
  const rows = await ask<{ webhook_id: number; uid: string }>(db, selectSettled)
  return new Set(rows.map(({ webhook_id }) => webhook_id)).size === hooks.length && rows
}

/** Everything is looked at before the moment, which is therefore not too early for any of it. */
async function markMoment(house: House, promises: Promises): Promise<Moment> {
  const { db, hooks, pair } = house
  const acknowledged = {
    ...promises,
    events: new Map(promises.events),
    tokens: new Set(promises.tokens),
    revoked: new Set(promises.revoked),
  }
  await sealAll(db, new Date())
  const head = await findHead(db)
  const rows = await eventually('every webhook has had something', () => findSettled(house))
  const webhooks = [...new Set(rows.map(({ webhook_id }) => webhook_id))].sort((one, other) => one - other)
  const settled = new Map(
    webhooks.map((webhook, place) => [
      hooks[place]!,
      new Set(rows.filter(({ webhook_id }) => webhook_id === webhook).map(({ uid }) => printEventId(uid))),
    ]),
  )
  const [moment] = await pair.primary.ask<{ at: string }>(selectMoment)
  return { at: moment!.at, promises: acknowledged, head, settled }
}

/** Until all that was written so far is in the archive. */
async function archiveAll(primary: Server): Promise<void> {
  const [row] = await primary.ask<{ segment: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS segment')
  await eventually('the log is archived', async () => {
    const [archiver] = await primary.ask<{ last: string | null }>(
      'SELECT last_archived_wal AS last FROM pg_stat_archiver',
    )
    return (archiver!.last ?? '') >= row!.segment
  })
}

async function loseEverything({ nodes, pair }: House): Promise<void> {
  for (const { gateway } of nodes) {
    gateway.kill('SIGKILL')
    await gateway.ended
  }
  await Promise.all([pair.primary.stop('kill'), pair.standby.stop('kill')])
  for (const { folder } of [pair.primary, pair.standby])
    rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 50 })
}

/** As docs/operating.md says, in the place of the server that is gone. */
async function recover(primary: Server, copy: string, archive: string, at: string): Promise<void> {
  execFileSync('cp', ['-a', copy, primary.folder])
  askForRecovery(primary.folder, archive, at)
  await primary.start()
}

const selectBlock = 'SELECT hash FROM audit_blocks WHERE position = $1'
const selectUids = 'SELECT uid FROM log'

test('everything is lost but a base backup, the archived log and the keys: a moment is brought back whole, and what came after it is named', async (t) => {
  const [archive, copy] = [makeFolder(), makeFolder()]
  const house = await openHouse({ archive, nodes: 2, hooks: ['/one', '/two'] })
  t.after(() => house.close())
  const { nodes, pair, receiver, db, client } = house
  const { baseUrl } = nodes[0]!.gateway
  const traffic = startTraffic(house, pauseMs)
  t.after(() => traffic.stop())
  const { promises } = traffic
  const acknowledged = (events: number, revocations: number) =>
    eventually('enough is acknowledged', () => {
      return promises.events.size >= events && promises.revoked.size >= revocations
    })

  await acknowledged(100, 2)
  const backupStartedMs = performance.now()
  await takeBaseBackup(urlOf([pair.primary.port]), pair.primary.folder, copy)
  const backupMs = performance.now() - backupStartedMs
  assert.ok(promises.events.size > 100, 'the traffic went on meanwhile')
  await acknowledged(promises.events.size + 100, promises.revoked.size + 2)
  const moment = await markMoment(house, promises)

  const [early] = moment.promises.tokens
  assert.equal((await revoke(baseUrl, client, early!)).status, 200)
  assert.equal((await readProfile(baseUrl, early!)).status, 401)
  const late = (await refresh(baseUrl, client, house.refreshToken)).json<{ access_token: string }>()
  await acknowledged(promises.events.size + 100, promises.revoked.size + 2)
  await archiveAll(pair.primary)
  await loseEverything(house)
  await traffic.stop()
  const publishedAfter = [...promises.events.keys()].filter((id) => !moment.promises.events.has(id))

  const startedMs = performance.now()
  await recover(pair.primary, copy, archive, moment.at)
  const serverMs = performance.now() - startedMs
  const receivedBefore = receiver.received.length
  for (const node of nodes) await node.restart()
  const next = startTraffic(house, pauseMs)
  t.after(() => next.stop())
  await measureResumption(house, next)
  const resumedMs = performance.now() - startedMs
  await eventually('the traffic goes on', () => next.promises.events.size > 50)
  await next.stop()

  const past = await checkPromises(house, moment.promises)
  assert.deepEqual(past.lost, [], 'nothing that was acknowledged before the moment')
  assert.deepEqual((await checkPromises(house, next.promises)).lost, [], 'nothing since')
  const [block] = await ask<{ hash: Buffer }>(db, selectBlock, [moment.head.position])
  assert.deepEqual(block?.hash, moment.head.hash, 'the chain goes through the head that was kept')

  const stored = new Set((await ask<{ uid: string }>(db, selectUids)).map(({ uid }) => printEventId(uid)))
  const before = new Set(receiver.received.slice(0, receivedBefore).map(({ path, id }) => `${path} ${id}`))
  const again = receiver.received.slice(receivedBefore).filter(({ path, id }) => before.has(`${path} ${id}`))
  for (const { path, id } of again)
    assert.ok(!moment.settled.get(path)!.has(id), `${id} had been settled at ${path} before the moment`)

  // What is lost: docs/reliability.md says so.
  const lost = publishedAfter.filter((id) => !stored.has(id))
  assert.ok(lost.length > 50, 'events of after the moment')
  const origin = nodes[0]!.gateway.baseUrl
  assert.equal((await readProfile(origin, late.access_token)).status, 401, 'tokens of after the moment')
  assert.equal((await readProfile(origin, early!)).status, 200, 'a revocation of after the moment')
  assert.equal((await revoke(origin, client, early!)).status, 200)
  assert.equal((await readProfile(origin, early!)).status, 401)
  t.diagnostic(
    `base backup under load ${Math.round(backupMs)} ms; server back after ${Math.round(serverMs)} ms, ` +
      `an event through each node at every webhook after ${Math.round(resumedMs)} ms; ${moment.promises.events.size} events ` +
      `of before kept, ${again.length} delivered twice, ${lost.length} of ${publishedAfter.length} of after lost`,
  )
})
