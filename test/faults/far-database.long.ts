/** A database far away: workers stay members, keep their numbers, and deliver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway } from '../../src/gateway/gateway.ts'
import { readConfig } from '../../src/settings/config.ts'
import { openWire } from '../support/cut-wire.ts'
import { entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { nodeOptions } from '../support/gateway.ts'

for (const roundTripMs of [500, 800])
  test(`with round trips of ${roundTripMs} ms two workers stay what they are, and what is published is delivered`, async (t) => {
    const engine = await openEngine({ ROLES: 'api' })
    t.after(() => engine.close())
    // With the limits of production, and the clock of the database.
    const { databaseTimeoutMs: _, ...options } = nodeOptions
    const wires = await Promise.all([1, 2].map(() => openWire(engine.house.databaseUrl)))
    for (const wire of wires) {
      const settings = { ...engine.house.settings, DATABASE_URL: wire.url, ROLES: 'worker' }
      const node = await openGateway(readConfig(settings), options)
      t.after(async () => {
        wire.lengthen(0)
        await node.close()
        await wire.close()
      })
    }
    const workers = () =>
      engine.sql<{ number: number; seen_at: Date }>('SELECT * FROM workers ORDER BY number')
    const before = await eventually('two workers', async () => {
      const there = await workers()
      return there.length === 2 && there
    })
    for (const wire of wires) wire.lengthen(roundTripMs / 2)
    const webhooks = await Promise.all(['/a', '/b'].map((path) => engine.makeWebhook(path)))
    const words = new Map(before.map(({ number }) => [number, new Set<number>()]))
    let published = 0
    await eventually('ten words of each', async () => {
      if (published < 100) await engine.publish({ entity: `transaction:${++published}` })
      const there = await workers()
      assert.deepEqual(
        there.map(({ number }) => number),
        before.map(({ number }) => number),
      )
      for (const { number, seen_at } of there) words.get(number)!.add(seen_at.getTime())
      return [...words.values()].every(({ size }) => size >= 10)
    })
    await engine.publish(...entities(20, 'last'))
    for (const webhook of webhooks)
      await eventually('everything delivered once', async () => {
        const deliveries = await engine.deliveries(webhook)
        const isDone = deliveries.every(({ state, attempts }) => state === 'delivered' && attempts === 1)
        return deliveries.length === published + 20 && isDone
      })
    assert.equal(engine.receiver.received.length, 2 * (published + 20))
  })
