/**
 * Events of one entity arrive in the order they happened, also where many publish and many deliver at once,
 * and however many there are.
 */

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import fc from 'fast-check'
import { type Step, step } from '../../src/database/database.ts'
import { loadAhead, loadExceptions, take } from '../../src/webhooks/engine/kernel.sql.ts'
import { readLog } from '../../src/webhooks/events/log.sql.ts'
import { feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { onPlainOnly } from '../support/citus.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { findInversions, finishAll, numbered } from '../support/entity-order.ts'
import { followByHand } from '../support/follow.ts'
import { printLiteral } from '../support/plans.ts'
import type { Behaviour } from '../support/receiver.ts'
import { serversOf } from '../support/waiting.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine({ DATABASE_CONNECTIONS: '10' })
})
afterEach(() => engine.close())

function failSometimes(outcomes: readonly boolean[]): Behaviour {
  let turn = 0
  return (_, response) => {
    const ok = outcomes.length === 0 || outcomes[turn++ % outcomes.length]!
    response.writeHead(ok ? 200 : 503).end()
  }
}

async function deadlocks(): Promise<number> {
  let sum = 0
  for (const server of serversOf(engine.db)) {
    await ask(server, 'SELECT pg_stat_force_next_flush()')
    const [row] = await ask<{ deadlocks: number }>(
      server,
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    sum += row!.deadlocks
  }
  return sum
}

test('publishers and workers race for the same entities: nothing is lost, doubled, inverted or blocked for ever', async () => {
  await engine.openNode()
  const paths = ['/a', '/b', '/c', '/d', '/e']
  for (const path of paths) await engine.makeWebhook(path)
  const publishers = 12
  const rounds = 60
  await Promise.all(
    Array.from({ length: publishers }, async (_, publisher) => {
      const names = ['x', 'y', 'z'].map((letter) => `transaction:${publisher}${letter}`)
      for (let place = 1; place <= rounds; place++) {
        const order = place % 2 === 0 ? names : names.toReversed()
        await engine.publish(...order.map((entity) => numbered(entity, place)))
      }
    }),
  )
  const expected = publishers * rounds * 3
  await finishAll(engine)
  for (const path of paths) {
    const requests = engine.receiver.at(path)
    assert.deepEqual(findInversions(requests), [])
    assert.equal(new Set(requests.map((request) => request.id)).size, expected)
    const workers = await engine.sql('SELECT number, seen_at, missed_at, lanes FROM workers')
    assert.equal(
      requests.length,
      expected,
      `without a crash there are no duplicates: ${JSON.stringify(workers)}`,
    )
  }
  assert.equal(await deadlocks(), 0)
})

test('property: whatever fails and however publishers and workers interleave, every event arrives, in order', async () => {
  await engine.openNode()
  let run = 0
  const scenario = fc.record({
    webhooks: fc.array(fc.array(fc.boolean(), { maxLength: 12 }), { minLength: 1, maxLength: 3 }),
    publishers: fc.array(fc.array(fc.constantFrom('p', 'q', 'r'), { minLength: 1, maxLength: 12 }), {
      minLength: 1,
      maxLength: 4,
    }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ webhooks, publishers }) => {
      run++
      await engine.sql(`UPDATE webhooks SET state = 'deleted'`)
      await engine.db.script(followByHand)
      const paths = webhooks.map((_, index) => `/${run}-${index}`)
      for (const [index, path] of paths.entries()) {
        // Never only failures, or the schedule would be used up.
        engine.receiver.on(path, failSometimes([...webhooks[index]!, true]))
        await engine.makeWebhook(path)
      }
      let published = 0
      await Promise.all(
        publishers.map(async (names, publisher) => {
          const places = new Map<string, number>()
          for (const name of names) {
            const entity = `transaction:${run}-${publisher}${name}`
            const place = (places.get(entity) ?? 0) + 1
            places.set(entity, place)
            published++
            await engine.publish(numbered(entity, place))
          }
        }),
      )
      await finishAll(engine)
      for (const path of paths) {
        assert.deepEqual(findInversions(engine.receiver.at(path)), [])
        assert.equal(new Set(engine.receiver.at(path).map((request) => request.id)).size, published)
      }
    }),
    { numRuns: 3 },
  )
  assert.equal(await deadlocks(), 0)
})

/** Pages of the database that a statement looks at. */
async function pagesOf(target: Engine, { statement, values }: Step): Promise<number> {
  const call = values.length === 0 ? '' : ` (${values.map(printLiteral).join(', ')})`
  let pages = 0
  await target.db
    .transaction(async (sql) => {
      await sql.script(
        `SET LOCAL plan_cache_mode = force_generic_plan; PREPARE examined AS ${statement.text}`,
      )
      const rows = await ask<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        sql,
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE examined${call}`,
      )
      const plan = rows[0]!['QUERY PLAN'][0].Plan
      pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
      await sql.script('DEALLOCATE examined')
      throw new Error('look, do not touch')
    })
    .catch((error: Error) => {
      if (error.message !== 'look, do not touch') throw error
    })
  return pages
}

/** No statement of the gateway may take long, on a busy machine either. */
const filledAtOnce = 10_000

test('100,000 events of one entity cost its lane no more than three', {
  skip: onPlainOnly('it reads plans'),
}, async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const webhook = await api.makeWebhook('/a')
  const at = api.house.clock.now()
  const [part, feed] = [partOf(api.branchId), feedOf({ branchId: api.branchId, environment: 'live' })]
  await api.publish({ entity: 'transaction:first' })
  await api.sql('SELECT FROM look($1, $2, 10)', [part, at])
  let head = 1
  /** The first of them fails. */
  const fill = async (entity: string, count: number) => {
    const first = head + 1
    for (let done = 0; done < count; done += filledAtOnce)
      await api.sql(
        `INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
         SELECT $1, $2, $3 + n, day_of($4), false, $4, gen_random_uuid(), 'TRANSACTION', 'SUBMITTED', $5, '{}'
           FROM generate_series(1, $6::int) n`,
        [part, feed, first - 1 + done, at, entity, Math.min(count - done, filledAtOnce)],
      )
    head += count
    await api.sql(`INSERT INTO exceptions SELECT $1, $2, $3, $4, day_of($5), 1, $5, $5`, [
      part,
      webhook.id,
      entity,
      first,
      at,
    ])
    await api.sql('UPDATE cursors SET position = $1, holder = NULL', [head])
    await api.db.script('VACUUM ANALYZE log, cursors, exceptions')
    return first
  }
  const examine = async (entity: string, first: number) => {
    const places = `${part}::smallint, ${webhook.id}::bigint`
    const next = (after: number): Step => {
      const text = `SELECT * FROM next_unfinished(${places}, ${feed}, '${entity}', ${after}, ${head})`
      return { statement: { name: '', text }, values: [] }
    }
    const lanes = { part, webhookIds: [webhook.id] }
    const taking = step(take, { part, worker: 1, now: at, most: 100, exceptIds: [] })
    const reading = step(readLog, { part, feed, after: first, most: 50, bytes: 100_000 })
    return {
      take: await pagesOf(api, taking),
      read: await pagesOf(api, reading),
      next: await pagesOf(api, next(first)),
      behindTheLast: await pagesOf(api, next(head)),
      exceptions: await pagesOf(api, step(loadExceptions, lanes)),
      ahead: await pagesOf(api, step(loadAhead, lanes)),
    }
  }
  const few = await examine('transaction:few', await fill('transaction:few', 3))
  const many = await examine('transaction:many', await fill('transaction:many', 100_000))
  for (const [name, pages] of Object.entries(few)) {
    const now = many[name as keyof typeof many]
    assert.ok(now <= 4 * pages + 20, `${name}: ${now} pages with 100,000, ${pages} with three`)
  }
})
