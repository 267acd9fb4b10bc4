/**
 * Answers that go on have connections of their own: whatever becomes of those, publishing and delivering go
 * on.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { byTurns, openTurns } from '../../src/database/turns.ts'
import { ask } from '../support/ask.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { watch } from '../support/live-page.ts'
import { openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'

const connections = 2
const house = await openHouse({
  ...{
    DATABASE_CONNECTIONS: '5',
    DATABASE_STREAM_CONNECTIONS: String(connections),
    WEBHOOK_ALLOW_LOOPBACK: 'true',
  },
  RATE_LIMIT_PER_MINUTE: '0',
})
const receiver = await keepOpen(openReceiver())

/** Every connection that streams have is in somebody's hands until it is let go. */
async function holdAll(db: Database): Promise<() => Promise<void>> {
  const letGo = Promise.withResolvers<void>()
  const held: Promise<void>[] = []
  for (let each = 0; each < connections; each++) {
    const taken = Promise.withResolvers<void>()
    held.push(
      db.transaction(async (sql) => {
        await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
        taken.resolve()
        await letGo.promise
      }),
    )
    await taken.promise
  }
  return async () => {
    letGo.resolve()
    await Promise.all(held)
  }
}

async function openEvents(
  headers: Record<string, string>,
): Promise<{ read(until: RegExp): Promise<void>; stop(): void }> {
  const stop = new AbortController()
  const response = await fetch(`${house.baseUrl}/v2/events?after=0`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: stop.signal,
  })
  assert.equal(response.status, 200)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  return {
    stop: () => stop.abort(),
    async read(until) {
      while (!until.test(heard)) {
        const { value, done } = await reader.read()
        assert.ok(!done, `the stream ended before ${until}`)
        heard += value
      }
    },
  }
}

test('while every connection of the streams is held, events are published and delivered and pages answered; then the streams go on', async () => {
  const own = await openPartner(house)
  await own.program.register(receiver.url('/hook'))
  const { streamDb, db } = house.gateway.context
  const letGo = await holdAll(streamDb)
  const streams = await Promise.all(Array.from({ length: 12 }, () => openEvents(basic(own.client))))
  const page = watch(own.browser, `${own.home}/deliveries`)
  await eventually('streams that wait', async () => streamDb.load().waiting >= streams.length)
  assert.equal(streamDb.load().busy, connections)
  const fired = await own.program.call('POST', '/v2/webhooks/transaction', transaction({ transactionId: 77 }))
  assert.equal(fired.status, 202)
  await receiver.count('/hook', 1)
  assert.equal((await own.browser.get(`${own.home}/deliveries`)).status, 200)
  assert.deepEqual(await ask(db, 'SELECT 1 AS one'), [{ one: 1 }])
  await letGo()
  await Promise.all(streams.map((stream) => stream.read(/transaction:77/)))
  const live = await page
  await live.until(/transaction:77/)
  live.stop()
  for (const stream of streams) stream.stop()
})

test('streams read on their own connections alone', async () => {
  const program = await openBranch(house)
  await program.call('POST', '/v2/webhooks/transaction', transaction())
  const stream = await openEvents(program.credentials as Record<string, string>)
  await stream.read(/^id: 1$/m)
  const { streamDb } = house.gateway.context
  const { busy, idle } = streamDb.load()
  assert.ok(busy + idle >= 1, 'a connection of theirs was opened')
  assert.ok(busy + idle <= connections)
  stream.stop()
})

test('however many wait for a turn, none is turned away, and they go in the order they came', async () => {
  const turns = openTurns(2)
  const places: number[] = []
  const letGo = Promise.withResolvers<void>()
  const all = Array.from({ length: 3_000 }, (_, place) =>
    turns.take(async () => {
      await letGo.promise
      places.push(place)
    }),
  )
  assert.equal(turns.waiting, 2_998)
  letGo.resolve()
  await Promise.all(all)
  assert.equal(turns.waiting, 0)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  await assert.rejects(
    turns.take(() => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(
    await turns.take(async () => 'the turn of one that failed is given on'),
    'the turn of one that failed is given on',
  )
  assert.equal(byTurns(house.gateway.context.db, turns).load().waiting, 0)
})
