/**
 * A webhook that hangs, drips, refuses or has a dead name server costs the others nothing. Compared in one
 * run, never by the clock alone.
 */
import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { second } from '../../src/clock.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { followByHand } from '../support/follow.ts'
import {
  type Behaviour,
  drip,
  fail,
  gate,
  hang,
  openReceiver,
  type Receiver,
  reset,
} from '../support/receiver.ts'

let engine: Engine
let bad: Receiver
let nameServer: Socket
beforeEach(async () => {
  nameServer = createSocket('udp4')
  nameServer.bind(0, '127.0.0.1')
  await once(nameServer, 'listening')
  engine = await openEngine({
    WEBHOOK_DNS_SERVERS: `127.0.0.1:${nameServer.address().port}`,
    DATABASE_CONNECTIONS: '10',
  })
  bad = await openReceiver()
})
afterEach(async () => {
  await bad.close()
  await engine.close()
  nameServer.close()
})

const healthy = Array.from({ length: 20 }, (_, index) => `/healthy-${index}`)
const rounds = 20

/** Publishes to everybody, round by round, and answers how long the healthy ones took to have everything. */
async function timeRounds(name: string, branches: readonly number[]): Promise<number> {
  const had = engine.receiver.received.length
  const start = performance.now()
  for (let round = 0; round < rounds; round++) {
    const drafts = entities(5, `${name}-${round}`)
    await engine.publish(...branches.flatMap((branchId) => drafts.map((draft) => ({ ...draft, branchId }))))
  }
  // The sick have a receiver of their own.
  await untilReceived(had + healthy.length * rounds * 5, name)
  return performance.now() - start
}

/**
 * On a slow machine an attempt may take all of its time. It is made again at a moment of this clock, which
 * comes when somebody moves it.
 */
async function untilReceived(wanted: number, name: string): Promise<void> {
  const { received } = engine.receiver
  const all = engine.receiver.until(() => received.length >= wanted, `the healthy in "${name}"`)
  while ((await Promise.race([all, wait(5 * second, 'late')])) === 'late') {
    engine.house.clock.advance(5 * second)
    await engine.wake()
  }
}

/** With the slower of before and after: the machine may have been given something else to do meanwhile. */
function compare(t: TestContext, togetherMs: number, ...alone: readonly number[]): void {
  const times = `alone ${alone.map(Math.round).join(' and ')} ms, together ${Math.round(togetherMs)} ms`
  t.diagnostic(times)
  assert.ok(togetherMs < 4 * Math.max(...alone) + second, times)
}

async function openBranch(): Promise<number> {
  return (await engine.house.makePartner()).branchId
}

test('half of the webhooks hang, drip, refuse, reset or have a dead name server; the other half does not notice', async (t) => {
  for (const path of healthy) await engine.makeWebhook(path)
  await timeRounds('warm-up', [engine.branchId])
  const aloneMs = await timeRounds('alone', [engine.branchId])
  const sick: [string, Behaviour][] = [
    ['/hang', hang],
    ['/drip', drip],
    ['/fail', fail],
    ['/reset', reset],
  ]
  for (let turn = 0; turn < 4; turn++) {
    for (const [path, behaviour] of sick) {
      bad.on(`${path}-${turn}`, behaviour)
      await engine.makeWebhook(bad.url(`${path}-${turn}`))
    }
    await engine.makeWebhook(`https://dead-${turn}.example.com/`)
  }
  const togetherMs = await timeRounds('together', [engine.branchId])
  await engine.sql("UPDATE webhooks SET state = 'paused' WHERE url NOT LIKE '%/healthy-%'")
  await engine.db.script(followByHand)
  const againMs = await timeRounds('alone again', [engine.branchId])
  compare(t, togetherMs, aloneMs, againMs)
})

test('a hundred webhooks that hang do not use up what the healthy ones need', async (t) => {
  for (const path of healthy) await engine.makeWebhook(path)
  await timeRounds('warm-up', [engine.branchId])
  const aloneMs = await timeRounds('alone', [engine.branchId])
  const sickBranch = await openBranch()
  for (let index = 0; index < 100; index++) {
    bad.on(`/${index}`, hang)
    await engine.makeWebhook(bad.url(`/${index}`), { branchId: sickBranch })
  }
  const togetherMs = await timeRounds('together', [sickBranch, engine.branchId])
  const againMs = await timeRounds('alone again', [engine.branchId])
  compare(t, togetherMs, aloneMs, againMs)
})

test('a webhook that hangs does not hold up another one on the same host', async () => {
  await engine.makeWebhook('/good')
  await engine.makeWebhook('/stuck')
  const held = gate()
  engine.receiver.on('/stuck', held.behaviour)
  await engine.publish(...entities(20))
  await engine.receiver.count('/stuck', 10)
  await engine.receiver.count('/good', 20)
  assert.equal(engine.receiver.underWay('/stuck'), 10, 'it hangs still')
  held.open()
})
