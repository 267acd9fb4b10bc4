/**
 * Whatever a database or a role has for its defaults, the engine delivers by its own:
 * src/database/session.test.ts has every setting, one by one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { findBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

for (const [what, isolation] of [
  ['REPEATABLE READ', 'repeatable read'],
  ['SERIALIZABLE', 'serializable'],
] as const)
  test(`with ${what} and a lock_timeout for defaults, two nodes deliver everything once while lanes change hands and people act`, async (t) => {
    const engine = await openEngine({ ROLES: 'api' })
    t.after(() => engine.close())
    const { receiver } = engine
    const [row] = await engine.sql<{ name: string }>('SELECT current_database() AS name')
    await engine.sql(`ALTER DATABASE ${row!.name} SET default_transaction_isolation = '${isolation}'`)
    await engine.sql(`ALTER DATABASE ${row!.name} SET lock_timeout = '1ms'`)
    // Their connections are opened from here on.
    await engine.openNode({ ROLES: 'worker' })
    await engine.openNode({ ROLES: 'worker' })
    const webhooks = await Promise.all(['/a', '/b', '/c', '/d'].map((path) => engine.makeWebhook(path)))
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        ...entities(10).map(({ entity }) => engine.publish({ entity: entity! })),
        engine.publish(...entities(30, `round-${round}`)),
      ])
      const [first] = webhooks
      await engine.call('POST', `/v2/webhooks/${first!.id}/${round % 2 === 0 ? 'pause' : 'resume'}`)
    }
    const statesOf = async (webhook: Webhook) => {
      const deliveries = await engine.deliveries(webhook)
      return [deliveries.length, ...new Set(deliveries.map(({ state, attempts }) => `${state} ${attempts}`))]
    }
    for (const webhook of webhooks)
      await eventually('all of them once', async () =>
        isDeepStrictEqual(await statesOf(webhook), [400, 'delivered 1']),
      )
    assert.equal(receiver.received.length, 1_600)
    assert.deepEqual(await findBroken(engine.db, engine.house.clock.now(), wholeScope()), [])
  })
