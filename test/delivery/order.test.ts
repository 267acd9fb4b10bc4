/**
 * Events of one entity arrive in the order they happened; different entities do not wait for each other.
 * order.long.ts has more of them at once.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { second } from '../../src/clock.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { findInversions, finishAll, numbered, read } from '../support/entity-order.ts'
import { eventually } from '../support/eventually.ts'
import { fail, gate } from '../support/receiver.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine({ DATABASE_CONNECTIONS: '10' })
})
afterEach(() => engine.close())

test('SUBMITTED, APPROVED, COMPLETED never arrive inverted, with failures, retries and three workers', async () => {
  await engine.openNode()
  await engine.openNode()
  const paths = ['/a', '/b', '/c', '/d']
  for (const path of paths) {
    await engine.makeWebhook(path)
    engine.receiver.on(path, (request, response) => {
      const { entity, place } = read(request)
      const doomed =
        (Number(entity.split(':')[1]) + place + path.charCodeAt(1)) % 3 === 0 && request.attempt < 3
      response.writeHead(doomed ? 500 : 200).end()
    })
  }
  const names = entities(25).map((draft) => draft.entity!)
  for (const place of [1, 2, 3]) await engine.publish(...names.map((entity) => numbered(entity, place)))
  await finishAll(engine)
  for (const path of paths) {
    assert.deepEqual(findInversions(engine.receiver.at(path)), [])
    assert.equal(new Set(engine.receiver.at(path).map((request) => request.id)).size, 75)
  }
})

test('a stuck entity holds back only itself', async () => {
  await engine.makeWebhook('/a')
  engine.receiver.on('/a', (request, response) => {
    response.writeHead(read(request).entity === 'transaction:stuck' ? 500 : 200).end()
  })
  await engine.publish(numbered('transaction:stuck', 1), numbered('transaction:stuck', 2))
  await engine.publish(...entities(30).map((draft) => numbered(draft.entity!, 1)))
  await engine.receiver.count('/a', 31)
  await engine.idle()
  const stuck = engine.receiver.at('/a').filter((request) => read(request).entity === 'transaction:stuck')
  assert.deepEqual(stuck.map(read), [{ entity: 'transaction:stuck', place: 1 }])
})

/** What went out only when the one that hangs had been given up would be alone. */
const bothUnderWay = () =>
  engine.receiver.until(() => engine.receiver.underWay('/a') === 2, 'two requests at once')

test('while one entity hangs, new events of others go out', async () => {
  await engine.makeWebhook('/a')
  const held = gate()
  engine.receiver.on('/a', held.behaviour)
  await engine.publish(numbered('transaction:hangs', 1))
  await engine.receiver.count('/a', 1)
  await engine.publish(numbered('transaction:other', 1))
  await bothUnderWay()
  held.open()
})

test('while one entity hangs, a redelivery of another goes out', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish(numbered('transaction:done', 1))
  await engine.idle()
  const [done] = await engine.deliveries(webhook)
  const held = gate()
  engine.receiver.on('/a', held.behaviour)
  await engine.publish(numbered('transaction:hangs', 1))
  await engine.receiver.count('/a', 2)
  assert.equal((await engine.call('POST', `/v2/deliveries/${done!.id}/redeliver`)).status, 202)
  await bothUnderWay()
  held.open()
})

test('while one entity hangs, the retry of another goes out when it is due', async () => {
  await engine.makeWebhook('/a')
  engine.receiver.on('/a', fail)
  await engine.publish(numbered('transaction:failed', 1))
  await engine.receiver.count('/a', 1)
  await engine.idle()
  const held = gate()
  engine.receiver.on('/a', held.behaviour)
  await engine.publish(numbered('transaction:hangs', 1))
  await engine.receiver.count('/a', 2)
  engine.house.clock.advance(6 * second)
  await bothUnderWay()
  held.open()
})

test('a replay of an entity keeps its order, also when the first of it fails', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish(...[1, 2, 3].map((place) => numbered('transaction:1', place)))
  await engine.receiver.count('/a', 3)
  await engine.idle()
  engine.receiver.on(
    '/a',
    (request, response) => void response.writeHead(request.attempt < 3 ? 500 : 200).end(),
  )
  const answer = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays`, { entity: 'transaction:1' })
  assert.equal(answer.status, 201)
  await engine.receiver.count('/a', 4)
  await eventually('a finished replay', async () => {
    const { state } = (
      await engine.call('GET', `/v2/webhooks/${webhook.id}/replays/${answer.json().id}`)
    ).json()
    return state === 'finished'
  })
  await finishAll(engine)
  assert.deepEqual(findInversions(engine.receiver.at('/a').slice(3)), [])
})
