/**
 * What busy, failing and poisoned neighbours cost. Judged by what is done before what, by rows and by the
 * clock of the test, never by time.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { pino } from 'pino'
import { minute } from '../../src/clock.ts'
import { allParts, partOf } from '../../src/webhooks/events/part.ts'
import { Sequencer } from '../../src/webhooks/events/sequencer.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { fail } from '../support/receiver.ts'

let engine: Engine
afterEach(() => engine.close())

/** The last of them share their parts with the first. */
async function makeBranches(count: number): Promise<number[]> {
  const branches: number[] = []
  while (branches.length < count) branches.push((await engine.house.makePartner()).branchId)
  return branches
}

test('beside two branches that have more to number than one look takes, each other branch has its turn', async () => {
  engine = await openEngine({ ROLES: 'api' })
  const [busy, alsoBusy, ...quiet] = await makeBranches(allParts.length)
  const fill = (branchId: number, events: number) =>
    engine.sql(
      `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
       SELECT part_of($1), feed_of($1, 'live'), $2, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}'
         FROM generate_series(1, $3::int) n`,
      [branchId, engine.house.clock.now(), events],
    )
  // Where parts lie on other servers, what the branches became is carried there first, an act a look.
  for (const part of allParts) await engine.house.gateway.context.numbering.number(part)
  for (const branchId of [busy!, alsoBusy!]) await fill(branchId, 10_000)
  for (const branchId of quiet) await fill(branchId, 1)
  const looked: number[] = []
  const all = new Set(quiet.map(partOf))
  const sequencer: Sequencer = new Sequencer({
    db: engine.db,
    clock: engine.house.clock,
    log: pino({ level: 'silent' }),
    numbered({ part }) {
      looked.push(part)
      all.delete(part)
      if (all.size === 0) sequencer.close()
    },
  })
  for (const branchId of [busy!, alsoBusy!, ...quiet]) sequencer.wake(partOf(branchId))
  await Promise.all([sequencer.run(), sequencer.run()])
  // One look of each, one more of each that is busy, and what the other of the two had begun.
  assert.ok(looked.length <= quiet.length + 2 + 2, `${looked.length} looks: ${looked}`)
})

test('beside two branches that publish without pause, what others publish is numbered, sent and settled', async () => {
  engine = await openEngine()
  const [busy, alsoBusy, ...quiet] = await makeBranches(2 * allParts.length)
  const { receiver } = engine
  let isOver = false
  let published = 0
  for (const branchId of [busy!, alsoBusy!]) {
    const path = `/busy-${branchId}`
    await engine.makeWebhook(path, { branchId })
    const publish = () => engine.publish({ branchId, entity: `transaction:${++published}` })
    // Each that arrives makes the next: there are always some to number, to send and to settle.
    receiver.on(path, (_, response) => {
      response.end()
      if (!isOver) publish().catch(() => {})
    })
    for (let line = 0; line < 40; line++) await publish()
  }
  const webhooks: Webhook[] = []
  for (const branchId of quiet) webhooks.push(await engine.makeWebhook(`/quiet-${branchId}`, { branchId }))
  for (let round = 0; round < 3; round++) {
    for (const branchId of quiet) await engine.publish({ branchId, entity: `transaction:quiet-${round}` })
    await eventually('all of them settled', async () => {
      const states = await Promise.all(webhooks.map((webhook) => engine.deliveries(webhook)))
      return states.every((of) => of.length === round + 1 && of.every(({ state }) => state === 'delivered'))
    })
  }
  const before = published
  await receiver.until(() => published > before + 10, 'the two are still at it')
  isOver = true
})

test('behind 24 entities that are always refused, something healthy waits for two probes at most', async () => {
  engine = await openEngine()
  const webhook = await engine.makeWebhook('/a')
  const { receiver, house } = engine
  receiver.on(
    '/a',
    ({ body }, response) => void response.writeHead(body.includes('poison') ? 500 : 200).end(),
  )
  await engine.publish(...entities(24, 'poison'))
  const made = async () => (await engine.attempts(webhook)).length
  /** One attempt more, written down. */
  async function probe(): Promise<void> {
    const before = await made()
    house.clock.advance(minute)
    await engine.wake()
    await eventually('a probe', async () => (await made()) > before && (await isStill()))
  }
  const isStill = async () => (await made()) === receiver.at('/a').length
  await eventually(
    'an open breaker',
    async () => (await engine.cursor(webhook)).failures >= 10 && (await isStill()),
  )
  for (let probes = 0; (await engine.sql('SELECT FROM exceptions')).length < 24; probes++) {
    assert.ok(probes < 60, 'something new has its turn')
    await probe()
  }
  const attempts = await made()
  await engine.publish({ entity: 'transaction:healthy' })
  const isHealthy = () => receiver.at('/a').some(({ body }) => body.includes('healthy'))
  for (let probes = 0; !isHealthy() && probes < 2; probes++) await probe()
  assert.ok(isHealthy(), `${receiver.at('/a').length - attempts} others went before it`)
})

test('lanes of a hundred webhooks with open breakers are not written to for what is published, and a neighbour in their part is served', async () => {
  engine = await openEngine()
  const { receiver } = engine
  receiver.otherwise = fail
  receiver.on('/neighbour', (_, response) => void response.end())
  for (let n = 0; n < 100; n++) await engine.makeWebhook(`/failing-${n}`)
  await engine.publish(...entities(30, 'first'))
  const attempts = async () => (await engine.sql('SELECT FROM outcomes WHERE status = 500')).length
  await eventually('a hundred open breakers, nothing under way, and positions written', async () => {
    const [row] = await engine.sql<{ open: number }>(
      `SELECT count(*)::int AS open FROM cursors c WHERE failures >= 10
         AND position = (SELECT max(seq) FROM outcomes o
           WHERE o.part = c.part AND o.webhook_id = c.webhook_id)`,
    )
    return row!.open === 100 && (await attempts()) === receiver.received.length
  })
  let neighbour = engine.branchId
  while (neighbour === engine.branchId || partOf(neighbour) !== partOf(engine.branchId))
    neighbour = (await engine.house.makePartner()).branchId
  await engine.makeWebhook('/neighbour', { branchId: neighbour })
  const written = async () =>
    (
      await engine.sql<{ row: string }>(
        `SELECT webhook_id || ' ' || xmin || ' ' || ctid AS row FROM cursors WHERE failures > 0
          ORDER BY webhook_id`,
      )
    ).map(({ row }) => row)
  const [before, made] = [await written(), await attempts()]
  for (let n = 1; n <= 20; n++) {
    await engine.publish({ entity: `transaction:${n}` }, { entity: `transaction:${n}`, branchId: neighbour })
    await receiver.count('/neighbour', n)
  }
  assert.deepEqual(await written(), before)
  assert.equal(await attempts(), made, 'nothing is sent before the next probe')
})
