/**
 * What can happen to a Citus under load: a worker is killed, stands still or is away for a while, a shard
 * moves, the coordinator is killed. Nothing is lost, nothing overtakes, no number is missing; others go on.
 * Run by `npm run test:citus`, whose servers are this machine's: they are stopped by their process ids.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { allParts, partOf } from '../../src/webhooks/events/part.ts'
import { findBroken, printBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import { send } from '../support/browser.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { findInversions, numbered } from '../support/entity-order.ts'
import { eventually } from '../support/eventually.ts'
import { findPartServers, restart, type Server, stop } from './servers.ts'

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
function publishTo(branchId: number): Load {
  let published = 0
  let isOver = false
  const publishing = (async () => {
    while (!isOver) {
      const entities = [1, 2, 3].map((entity) => `transaction:${entity}`)
      const place = Math.floor(published / 3) + 1
      await engine.publish(...entities.map((entity) => ({ ...numbered(entity, place), branchId })))
      published += 3
      await wait(5)
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

async function arrives(path: string, count: number): Promise<void> {
  await eventually(`${count} events at ${path}`, () => idsAt(path).size >= count)
  assert.equal(idsAt(path).size, count)
  assert.deepEqual(findInversions(engine.receiver.at(path)), [])
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
  const counts = [await loads[0].stop(), await loads[1].stop()]
  await restart(here)
  await arrives(here.path, counts[0]!)
  await arrives(there.path, counts[1]!)
  assert.deepEqual((await send(`${engine.house.baseUrl}/readyz`)).json(), { status: 'ready' })
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
