/**
 * What a node costs that does nothing but deliver, step by step: numbering events that nobody wants, creating deliveries for webhooks that are
 * paused, and sending and settling what has gathered. Events are made while the bench holds the locks of all parts. Events are published
 * past this node, so that none takes the short cut: that is short-cut.ts.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { type Database, statement } from '../../src/database/database.ts'
import { insertEvents, type NewEvent } from '../../src/webhooks/event.ts'
import { selectPartsWithNews } from '../../src/webhooks/inbox.sql.ts'
import { lockPart } from '../../src/webhooks/part.sql.ts'
import { allParts } from '../../src/webhooks/part.ts'
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
  // Names nobody.
  'hear of nothing': 'delivery  ',
  // Somebody without a worker has published: it looks at all parts, and finds that others were there.
  'hear of an event': 'event',
  // Deliveries of a lane that another one holds: it looks for lanes that nobody does.
  'hear of a delivery': 'delivery  999999999',
}
const inStatement = 500

/** Asked seldom, and only whether: counting would cost as much as what is measured. */
const selectWaiting = statement('bench_waiting', 'SELECT FROM queued_deliveries LIMIT 1')

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
    await note('dispatch an event', () =>
      measureDispatch(house, worker, { branchId: nobody, events: eventsUnwanted, webhooks: 0 }),
    )
    await note('dispatch a delivery', () =>
      measureDispatch(house, worker, { branchId: busy, events: eventsWanted, webhooks }),
    )
    await note('send and settle', () => measureSending(house, worker, receiver, busy))
    await note('idle second', () => measureIdle(house, worker))
    for (const [name, text] of Object.entries(notifications))
      await note(name, () => measureHearing(house, worker, text))
    const api = await house.startNode(stage, 'api')
    await note('dispatch alone', () => measureAlone(house, worker, api, nobody))
    await note('send and settle alone', () => measureAlone(house, worker, api, lone, receiver))
    return costs
  } finally {
    await stage.close()
  }
}

interface Gathering {
  readonly branchId: number
  readonly events: number
  readonly webhooks: number
}

/** Webhooks are paused: deliveries are created and stay. Those of the round before are forgotten. */
function measureDispatch(house: House, worker: Node, { branchId, events, webhooks }: Gathering): Promise<Cost> {
  const { db } = house
  let letGo = () => {}
  return measureCost({
    house,
    nodePid: worker.pid,
    async prepare() {
      await pause(db, branchId)
      await forgetDeliveries(db)
      letGo = await holdDispatch(db)
      await insertMany(db, branchId, events)
    },
    async work() {
      letGo()
      await db.script("SELECT pg_notify('countersign_work', 'event')")
      await until(db, ({ inbox }) => !inbox)
      return events * Math.max(1, webhooks)
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
      await forgetDeliveries(db)
      await insertMany(db, branchId, eventsWanted)
      await until(db, ({ inbox }) => !inbox)
      await wait(1_000)
    },
    async work() {
      await resume(db, branchId)
      await receiver.awaitMore(count)
      await until(db, ({ waiting }) => !waiting)
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
        await Promise.all([db.script(`SELECT pg_notify('countersign_work', '${text}')`), wait(betweenLoneEventsMs)])
      }
      return eventsAlone
    },
  })
}

/** One event at a time, far apart: nothing shares a statement with anything. Whoever accepts it has no worker, and tells that of another node. */
async function measureAlone(
  house: House,
  worker: Node,
  api: Node,
  branchId: number,
  receiver?: Receiver,
): Promise<Cost> {
  const publisher = await makePublisher(house)
  const wire = await openWire(api.origin, 1)
  try {
    return await measureCost({
      house,
      nodePid: worker.pid,
      async work() {
        const arrived = receiver?.awaitMore(eventsAlone)
        for (let n = 0; n < eventsAlone; n++) {
          await Promise.all([wire.send(publishRequest(publisher, [makeEvent(branchId)])), wait(betweenLoneEventsMs)])
        }
        await arrived
        await until(house.db, ({ inbox, waiting }) => !inbox && !waiting)
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

/** Nobody dispatches or settles until the answer is called. */
async function holdDispatch(db: Database): Promise<() => void> {
  const held = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  void db.transaction(async (sql) => {
    for (const part of allParts) await sql.query(lockPart, [part])
    held.resolve()
    await over.promise
  })
  await held.promise
  return over.resolve
}

async function forgetDeliveries(db: Database): Promise<void> {
  await db.script('DELETE FROM queued_deliveries; DELETE FROM settled_deliveries')
  await db.script('VACUUM queued_deliveries, settled_deliveries')
}

async function pause(db: Database, branchId: number): Promise<void> {
  await db.script(`UPDATE webhooks SET state = 'paused' WHERE branch_id = ${branchId}`)
}

async function resume(db: Database, branchId: number): Promise<void> {
  await db.script(
    `UPDATE webhooks SET state = 'active' WHERE branch_id = ${branchId};
     UPDATE lanes SET attention_at = now(), has_news = false FROM webhooks w
     WHERE w.id = webhook_id AND w.branch_id = ${branchId} AND claim_id IS NULL;
     SELECT pg_notify('countersign_work', 'delivery')`,
  )
}

interface Left {
  readonly inbox: boolean
  readonly waiting: boolean
}

async function until(db: Database, isSo: (left: Left) => boolean): Promise<void> {
  for (;;) {
    const inbox = (await db.query(selectPartsWithNews)).length > 0
    const waiting = (await db.query(selectWaiting)).length > 0
    if (isSo({ inbox, waiting })) return
    await wait(pollMs)
  }
}
