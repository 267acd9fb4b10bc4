/** What the portal asks of the deliveries of some webhooks is found by their index, whatever plan is kept and however much others have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Statement } from '../../../src/database/database.ts'
import { searchAll, searchExhausted, searchUnfinished } from '../../../src/webhooks/delivery-search.sql.ts'
import { pullBite, selectNewestQueued } from '../../../src/webhooks/recoveries.sql.ts'
import { insertSkip, skipBite, skipOne } from '../../../src/webhooks/skips.sql.ts'
import { fillWithSettled, openEngine } from '../../support/engine.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { asPatient } from '../../support/patient.ts'

const engine = await asPatient(await keepOpen(openEngine({ ROLES: 'api' })))
await engine.sql('SELECT open_day(day_of($1))', [engine.house.clock.now()])
await engine.sql('ANALYZE')
for (let n = 0; n < 3; n++) {
  const webhook = await engine.makeWebhook(`/${n}`)
  await fillWithSettled(engine, webhook, { prefix: `a${n}`, count: 30_000, state: 'delivered' })
  await fillWithSettled(engine, webhook, { prefix: `b${n}`, count: 200, state: 'exhausted' })
  await engine.sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
     SELECT id + 1000000, webhook_id, event_id, entity, 0, created_at, created_at FROM settled_deliveries WHERE webhook_id = $1`,
    [webhook.id],
  )
}

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Node[]
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

async function planOf({ text }: Statement): Promise<Node[]> {
  const [row] = await engine.sql<{ 'QUERY PLAN': [{ Plan: Node }] }>(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
  return nodesOf(row!['QUERY PLAN'][0].Plan)
}

/** The index by which each table of deliveries is read, in the plan that is kept for every value. */
async function indexesOf(statement: Statement): Promise<string[]> {
  return (await planOf(statement))
    .filter((node) => /^(queued|settled)_deliveries/.test(node['Relation Name'] ?? ''))
    .map((node) => node['Index Name'] ?? `no index of ${node['Relation Name']}`)
}

const ofWebhook = /^queued_of_webhook$|webhook_id_id_idx/

for (const taken of ['while there was nothing', 'of what there is']) {
  test(`a search of deliveries goes by the index of their webhook, with statistics taken ${taken}`, async () => {
    if (taken === 'of what there is') await engine.sql('ANALYZE')
    for (const search of [searchAll, searchExhausted, searchUnfinished]) {
      const indexes = await indexesOf(search)
      assert.ok(indexes.length > 0)
      for (const index of indexes) assert.match(index, ofWebhook, search.name)
    }
  })

  test(`what waits at a webhook is skipped and pulled forward by its index and its numbers, with statistics taken ${taken}`, async () => {
    if (taken === 'of what there is') await engine.sql('ANALYZE')
    const found = [skipBite, skipOne, insertSkip, pullBite, selectNewestQueued].map(async (each) => [
      each.name,
      [...new Set((await planOf(each)).map((node) => node['Index Name'] ?? ''))]
        .filter((name) => /^queued/.test(name))
        .sort(),
    ])
    assert.deepEqual(Object.fromEntries(await Promise.all(found)), {
      skip_bite: ['queued_behind', 'queued_deliveries_pkey', 'queued_of_webhook'],
      skip_delivery: ['queued_behind', 'queued_deliveries_pkey'],
      insert_skip: ['queued_of_webhook'],
      pull_bite: ['queued_deliveries_pkey', 'queued_of_webhook'],
      select_newest_queued: ['queued_of_webhook'],
    })
  })
}
