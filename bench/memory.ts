/**
 * What one process of the gateway takes of the machine's memory (resident, what it shares with others
 * included): when it has been idle for a while, and when it has made 120,000 deliveries of events to a
 * hundred webhooks, after which everything is written down.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { readResidentMiB } from './overload.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { withinLimit } from './report.ts'
import { openStage, type Stage } from './stage.ts'

const deliveries = 120_000
const eventsAtOnce = 200
const idleMs = 30_000
const limitsMb = { idle: 140, after: 220 }

export const memory: Benchmark = {
  name: 'memory',
  async run(stage, { rows = deliveries }) {
    const receiver = await startReceiver(stage)
    const gateway = await startAgain(stage)
    await wait(idleMs)
    const idleMb = readResidentMb(gateway.pid)
    const mostMb = await deliver(gateway, receiver, rows)
    const afterMb = readResidentMb(gateway.pid)
    process.stderr.write(`memory: at most ${Math.round(mostMb)} MB meanwhile\n`)
    return [
      withinLimit('memory: idle', idleMb, limitsMb.idle, 'MB'),
      withinLimit(`memory: after ${rows.toLocaleString('en')} deliveries`, afterMb, limitsMb.after, 'MB'),
    ]
  },
}

/** What the first start needs for the cluster and the tables no later one does. */
async function startAgain(stage: Stage): Promise<GatewayUnderTest> {
  const dataDir = stage.makeFolder()
  const first = openStage()
  await startEmptyGateway(first, { dataDir }).finally(() => first.close())
  return startEmptyGateway(stage, { dataDir })
}

/** Answers the most that was seen between two requests. */
async function deliver(gateway: GatewayUnderTest, receiver: Receiver, count: number): Promise<number> {
  const branchId = await gateway.makeBranch(
    Array.from({ length: webhooks }, (_, index) => urlOf(receiver.origin, index)),
  )
  const publisher = await gateway.makePublisher()
  let mostMb = 0
  for (let sent = 0; sent < count; sent += eventsAtOnce * webhooks) {
    const events = Array.from({ length: eventsAtOnce }, () => makeEvent(branchId))
    await send(gateway.internal, publishRequest(publisher, events))
    await receiver.awaitMore(eventsAtOnce * webhooks)
    mostMb = Math.max(mostMb, readResidentMb(gateway.pid))
  }
  while (await isAnyLeft(gateway.db)) await wait(100)
  return mostMb
}

const selectLeft =
  'SELECT EXISTS (SELECT FROM outbox) OR EXISTS (SELECT FROM cursors c WHERE position < feed_head(part, feed)) AS left'

async function isAnyLeft(db: Database): Promise<boolean> {
  const [row] = await ask<{ left: boolean }>(db, selectLeft)
  return row!.left
}

function readResidentMb(pid: number): number {
  return (readResidentMiB(pid) * 1024 * 1024) / 1_000_000
}
