/** Events of one entity arrive in the order they happened, also where many publish and many deliver at once, and however many there are. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import fc from 'fast-check'
import type { Statement } from '../../src/database/database.ts'
import { dayOf, idsADay } from '../../src/webhooks/days.ts'
import { searchAll } from '../../src/webhooks/delivery-search.sql.ts'
import { createDeliveries } from '../../src/webhooks/dispatch.sql.ts'
import { dispatchPart } from '../../src/webhooks/dispatch.ts'
import { claimLanes, selectDue, settleDeliveries } from '../../src/webhooks/lanes.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { findInversions, finishAll, numbered } from '../support/entity-order.ts'
import type { Behaviour } from '../support/receiver.ts'

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
  await engine.sql('SELECT pg_stat_force_next_flush()')
  const [row] = await engine.sql<{ deadlocks: number }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  )
  return row!.deadlocks
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
    assert.equal(requests.length, expected, 'without a crash there are no duplicates')
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
async function pagesOf(target: Engine, statement: Statement, values: readonly string[]): Promise<number> {
  let pages = 0
  await target.db
    .transaction(async (sql) => {
      await sql.script(`SET LOCAL plan_cache_mode = force_generic_plan; PREPARE examined AS ${statement.text}`)
      const rows = await sql.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>({
        name: '',
        text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE examined (${values.join(', ')})`,
      })
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

test('100,000 events of one entity cost the claim no more than three', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const webhook = await api.makeWebhook('/a')
  const at = api.house.clock.now()
  const now = `'${at.toISOString()}'::timestamptz`
  const day = dayOf(at)
  const first = day * idsADay
  const fill = async (entity: string, from: number, count: number) => {
    for (let start = 1; start <= count; start += filledAtOnce)
      await api.sql(`INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
      SELECT ${first} + ${from} + n, ${webhook.id}, ${first} + n, '${entity}', 0, CASE WHEN n > 1 THEN ${first} + ${from} + n - 1 END,
        CASE WHEN n = 1 THEN ${now} ELSE 'infinity' END, ${now}
      FROM generate_series(${start}, ${Math.min(count, start + filledAtOnce - 1)}) n`)
    await api.sql('UPDATE lanes SET attention_at = $1', [at])
    await api.db.script('VACUUM ANALYZE queued_deliveries, lanes')
  }
  await api.publish({})
  await dispatchPart(api.house.gateway.context.dispatch, partOf(api.branchId))
  const lane = [`'{${webhook.id}}'`, `'{00000000-0000-0000-0000-000000000000}'`]
  const examine = async (entity: string, from: number) => ({
    claim: await pagesOf(api, claimLanes, [`gen_random_uuid()`, now, '100', `'{}'`, '0']),
    due: await pagesOf(api, selectDue, [`'{${webhook.id}}'`, `'{50}'`, now, `'{}'`, `'{-infinity}'`]),
    create: await pagesOf(api, createDeliveries(day), [
      ...[`'{${first}}'`, `'{${api.branchId}}'`, `'{live}'`, `'{TRANSACTION}'`, `'{${entity}}'`, `'{false}'`],
      ...[`'{NULL}'`, `'{NULL}'`, `'{NULL}'`, `${first}`, now, '5', `'{SUBMITTED}'`],
    ]),
    settle: await pagesOf(api, settleDeliveries(day), [
      ...[
        ...lane,
        `'{${first + from + 1}}'`,
        `'{${webhook.id}}'`,
        `'{0}'`,
        `'{delivered}'`,
        `'{NULL}'`,
        `'{${at.toISOString()}}'`,
      ],
      ...[`'{1}'`, `'{accepted}'`, `'{200}'`, `'{NULL}'`, `'{ok}'`, now, `${day}`, `'{NULL}'`],
    ]),
    newest: await pagesOf(api, searchAll, [
      ...[`'{${webhook.id}}'`, String(Number.MAX_SAFE_INTEGER), '0', '3', 'NULL', 'NULL', 'NULL', 'NULL', 'NULL', '3'],
    ]),
  })
  await fill('transaction:few', 1_000_000, 3)
  await api.sql(`UPDATE lanes SET claim_id = '00000000-0000-0000-0000-000000000000'`)
  const few = await examine('transaction:few', 1_000_000)
  await fill('transaction:many', 2_000_000, 100_000)
  const many = await examine('transaction:many', 2_000_000)
  for (const [name, pages] of Object.entries(few)) {
    const now = many[name as keyof typeof many]
    assert.ok(now <= 4 * pages + 20, `${name}: ${now} pages with 100,000, ${pages} with three`)
  }
})
