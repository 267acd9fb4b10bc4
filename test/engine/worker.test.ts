import assert from 'node:assert/strict'
import { after, test } from 'node:test'
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
  worker.published([branch % 16])
  const outcomes = () =>
    house.sql<{ seq: number; state: string }>('SELECT seq, state FROM outcomes WHERE webhook_id = $1 ORDER BY seq', [
      webhook,
    ])
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
    house.receiver.received.filter(({ path }) => path === '/failing').filter(({ body }) => body.includes('bad'))
      .length === 1
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
  assert.deepEqual(await house.sql('SELECT entity, seq, attempts FROM exceptions WHERE webhook_id = $1', [webhook]), [
    { entity: 'bad', seq: 1, attempts: 1 },
  ])
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
