/** What a node does is what its roles say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from '../support/browser.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))

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
  for (const url of [worker.baseUrl, worker.internalUrl])
    for (const path of ['/healthz', '/readyz']) assert.equal((await send(url + path)).status, 200)
  for (const path of ['/v1/user/profile', '/login', '/openapi.json'])
    assert.equal((await send(worker.baseUrl + path)).status, 404, path)
  assert.equal((await send(`${worker.internalUrl}/internal/v1/events`)).status, 404)
})
