/**
 * What would grow with the years does not: what a connection prepares, how long it lives, and the keys of
 * publishers.
 */

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { after, day, minute } from '../../src/clock.ts'
import { openDatabase } from '../../src/database/database.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { openKernel } from '../support/engine-kernel.ts'
import { openHouse } from '../support/gateway.ts'

test('what is prepared on a connection names no day: after the first days nothing is added', async (t) => {
  const kernel = await openKernel()
  t.after(() => kernel.close())
  const { db, clock } = kernel
  const webhook = await kernel.register()
  const selectPrepared = 'SELECT name FROM pg_prepared_statements ORDER BY name'
  const prepared = async () => (await ask<{ name: string }>(db, selectPrepared)).map(({ name }) => name)
  let seq = 0
  async function live(days: number): Promise<string[]> {
    for (let each = 0; each < days; each++) {
      clock.advance(day)
      await openDaysAhead(db, clock.now())
      await kernel.publish(['transaction:1'])
      await kernel.attempt(`${webhook.id}-${++seq}`, {}, seq)
      await retireOnce(db, { attemptDays: 2, eventDays: 3 }, clock.now())
    }
    return prepared()
  }
  const before = await live(5)
  assert.ok(before.length > 10, `${before}`)
  assert.deepEqual(await live(10), before)
})

test('a connection is renewed within the hour or so', async (t) => {
  const database = await openTestDatabase()
  mock.timers.enable({ apis: ['setTimeout'] })
  const db = openDatabase({ connectionString: database.url, connections: 1 })
  t.after(async () => {
    mock.timers.reset()
    await db.close()
    await database.close()
  })
  const pid = async () => (await ask<{ pid: number }>(db, 'SELECT pg_backend_pid() AS pid'))[0]!.pid
  const first = await pid()
  assert.equal(await pid(), first)
  // It is in use all the while: nobody takes it away for being idle.
  for (let passed = 0; passed < 61; passed++) {
    await pid()
    mock.timers.tick(minute / 2)
    await pid()
    mock.timers.tick(minute / 2)
  }
  assert.notEqual(await pid(), first)
})

test('keys of publishers leave as fast as they come: one turn removes all that are old, however many', async () => {
  const house = await openHouse()
  const { db } = house.gateway.context
  const now = house.clock.now()
  await ask(
    db,
    `INSERT INTO idempotency_keys (owner, key, request_hash, event_uids, created_at)
       SELECT 'service:1', n::text, '\\x00', '{}', CASE WHEN n <= 20000 THEN $1::timestamptz ELSE $2 END
         FROM generate_series(1, 20010) n`,
    [after(now, -91 * day), now],
  )
  const { keys } = await retireOnce(db, { attemptDays: 30, eventDays: 90 }, now)
  assert.equal(keys, 20_000)
  assert.equal((await ask(db, 'SELECT FROM idempotency_keys')).length, 10)
})
