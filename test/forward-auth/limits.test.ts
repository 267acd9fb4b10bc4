/** Spec 4.11 and 8: a token counts against its limit, and guesses at a proxy's secret are counted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doorNames, openProxy } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse({ RATE_LIMIT_PER_MINUTE: '2', CLIENT_FAILURES_PER_MINUTE: '3' })
const proxy = await openProxy(house)

for (const door of doorNames)
  test(`${door}: a token that has used up its requests is told when to come back, as the proxy takes it`, async () => {
    const token = await house.makeToken(await house.makeUser())
    for (const left of ['1', '0']) {
      const { status, headers } = await proxy.ask(door, { token })
      assert.deepEqual([status, headers.get('x-ratelimit-available')], [200, left])
    }
    const { status, headers, json } = await proxy.ask(door, { token })
    assert.deepEqual([status, json().error], [door === 'original' ? 403 : 429, 'too_many_requests'])
    assert.match(headers.get('retry-after')!, /^\d+$/)
  })

test('whoever guesses at the secret of a proxy is turned away, at every door', async () => {
  const own = await openProxy(house)
  const instead = { 'x-countersign-service': [`x-countersign-service: ${own.id}:guess`] }
  for (const _ of [1, 2, 3])
    assert.equal((await own.ask('forwarded', { instead })).json().error, 'service_unknown')
  for (const door of doorNames) {
    const { status, json } = await own.ask(door, { instead })
    assert.deepEqual([status, json().error], [door === 'original' ? 403 : 429, 'too_many_requests'])
  }
})
