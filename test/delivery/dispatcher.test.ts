/** How much one dispatch takes: whoever settles in the same part waits for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDispatcher } from '../../src/webhooks/dispatcher.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))

test('events that many webhooks want are dispatched in smaller pieces, as soon as it is known how many do', async () => {
  const webhooks = 60
  const events = 80
  for (let n = 0; n < webhooks; n++) await engine.makeWebhook(`/${n}`)
  for (let n = 0; n < events; n++) await engine.publish({ entity: `transaction:${n}` })
  const dispatcher = openDispatcher(engine.house.gateway.context.dispatch, engine.house.gateway.context.log)
  dispatcher.wake(partOf(engine.branchId))
  await eventually('everything is dispatched', async () => {
    const [{ count } = { count: 0 }] = await engine.sql<{ count: number }>(
      'SELECT count(*)::int AS count FROM queued_deliveries',
    )
    return count === webhooks * events
  })
  await dispatcher.close()
  // Whatever one transaction wrote.
  const rows = await engine.sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM queued_deliveries GROUP BY xmin::text ORDER BY min(id)',
  )
  const [first, ...later] = rows.map((row) => row.count)
  assert.equal(first, 25 * webhooks)
  assert.ok(later.length >= 3 && later.every((count) => count <= 1_000), String(later))
})
