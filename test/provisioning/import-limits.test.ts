/** What an import and a list of records have for a bound. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day } from '../../src/clock.ts'
import { getImport } from '../../src/provisioning/import.ts'
import { removeOldImports } from '../../src/provisioning/snapshot.ts'
import { ask } from '../support/ask.ts'
import { send } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { openCore } from '../support/provisioning.ts'

const house = await openHouse()
const { db, clock } = house.gateway.context
const core = await openCore(house)

interface ImportBody {
  readonly id: number
  readonly failed: number
  readonly faults: readonly object[]
}

async function importLines(lines: readonly string[]): Promise<ImportBody> {
  const answer = await send(`${house.internalUrl}/internal/v1/imports`, {
    method: 'POST',
    headers: { ...core.headers, 'content-type': 'application/x-ndjson' },
    body: `${lines.join('\n')}\n`,
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ImportBody>()
}

test('of an import the first thousand faults are told, and all are counted', async () => {
  const { failed, faults } = await importLines(Array(1_001).fill('no JSON'))
  assert.deepEqual([failed, faults.length], [1_001, 1_000])
})

test('an import that has ended is kept for ninety days', async () => {
  const { id } = await importLines(['{"kind": "customer", "externalId": "C1", "name": "Ada", "version": 1}'])
  const began = clock.now()
  await removeOldImports(db, after(began, 89 * day), 1_000)
  assert.equal((await getImport(db, id)).id, id)
  await removeOldImports(db, after(began, 91 * day), 1_000)
  await assert.rejects(getImport(db, id), /There is no import/)
})

test('a list for provision holds five thousand records at most', async () => {
  const provision = "SELECT provision('live', 'core', $1)"
  const record = { kind: 'customer', externalId: 'C1', name: 'Ada', version: 1 }
  await assert.rejects(ask(db, provision, [JSON.stringify(Array(5_001).fill(record))]), /a list of 1 to 5000/)
})
