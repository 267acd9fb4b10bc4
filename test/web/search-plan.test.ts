/** The search finds by an index or a bounded look, whatever plan is kept and however much there is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, minute } from '../../src/clock.ts'
import { findAnyDelivery } from '../../src/webhooks/deliveries/delivery-search.ts'
import { makeEventUids } from '../../src/webhooks/events/event.ts'
import {
  selectAddressed,
  selectEntry,
  selectNewestOfEntity,
} from '../../src/webhooks/events/event-search.sql.ts'
import {
  findNamedEvent,
  findNewestOfEntity,
  findWebhooksAt,
  parseEventName,
} from '../../src/webhooks/events/event-search.ts'
import { selectServed } from '../../src/webhooks/health/failing-webhooks.sql.ts'
import { listFailingOf } from '../../src/webhooks/health/failing-webhooks.ts'
import { disableWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { fillWithSettled, openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'
import { withLenientDatabase } from '../support/lenient-engine.ts'
import { type Looks, openLookingDatabase } from '../support/plans.ts'

const engine = await withLenientDatabase(await keepOpen(openEngine({ ROLES: 'api' })))
await engine.sql('SELECT open_day(day_of($1))', [engine.house.clock.now()])
const webhook = await engine.makeWebhook('/here')
for (let n = 0; n < 6; n++) {
  const at = after(engine.house.clock.now(), n * minute)
  await fillWithSettled(engine, webhook, { prefix: `a${n}`, count: 5_000, state: 'delivered', at })
}
/** Of the third minute. */
const [sought] = makeEventUids([{}], after(engine.house.clock.now(), 3 * minute))
await engine.sql(`UPDATE log SET uid = $1 WHERE entity = 'a3:2500'`, [sought])
await engine.sql(
  `INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
   SELECT $1, 'live', 'https://hooks-' || n || '.example.com/in', ARRAY['TRANSACTION'], now(), now()
     FROM generate_series(1, 20000) n`,
  [engine.branchId],
)

test('an address, an event and a delivery are found without reading a table, whatever was counted last', async () => {
  for (const isCounted of [false, true]) {
    if (isCounted) await engine.sql('ANALYZE')
    const looks: Looks = new Map()
    const db = await openLookingDatabase(engine.db, looks)
    assert.equal((await findNamedEvent(db, parseEventName(sought!)!))?.entity, 'a3:2500')
    assert.equal((await findWebhooksAt(db, 'hooks-19777.example', 10)).length, 1)
    assert.equal((await findWebhooksAt(db, 'https://hooks-19777.example.com/in', 10)).length, 1)
    assert.equal((await findAnyDelivery(db, `${webhook.id}-17000`))?.delivery.entity, 'a3:2000')
    assert.deepEqual(
      (await findNewestOfEntity(db, 'a4:2500', 10)).map(({ entity }) => entity),
      ['a4:2500'],
    )
    for (const { name } of [selectAddressed, selectEntry, selectNewestOfEntity])
      assert.ok(looks.has(name), name)
    for (const [name, { readWhole, pages }] of looks) {
      assert.deepEqual(
        [...readWhole].filter((table) => /^(log|feed_days|outcomes|webhooks)/.test(table)),
        [],
        name,
      )
      assert.ok(pages < 1_000, `${name}: ${pages} pages`)
    }
    assert.ok(looks.get(selectAddressed.name)!.indexes.has('webhooks_by_address'))
  }
})

test('failing webhooks of a member’s partners are found by the partner, whatever was counted last', async () => {
  const { branchId } = await engine.house.makePartner()
  const { branchId: other } = await engine.house.makePartner()
  const failing = await engine.makeWebhook('/gone', { branchId })
  await disableWebhook(engine.db, failing.id, 'The receiver answered 410.', engine.house.act())
  for (const isCounted of [false, true]) {
    if (isCounted) await engine.sql('ANALYZE')
    const looks: Looks = new Map()
    const db = await openLookingDatabase(engine.db, looks)
    const found = await listFailingOf(db, [branchId, other], 'live', 3, engine.house.clock.now())
    assert.deepEqual([...found.keys()], [branchId])
    const { readWhole, pages, indexes } = looks.get(selectServed.name)!
    assert.deepEqual(
      [...readWhole].filter((table) => /^(webhooks|cursors|outcomes)/.test(table)),
      [],
    )
    assert.ok(pages < 100, `${pages} pages`)
    assert.ok(indexes.has('webhooks_of_branch'))
  }
})
