/**
 * What a node costs that does nothing but deliver, step by step: numbering events that nobody wants and
 * events that many webhooks want, and sending and settling what has gathered. Events are made while the bench
 * holds all parts, and are published past this node, so that it numbers none with its publishing.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../src/database/database.ts'
import { insertEvents, type NewEvent } from '../../src/webhooks/events/event.ts'
import { printNews } from '../../src/webhooks/events/news.ts'
import { ask } from '../../test/support/ask.ts'
import { followByHand } from '../../test/support/follow.ts'
import { openWire } from '../load.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from '../publisher.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { openStage } from '../stage.ts'
import type { Costs } from './answering.ts'
import type { House, Node } from './house.ts'
import { type Cost, measureCost } from './meter.ts'

const webhooks = 100
const eventsUnwanted = 8_000
const eventsWanted = 200
const eventsAlone = 300
const betweenLoneEventsMs = 10
const pollMs = 100
const idleSeconds = 10

/** What a worker may hear that has nothing to do with it. */
const notifications = {
  // A log has grown whose lanes others hold.
  'hear of a log': printNews({ feeds: [{ feed: 999_999_998, head: 1 }], parts: [] }),
  // Somebody without a worker has published: it looks at the part, and finds that others were there.
  'hear of an event': printNews({ feeds: [], parts: [], published: [0] }),
  // A lane was woken: it looks for one that nobody holds.
  'hear of a lane': printNews({ feeds: [], parts: [0] }),
}
const inStatement = 500

const selectUnnumbered = 'SELECT FROM outbox LIMIT 1'
/** Asked seldom, and when everything has arrived: counting costs as much as what is measured. */
const countSettled = 'SELECT count(*)::int AS settled FROM outcomes'

export async function measureDelivering(house: House): Promise<Costs> {
  const stage = openStage()
  try {
    const receiver = await startReceiver(stage)
    const urls = Array.from({ length: webhooks }, (_, index) => `${receiver.origin}/${index}`)
    const nobody = await makeBranch(house, [])
    const busy = await makeBranch(house, urls)
    const lone = await makeBranch(house, [`${receiver.origin}/lone`])
    const worker = await house.startNode(stage, 'worker')
    const costs: Costs = {}
    const note = async (name: string, measure: () => Promise<Cost>) => {
      process.stderr.write(`${name} …\n`)
      costs[name] = await measure()
    }
    await note('number an event', () => measureNumbering(house, worker, nobody, eventsUnwanted))
    await note('number a wanted event', () => measureNumbering(house, worker, busy, eventsUnwanted))
    await note('send and settle', () => measureSending(house, worker, receiver, busy))
    await note('idle second', () => measureIdle(house, worker))
    for (const [name, text] of Object.entries(notifications))
      await note(name, () => measureHearing(house, worker, text))
    const api = await house.startNode(stage, 'api')
    await note('number alone', () => measureAlone(house, worker, api, nobody))
    await note('send and settle alone', () => measureAlone(house, worker, api, lone, receiver))
    return costs
  } finally {
    await stage.close()
  }
}

/** Webhooks are paused: nothing is sent. */
function measureNumbering(house: House, worker: Node, branchId: number, events: number): Promise<Cost> {
  const { db } = house
  let letGo = () => {}
  return measureCost({
    house,
    nodePid: worker.pid,
    async prepare() {
      await pause(db, branchId)
      letGo = await holdParts(db)
      await insertMany(db, branchId, events)
    },
    async work() {
      letGo()
      await untilNumbered(db)
      return events
    },
  })
}

function measureSending(house: House, worker: Node, receiver: Receiver, branchId: number): Promise<Cost> {
  const { db } = house
  const count = eventsWanted * webhooks
  return measureCost({
    house,
    nodePid: worker.pid,
    receiverPid: receiver.pid,
    async prepare() {
      await pause(db, branchId)
      await skip(db, branchId)
      await insertMany(db, branchId, eventsWanted)
      await untilNumbered(db)
      await wait(1_000)
    },
    async work() {
      const before = await readSettled(db)
      await resume(db, branchId)
      await receiver.awaitMore(count)
      await untilSettled(db, before + count)
      return count
    },
  })
}

/** What a node and PostgreSQL spend on each other when there is nothing to do. */
function measureIdle(house: House, worker: Node): Promise<Cost> {
  return measureCost({
    house,
    nodePid: worker.pid,
    async work() {
      await wait(idleSeconds * 1_000)
      return idleSeconds
    },
  })
}

/** What the notification itself costs is in it. */
function measureHearing(house: House, worker: Node, text: string): Promise<Cost> {
  const { db } = house
  return measureCost({
    house,
    nodePid: worker.pid,
    async work() {
      for (let n = 0; n < eventsAlone; n++) {
        await Promise.all([
          db.script(`SELECT pg_notify('countersign_work', '${text}')`),
          wait(betweenLoneEventsMs),
        ])
      }
      return eventsAlone
    },
  })
}

/**
 * One event at a time, far apart: nothing shares a statement with anything. Whoever accepts it has no worker,
 * and tells that of another node.
 */
async function measureAlone(
  house: House,
  worker: Node,
  api: Node,
  branchId: number,
  receiver?: Receiver,
): Promise<Cost> {
  const publisher = await makePublisher(house)
  const wire = await openWire(api.internal, 1)
  try {
    return await measureCost({
      house,
      nodePid: worker.pid,
      async work() {
        const before = await readSettled(house.db)
        const arrived = receiver?.awaitMore(eventsAlone)
        for (let n = 0; n < eventsAlone; n++) {
          await Promise.all([
            wire.send(publishRequest(publisher, [makeEvent(branchId)])),
            wait(betweenLoneEventsMs),
          ])
        }
        await arrived
        await untilNumbered(house.db)
        await untilSettled(house.db, receiver ? before + eventsAlone : before)
        return eventsAlone
      },
    })
  } finally {
    wire.close()
  }
}

async function insertMany(db: Database, branchId: number, count: number): Promise<void> {
  for (let made = 0; made < count; made += inStatement) {
    const events = Array.from({ length: Math.min(inStatement, count - made) }, () => draft(branchId))
    await insertEvents(db, events, new Date())
  }
}

function draft(branchId: number): NewEvent {
  const body = makeEvent(branchId) as { transactionId: number }
  return {
    environment: 'live',
    branchId,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
    entity: `transaction:${body.transactionId}`,
    body: JSON.stringify(body),
    simulated: false,
  }
}

/** Nobody numbers anything until the answer is called. */
async function holdParts(db: Database): Promise<() => void> {
  const held = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  void db.transaction(async (sql) => {
    await sql.script('SELECT FROM parts ORDER BY part FOR NO KEY UPDATE')
    held.resolve()
    await over.promise
  })
  await held.promise
  return over.resolve
}

/** What gathered before is not sent. */
async function skip(db: Database, branchId: number): Promise<void> {
  await db.script(
    `SELECT skip_to_now(part_of(branch_id), id, 'a benchmark', 'bench', now()) FROM webhooks
      WHERE branch_id = ${branchId}`,
  )
}

async function pause(db: Database, branchId: number): Promise<void> {
  await db.script(`UPDATE webhooks SET state = 'paused' WHERE branch_id = ${branchId}; ${followByHand}`)
}

async function resume(db: Database, branchId: number): Promise<void> {
  await db.script(
    `UPDATE webhooks SET state = 'active' WHERE branch_id = ${branchId}; ${followByHand}
      SELECT pg_notify('countersign_work', '*')`,
  )
}

async function untilNumbered(db: Database): Promise<void> {
  while ((await ask(db, selectUnnumbered)).length > 0) await wait(pollMs)
}

async function untilSettled(db: Database, count: number): Promise<void> {
  while ((await readSettled(db)) < count) await wait(pollMs)
}

async function readSettled(db: Database): Promise<number> {
  return (await ask<{ settled: number }>(db, countSettled))[0]!.settled
}
