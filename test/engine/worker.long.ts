import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { slotMs } from '../../src/webhooks/engine/attempt-slots.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { eventually } from '../support/eventually.ts'
import { fail } from '../support/receiver.ts'
import { openEngineHouse } from './house.ts'

const house = await openEngineHouse()
after(() => house.close())
const worker = await house.openWorker()

test('what is published is numbered, sent in the order of each entity, and written down', async () => {
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/plain')
  await house.publish(branch, ['a', 'b', 'a', 'a', 'c'])
  worker.published([partOf(branch)])
  const outcomes = () =>
    house.sql<{ seq: number; state: string }>(
      'SELECT seq, state FROM outcomes WHERE webhook_id = $1 ORDER BY seq',
      [webhook],
    )
  await eventually('five outcomes', async () => (await outcomes()).length === 5)
  assert.deepEqual(
    await outcomes(),
    [1, 2, 3, 4, 5].map((seq) => ({ seq, state: 'delivered' })),
  )
  const seen = house.receiver.received
    .filter(({ path }) => path === '/plain')
    .map(({ body }) => JSON.parse(body).entity)
  assert.deepEqual(seen.toSorted(), ['a', 'a', 'a', 'b', 'c'])
})

test('an entity that fails holds back itself alone, and goes on in its order when it is accepted', async () => {
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/failing')
  house.receiver.on('/failing', (request, response, socket) =>
    request.body.includes('bad') &&
    request.attempt === 1 &&
    !request.body.includes('x') &&
    house.receiver.received
      .filter(({ path }) => path === '/failing')
      .filter(({ body }) => body.includes('bad')).length === 1
      ? fail(request, response, socket)
      : void response.end(),
  )
  await house.publish(branch, ['bad', 'good', 'bad', 'bad', 'good'])
  const states = () =>
    house.sql<{ seq: number; state: string }>(
      `SELECT seq, state FROM outcomes WHERE webhook_id = $1 AND state <> 'retrying' ORDER BY seq`,
      [webhook],
    )
  await eventually('the good ones', async () => (await states()).length === 2)
  assert.deepEqual(
    await house.sql('SELECT entity, seq, attempts FROM exceptions WHERE webhook_id = $1', [webhook]),
    [{ entity: 'bad', seq: 1, attempts: 1 }],
  )
  house.clock.advance(10_000)
  await eventually('all of them', async () => (await states()).length === 5)
  const order = house.receiver.received
    .filter(({ path }) => path === '/failing')
    .map(({ body, attempt }) => `${JSON.parse(body).entity}${attempt}`)
  assert.deepEqual(
    order.filter((each) => each.startsWith('bad')),
    ['bad1', 'bad2', 'bad1', 'bad1'],
  )
  assert.deepEqual(await house.sql('SELECT FROM exceptions'), [])
})

test('a lane that waits for its turn sends nothing while it is being read anew: its webhook may be paused by now', async () => {
  const [crowd, branch] = [await house.makeBranch(), await house.makeBranch()]
  await house.sql(
    `INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
     SELECT $1, 'live', $2, '{TRANSACTION}', now(), now() FROM generate_series(1, 300)`,
    [crowd, house.receiver.url('/crowd')],
  )
  const webhook = await house.makeWebhook(branch, '/turn')
  const arrived = (path: string) => house.receiver.received.filter((request) => request.path === path).length
  const publish = async (branchId: number, entities: readonly string[]) => {
    await house.publish(branchId, entities)
    worker.published([partOf(branchId)])
  }
  await publish(crowd, ['first'])
  await publish(branch, ['first'])
  await eventually('every lane is held', () => arrived('/crowd') === 300 && arrived('/turn') === 1)
  // Longer than an attempt keeps its slot.
  house.receiver.on('/crowd', (_, response) => void setTimeout(() => response.end(), 2 * slotMs))
  const open = (isOpen: boolean) =>
    house.sql(`SELECT open_cursors($1, ARRAY[$2::bigint], $3), announce('webhook:' || $2)`, [
      partOf(branch),
      webhook,
      isOpen,
    ])
  /** Paused while the crowd is served; answers when it was sent, seen from there. */
  const pauseInTurn = async (round: number) => {
    const served = arrived('/crowd')
    await publish(
      crowd,
      Array.from({ length: 10 }, (_, n) => `crowd ${round} ${n}`),
    )
    await eventually('no room is left', () => arrived('/crowd') >= served + 100)
    await publish(branch, [`turn ${round}`])
    await eventually('it is numbered', async () => (await house.sql('SELECT FROM outbox')).length === 0)
    const read = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const reading = house.db.transaction(async (sql) => {
      await sql.script('LOCK TABLE agains IN ACCESS EXCLUSIVE MODE')
      locked.resolve()
      await read.promise
    })
    await locked.promise
    await open(false)
    await house.untilBlocked()
    house.clock.advance(1_000)
    const paused = house.clock.now()
    await eventually('everybody has had a turn', () => arrived('/crowd') === served + 3_000)
    read.resolve()
    await reading
    const sent = house.attempts.filter(
      ({ delivery }) => delivery.webhookId === webhook && delivery.event.entity === `turn ${round}`,
    )
    if (sent.length === 0) return 'never'
    return sent.some(({ at }) => at >= paused) ? 'while it was read' : 'before'
  }
  // Where its turn came before it was paused, nothing is seen: it is tried again.
  let sent = await pauseInTurn(0)
  for (let round = 1; sent === 'before' && round < 10; round++) {
    await open(true)
    sent = await pauseInTurn(round)
  }
  assert.equal(sent, 'never')
})
