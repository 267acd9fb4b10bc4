/**
 * What can happen to a Citus under load: a worker is killed, stands still or is away for a while, a shard
 * moves, the coordinator is killed. Nothing is lost, nothing overtakes, no number is missing; others go on.
 * Run by `npm run test:citus`, whose servers are this machine's: they are stopped by their process ids.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { findEntries } from '../../src/audit/audit.ts'
import { toProblem } from '../../src/http/errors.ts'
import { getDelivery, redeliver } from '../../src/webhooks/deliveries/delivery.ts'
import { printDeliveryId } from '../../src/webhooks/engine/delivery-id.ts'
import { allParts, feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { findBroken, printBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import { readLaneStates } from '../../src/webhooks/health/lane-state.ts'
import {
  deleteWebhook,
  listWebhooks,
  setWebhookState,
  type Webhook,
} from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { send } from '../support/browser.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { findInversions, numbered } from '../support/entity-order.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { findCoordinator, findPartServers, goOn, restart, type Server, standStill, stop } from './servers.ts'

const transactionBody = {
  ...{ clearingAccount: '1234', type: 'TRANSACTION', action: 'SUBMITTED', email: 'a@example.com' },
  ...{ amount: 5, direction: 'DEPOSIT' },
}

let engine: Engine
beforeEach(async () => {
  engine = await openEngine()
})
afterEach(() => engine.close())

/** A branch, with a webhook, on each of the two workers. */
async function openBranches() {
  const servers = await findPartServers(engine.sql)
  const [first, second] = [...new Set(servers.map(({ pid }) => pid))].map(
    (pid) => servers.find((each) => each.pid === pid)!,
  )
  const branches = await Promise.all([first!, second!].map(({ part }) => makeBranch(part)))
  return { here: { ...first!, ...branches[0]! }, there: { ...second!, ...branches[1]! } }
}

async function makeBranch(part: number): Promise<{ branchId: number; path: string; webhookId: number }> {
  let { branchId } = await engine.house.makePartner()
  while (partOf(branchId) !== part) branchId = (await engine.house.makePartner()).branchId
  const path = `/${part}-${branchId}`
  const { id } = await engine.makeWebhook(path, { branchId })
  return { branchId, path, webhookId: id }
}

interface Load {
  readonly published: number
  stop(): Promise<number>
}

/** Publishes for one branch, one after the other, until it is told to stop. Answers how many. */
function publishTo(branchId: number, pauseMs = 5): Load {
  let published = 0
  let isOver = false
  const publishing = (async () => {
    while (!isOver) {
      const entities = [1, 2, 3].map((entity) => `transaction:${entity}`)
      const place = Math.floor(published / 3) + 1
      await engine.publish(...entities.map((entity) => ({ ...numbered(entity, place), branchId })))
      published += 3
      await wait(pauseMs)
    }
  })()
  return {
    get published() {
      return published
    },
    async stop() {
      isOver = true
      await publishing
      return published
    },
  }
}

async function arrives(path: string, count: number, isFromFirst = true): Promise<void> {
  await eventually(`${count} events at ${path}`, () => idsAt(path).size >= count)
  assert.equal(idsAt(path).size, count)
  assert.deepEqual(findInversions(engine.receiver.at(path), isFromFirst), [])
}

const idsAt = (path: string) => new Set(engine.receiver.at(path).map(({ id }) => id))

async function promisesHold(): Promise<void> {
  await eventually(
    'nothing is on its way',
    async () => (await engine.sql('SELECT id FROM outbox')).length === 0,
  )
  const broken = await findBroken(engine.db, engine.house.clock.now(), wholeScope())
  assert.deepEqual(broken.map(printBroken), [])
}

/** What is under way at a fault may come twice: of each webhook ten attempts at once. */
function duplicatesAt(path: string): number {
  return engine.receiver.at(path).length - idsAt(path).size
}

async function beside(work: (server: Server) => Promise<void>): Promise<void> {
  const { here, there } = await openBranches()
  const loads = [publishTo(here.branchId), publishTo(there.branchId)] as const
  await eventually('both arrive', () => [here, there].every(({ path }) => idsAt(path).size > 30))
  await work(here)
  await wait(500)
  const [before, after] = [await loads[0].stop(), await loads[1].stop()]
  await arrives(here.path, before)
  await arrives(there.path, after)
  assert.ok(duplicatesAt(here.path) <= 40, `${duplicatesAt(here.path)} duplicates`)
  await promisesHold()
}

test('a worker is killed while events are published, numbered, sent and settled: all arrive, in order, once it is back', () =>
  beside(async (server) => {
    await stop(server, 'immediate')
    await wait(1_000)
    await restart(server)
  }))

test('a worker that is away for a minute has everything in order when it is back, and the others have missed nothing', async () => {
  const { here, there } = await openBranches()
  const loads = [publishTo(here.branchId, 100), publishTo(there.branchId, 100)] as const
  await eventually('both arrive', () => [here, there].every(({ path }) => idsAt(path).size > 10))
  await stop(here, 'immediate')
  for (let seconds = 0; seconds < 60; seconds += 10) {
    const [arrived, published] = [idsAt(there.path).size, loads[0].published]
    await wait(10_000)
    assert.ok(idsAt(there.path).size > arrived, `the others go on, second ${seconds}`)
    assert.ok(loads[0].published > published, `it can be published, second ${seconds}`)
  }
  await restart(here)
  const counts = [await loads[0].stop(), await loads[1].stop()]
  await arrives(here.path, counts[0]!)
  await arrives(there.path, counts[1]!)
  await promisesHold()
})

const stages = ['made', 'paused', 'resumed', 'deleted'] as const

async function findWebhookAt(branchId: number, path: string): Promise<Webhook | undefined> {
  const webhooks = await listWebhooks(engine.db, { branchId, environment: 'live' }, 0, 100)
  return webhooks.find(({ url }) => url === engine.receiver.url(path))
}

async function bring(branchId: number, path: string, stage: (typeof stages)[number]): Promise<void> {
  const webhook = await findWebhookAt(branchId, path)
  const act = engine.house.act()
  if (stage === 'made' && !webhook) await engine.makeWebhook(path, { branchId })
  if (stage === 'paused') await setWebhookState(engine.db, webhook!, 'paused', act)
  if (stage === 'resumed') await setWebhookState(engine.db, webhook!, 'active', act)
  if (stage === 'deleted' && webhook) await deleteWebhook(engine.db, webhook, act)
}

/**
 * Makes a webhook, pauses it, resumes it, deletes it, and begins anew, until it is told to stop: then it goes on
 * to this stage, and answers where the webhook is. An act that failed is tried again: it may have happened.
 */
function actOn(branchId: number, last: (typeof stages)[number]) {
  let done = 0
  let isOver = false
  const acting = (async () => {
    for (let round = 1; ; round++)
      for (const stage of stages) {
        const path = `/${last}-${round}`
        const isDone = () =>
          bring(branchId, path, stage).then(
            () => true,
            () => false,
          )
        await eventually(`it is ${stage}`, isDone)
        done++
        if (isOver && stage === last) return path
      }
  })()
  return {
    get done() {
      return done
    },
    stop() {
      isOver = true
      return acting
    },
  }
}

/** Each cursor is what the configuration of its webhook says, and those that are deleted have none. */
async function cursorsFollow({ branchId, part }: { branchId: number; part: number }): Promise<void> {
  await eventually(
    'every act is followed',
    async () => (await engine.sql('SELECT id FROM outbox_acts')).length === 0,
  )
  const wanted = await engine.sql(
    `SELECT id, state = 'active' AS open, kinds, actions FROM webhooks
      WHERE branch_id = $1 AND state <> 'deleted' ORDER BY id`,
    [branchId],
  )
  const cursors = await engine.sql(
    `SELECT webhook_id AS id, is_open AS open, kinds, actions FROM cursors
      WHERE part = $1 AND feed = $2 ORDER BY webhook_id`,
    [part, feedOf({ branchId, environment: 'live' })],
  )
  assert.deepEqual(cursors, wanted)
}

test('a worker is killed while webhooks are made, paused, resumed and deleted: cursors follow the configuration, and each has all from its first number on', async () => {
  const { here } = await openBranches()
  const load = publishTo(here.branchId)
  const acts = stages.map((last) => actOn(here.branchId, last))
  const count = () => acts.reduce((sum, { done }) => sum + done, 0)
  const goesOn = async (what: string) => {
    const before = count()
    await eventually(what, () => count() > before + 12)
  }
  for (let kill = 1; kill <= 3; kill++) {
    await goesOn('webhooks change')
    await stop(here, 'immediate')
    await goesOn('webhooks change while it is away')
    await restart(here)
  }
  await goesOn('webhooks change when it is back')
  const [made, paused, resumed, deleted] = await Promise.all(acts.map((each) => each.stop()))
  const published = load.published
  await eventually('each has something', () => load.published > published + 3)
  await arrives(here.path, await load.stop())
  await cursorsFollow(here)
  assert.equal(await findWebhookAt(here.branchId, deleted!), undefined)
  await bring(here.branchId, paused!, 'resumed')
  await engine.idle()
  await cursorsFollow(here)
  const [newest] = await engine.sql<{ seq: number }>('SELECT max(seq) AS seq FROM log WHERE part = $1', [
    here.part,
  ])
  for (const path of [made!, paused!, resumed!]) {
    const deliveries = await engine.deliveries((await findWebhookAt(here.branchId, path))!)
    const first = deliveries[0]!.seq
    assert.deepEqual(
      deliveries.map(({ seq, state }) => [seq, state]),
      deliveries.map((_, place) => [first + place, 'delivered']),
    )
    assert.equal(deliveries.at(-1)!.seq, newest!.seq)
    await arrives(path, deliveries.length, false)
  }
  await promisesHold()
})

test('while a worker is away its branches wait and all others go on; publishing goes on for all, and it is said which parts are away', async () => {
  const { here, there } = await openBranches()
  await stop(here, 'immediate')
  const loads = [publishTo(here.branchId), publishTo(there.branchId)] as const
  await eventually('the others go on', () => idsAt(there.path).size > 60)
  await eventually('it can be published', () => loads[0].published > 60)
  assert.equal(idsAt(here.path).size, 0)
  const ready = await send(`${engine.house.baseUrl}/readyz`)
  const { status, partsAway } = ready.json<{ status: string; partsAway: number[] }>()
  assert.equal(status, 'ready')
  assert.ok(partsAway.includes(here.part) && !partsAway.includes(there.part), JSON.stringify(partsAway))
  const states = readLaneStates(engine.db, engine.house.clock.now(), [
    { id: here.webhookId, branchId: here.branchId },
  ])
  const page = await states.catch((error: unknown) => error)
  assert.ok(page instanceof Error)
  assert.match(toProblem(page).message, /The server that keeps these events does not answer/)
  const counts = [await loads[0].stop(), await loads[1].stop()]
  await restart(here)
  await arrives(here.path, counts[0]!)
  await arrives(there.path, counts[1]!)
  assert.deepEqual((await send(`${engine.house.baseUrl}/readyz`)).json(), { status: 'ready' })
  await promisesHold()
})

test('while a worker stands still, as one behind a broken network does, all others go on, and it is said', async () => {
  const { here, there } = await openBranches()
  const loads = [publishTo(here.branchId), publishTo(there.branchId)] as const
  await eventually('both arrive', () => [here, there].every(({ path }) => idsAt(path).size > 30))
  await standStill(here)
  try {
    for (let n = 0; n < 10; n++) {
      const [arrived, published] = [idsAt(there.path).size, loads[0].published]
      await wait(1_000)
      assert.ok(idsAt(there.path).size > arrived, `the others go on, second ${n}`)
      assert.ok(loads[0].published > published, `it can be published, second ${n}`)
      const ready = await send(`${engine.house.baseUrl}/readyz`)
      assert.equal(ready.status, 200)
      const { partsAway } = ready.json<{ partsAway: number[] }>()
      assert.ok(partsAway.includes(here.part) && !partsAway.includes(there.part), JSON.stringify(partsAway))
    }
  } finally {
    await goOn(here)
  }
  const counts = [await loads[0].stop(), await loads[1].stop()]
  await arrives(here.path, counts[0]!)
  await arrives(there.path, counts[1]!)
  await promisesHold()
})

test('acts while the worker is away are followed when it is back, in their order with what is published', async () => {
  const { here } = await openBranches()
  await stop(here, 'immediate')
  await engine.makeWebhook('/made', { branchId: here.branchId })
  await engine.publish({ ...numbered('transaction:9', 1), branchId: here.branchId })
  await restart(here)
  await arrives('/made', 1)
  await arrives(here.path, 1)
  await promisesHold()
})

test('a shard that is moved under load keeps nobody waiting for long, and sessions follow it', async () => {
  const { here, there } = await openBranches()
  const load = publishTo(here.branchId)
  await eventually('it arrives', () => idsAt(here.path).size > 30)
  const [shard] = await engine.sql<{ id: number }>(
    `SELECT get_shard_id_for_distribution_column('parts', $1::int) AS id`,
    [here.part],
  )
  await engine.sql(`SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'force_logical')`, [
    ...[shard!.id, here.host, here.port, there.host, there.port],
  ])
  await wait(1_000)
  await arrives(here.path, await load.stop())
  const moved = (await findPartServers(engine.sql)).find(({ part }) => part === here.part)!
  assert.equal(moved.port, there.port)
  await engine.publish({ ...numbered('transaction:8', 1), branchId: here.branchId })
  await eventually('what came after', () => idsAt(here.path).size === load.published + 1)
  await promisesHold()
})

test('every part has a server, and they are on both', async () => {
  const servers = await findPartServers(engine.sql)
  assert.deepEqual(servers.map(({ part }) => part).sort(), [...allParts])
  assert.equal(new Set(servers.map(({ port }) => port)).size, 2)
})

test('a coordinator that is killed while a brokerage writes and publishes has both or neither, and deliveries go on', async () => {
  const { here } = await openBranches()
  const coordinator = await findCoordinator(engine.sql)
  await engine.sql('CREATE TABLE orders (id integer PRIMARY KEY)')
  const write = async (id: number) =>
    engine.db.transaction(async (sql) => {
      const body = JSON.stringify({ ...transactionBody, transactionId: id, branchId: here.branchId })
      await ask(sql, 'INSERT INTO orders VALUES ($1)', [id])
      await ask(sql, `SELECT publish_event('live', $1, 'TRANSACTION', 'SUBMITTED', $2, $3)`, [
        ...[here.branchId, String(id), body],
      ])
    })
  let isOver = false
  const writing = (async () => {
    for (let id = 1; !isOver; id++) await write(id).catch(() => wait(20))
  })()
  await eventually('some arrive', () => idsAt(here.path).size > 20)
  await stop(coordinator, 'immediate')
  await wait(500)
  await restart(coordinator)
  await wait(1_500)
  isOver = true
  await writing
  const [orders] = await eventually('it answers', () =>
    engine.sql<{ count: number }>('SELECT count(*) FROM orders').catch(() => undefined),
  )
  await eventually('each order has arrived', () => idsAt(here.path).size >= orders!.count)
  assert.equal(idsAt(here.path).size, orders!.count)
  await promisesHold()
})

test('a transaction that is refused when it commits has published nothing', async () => {
  const { here } = await openBranches()
  await engine.sql('CREATE TABLE ledger (id integer PRIMARY KEY, amount integer)')
  await engine.sql('INSERT INTO ledger VALUES (1, 0), (2, 0)')
  const move = (from: number, to: number, id: number) =>
    engine.db.transaction(async (sql) => {
      await ask(sql, 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE')
      await ask(sql, 'SELECT amount FROM ledger WHERE id = $1', [from])
      await ask(sql, 'UPDATE ledger SET amount = amount + 1 WHERE id = $1', [to])
      const body = JSON.stringify({ ...transactionBody, transactionId: id, branchId: here.branchId })
      await ask(sql, `SELECT publish_event('live', $1, 'TRANSACTION', 'SUBMITTED', $2, $3)`, [
        ...[here.branchId, String(id), body],
      ])
      await wait(50)
    })
  let committed = 0
  for (let round = 0; round < 5; round++) {
    const moves = await Promise.allSettled([move(1, 2, 2 * round + 1), move(2, 1, 2 * round + 2)])
    committed += moves.filter(({ status }) => status === 'fulfilled').length
  }
  assert.ok(committed < 10, 'some were refused')
  await arrives(here.path, committed)
})

test('an act that is written down with its part is there whole or not at all, whenever the coordinator is killed', async () => {
  const { here } = await openBranches()
  const coordinator = await findCoordinator(engine.sql)
  await engine.publish({ ...numbered('transaction:1', 1), branchId: here.branchId })
  await arrives(here.path, 1)
  const branch = { branchId: here.branchId, environment: 'live' as const }
  const name = printDeliveryId({ webhookId: here.webhookId, seq: 1, round: 0 })
  await engine.idle()
  const sent = await getDelivery(engine.db, branch, name)
  assert.equal(sent.state, 'delivered')
  let asked = 0
  const asking = (async () => {
    for (; asked < 40; asked++)
      await redeliver(engine.db, here.branchId, sent, engine.house.act()).catch(() => wait(30))
  })()
  await eventually('some were asked for', () => asked > 10)
  await stop(coordinator, 'immediate')
  await restart(coordinator)
  await asking
  await eventually('what was in doubt is decided', async () => {
    const entries = await findEntries(engine.db, { action: 'webhook.redelivered', limit: 500 })
    const [cursor] = await engine.sql<{ rounds: number }>(
      'SELECT rounds FROM cursors WHERE part = $1 AND webhook_id = $2',
      [here.part, here.webhookId],
    )
    return entries.length === cursor!.rounds && entries.length > 10
  })
})

test('while the coordinator is away, deliveries under way go on and are written down', async () => {
  const { here } = await openBranches()
  const coordinator = await findCoordinator(engine.sql)
  const waiting: (() => void)[] = []
  engine.receiver.on(here.path, (_, response) => {
    waiting.push(() => response.writeHead(200).end())
  })
  await engine.publish(
    ...[1, 2, 3].map((entity) => ({ ...numbered(`transaction:${entity}`, 1), branchId: here.branchId })),
  )
  await eventually('all are under way', () => waiting.length === 3)
  const worker = await keepOpen(openLenientDatabase({ connectionString: urlAt(here), connections: 1 }))
  await stop(coordinator, 'immediate')
  for (const answer of waiting) answer()
  await eventually('their outcomes', async () => {
    const rows = await ask(worker, 'SELECT seq FROM outcomes WHERE part = $1 AND webhook_id = $2', [
      ...[here.part, here.webhookId],
    ])
    return rows.length === 3
  })
  await restart(coordinator)
  await promisesHold()
  assert.equal(engine.receiver.at(here.path).length, 3)
})

function urlAt({ host, port }: Server): string {
  const url = new URL(engine.house.databaseUrl)
  url.hostname = host
  url.port = String(port)
  return url.href
}
