/** An authorization request costs the database nothing until somebody answers it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { markTables, startRequest } from '../support/web.ts'

const house = await openHouse()

test('200 authorization requests, some seen as far as the consent page, neither add nor change a row', async () => {
  const { db } = house.gateway.context
  const client = await house.makeClient()
  const browser = await house.signIn(await house.makeUser())
  const before = await markTables(db)
  assert.ok(Object.values(before).some((rows) => rows.length > 0))

  const requests = Array.from({ length: 200 }, async (_, index) => {
    const stranger = new Browser(house.baseUrl)
    const path = await startRequest(stranger, client, { state: `state-${index}`, scope: 'read trade' })
    if (index % 10 > 0) return
    assert.equal((await stranger.get(path)).status, 200)
    assert.equal((await browser.get(path.replace('/login', '/consent'))).status, 200)
  })
  await Promise.all(requests)
  // The log of the client's calls is bounded, and keeps a few of them.
  const { calls: _, ...rest } = await markTables(db)
  const { calls: __, ...restBefore } = before
  assert.deepEqual(rest, restBefore)
})
