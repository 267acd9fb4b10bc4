/**
 * What the portal asks of the deliveries of a webhook is found by indexes, whatever was counted last and
 * however much others have.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveryFilter } from '../../../src/webhooks/deliveries/delivery.ts'
import { searchDeliveries } from '../../../src/webhooks/deliveries/delivery-search.ts'
import { startRecovery } from '../../../src/webhooks/deliveries/recovery.ts'
import { startSkip } from '../../../src/webhooks/deliveries/skip.ts'
import { readHealth } from '../../../src/webhooks/health/webhook-health.ts'
import { fillWithSettled, openEngine } from '../../support/engine.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { withLenientDatabase } from '../../support/lenient-engine.ts'
import { type Looks, openLookingDatabase } from '../../support/plans.ts'

const engine = await withLenientDatabase(await keepOpen(openEngine({ ROLES: 'api' })))
await engine.sql('SELECT open_day(day_of($1))', [engine.house.clock.now()])
await engine.sql('ANALYZE')
for (let n = 0; n < 3; n++) {
  const webhook = await engine.makeWebhook(`/${n}`)
  await fillWithSettled(engine, webhook, { prefix: `a${n}`, count: 30_000, state: 'delivered' })
  await fillWithSettled(engine, webhook, { prefix: `b${n}`, count: 200, state: 'exhausted' })
}
const webhook = await engine.makeWebhook('/last')
await fillWithSettled(engine, webhook, { prefix: 'c', count: 30_000, state: 'delivered' })
await fillWithSettled(engine, webhook, { prefix: 'd', count: 200, state: 'exhausted' })
// What was finished ahead of the position is not in it yet.
await engine.sql('UPDATE cursors SET position = position - 2000 WHERE webhook_id = $1', [webhook.id])

const filters: readonly DeliveryFilter[] = [
  {},
  { state: 'exhausted' },
  { state: 'unfinished' },
  { state: 'canceled' },
  { kind: 'TRANSACTION' },
  { entity: 'c:77' },
]
const tables = /^(log|outcomes|answers|exceptions|agains|filters|passes|cursors|feed_days)/

function assertByIndex(looks: Looks, pagesAtMost: number, what: string): void {
  assert.ok(looks.size > 0, what)
  for (const [name, { readWhole, pages }] of looks) {
    assert.deepEqual(
      [...readWhole].filter((table) => tables.test(table)),
      [],
      `${what}: ${name}`,
    )
    assert.ok(pages < pagesAtMost, `${what}: ${name}: ${pages} pages`)
  }
}

for (const taken of ['while there was nothing', 'of what there is']) {
  test(`a search of deliveries goes by indexes, with statistics taken ${taken}`, async () => {
    if (taken === 'of what there is') await engine.sql('ANALYZE')
    for (const filter of filters) {
      const looks: Looks = new Map()
      const db = await openLookingDatabase(engine.db, looks)
      await searchDeliveries(db, [webhook], filter, undefined, 50)
      assertByIndex(looks, 25_000, JSON.stringify(filter))
    }
  })

  test(`what waits at a webhook is recovered and skipped at the cost of a count, with statistics taken ${taken}`, async () => {
    if (taken === 'of what there is') await engine.sql('ANALYZE')
    const counting: Looks = new Map()
    await readHealth(await openLookingDatabase(engine.db, counting), [webhook], engine.house.clock.now())
    assertByIndex(counting, 25_000, 'a count')
    await engine.sql(
      `UPDATE replay_cursors SET state = 'canceled', finished_at = created_at WHERE state = 'running'`,
    )
    const looks: Looks = new Map()
    const db = await openLookingDatabase(engine.db, looks)
    await startRecovery(db, webhook, new Date(0), engine.house.act())
    await startSkip(db, webhook, 'a test', engine.house.act())
    assertByIndex(looks, 25_000, 'acts')
  })
}
