/** What a node does is what its roles say. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { send } from '../support/browser.ts'
import { type Engine, openEngine } from '../support/engine.ts'

let engine: Engine

before(async () => {
  engine = await openEngine({ ROLES: 'api' })
})
after(() => engine.close())

test('a node that is a worker alone answers nothing but how it is, and delivers what others accepted', async () => {
  const webhook = await engine.makeWebhook('/hook')
  await engine.publish({ entity: 'transaction:1' })
  const worker = await engine.openNode({ ROLES: 'worker' })
  await engine.receiver.until(() => engine.receiver.at('/hook').length === 1, 'the delivery')
  await engine.idle()
  assert.deepEqual(
    (await engine.deliveries(webhook)).map(({ state }) => state),
    ['delivered'],
  )
  for (const path of ['/healthz', '/readyz']) assert.equal((await send(worker.baseUrl + path)).status, 200)
  for (const path of ['/v1/user/profile', '/login', '/openapi.json', '/internal/v1/events'])
    assert.equal((await send(worker.baseUrl + path)).status, 404, path)
})
