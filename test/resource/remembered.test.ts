/** What @countersign/resource believes of what it remembers, and what it does when nobody can be asked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { staleAtMostMs } from '../../resource/src/hearing.ts'
import { Refusal } from '../../resource/src/index.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { postForm } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { openHeldWire } from '../support/held-wire.ts'
import { openHolder } from '../support/oauth.ts'
import { findFreePort } from '../support/ports.ts'
import { makeService, openApi } from '../support/resource.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

test('while the feed is closed every request asks, and none is answered from memory', async () => {
  const wire = await openHeldWire(house.internalUrl)
  const api = await openApi(house, { internalUrl: wire.url })
  try {
    const { access_token } = await holder.tokens(client)
    await api.remembers(access_token)
    await wire.close()
    await api.until('the feed has ended', ({ kind }) => kind === 'feed-ended')
    const { asked } = api
    for (let n = 0; n < 3; n++) assert.equal(await api.status(access_token), 200)
    assert.equal(api.asked, asked + 3)
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(client))
    assert.equal(await api.status(access_token), 401)
  } finally {
    api.close()
    await wire.close()
  }
})

test('a feed that was cut off is opened again, and what was remembered before is not used', async () => {
  const wire = await openHeldWire(house.internalUrl)
  const api = await openApi(house, { internalUrl: wire.url })
  try {
    const { access_token } = await holder.tokens(client)
    await api.remembers(access_token)
    const before = api.events.length
    await wire.cut()
    await eventually('it is open again', () =>
      api.events.slice(before).some(({ kind }) => kind === 'feed-opened'),
    )
    const { asked } = api
    assert.equal(await api.status(access_token), 200)
    assert.equal(api.asked, asked + 1)
    await api.remembers(access_token)
  } finally {
    api.close()
    await wire.close()
  }
})

test('when the feed has been silent for 2.5 seconds nothing is answered from memory', async () => {
  const wire = await openHeldWire(house.internalUrl)
  const api = await openApi(house, { internalUrl: wire.url })
  try {
    const { access_token } = await holder.tokens(client)
    await api.remembers(access_token)
    wire.hold()
    // Told, and held back on the way.
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(client))
    api.clock.advance(staleAtMostMs)
    const { asked } = api
    assert.equal(await api.status(access_token), 401)
    assert.equal(api.asked, asked + 1)
  } finally {
    api.close()
    await wire.close()
  }
})

test('what arrives late counts from when the gateway knew it, not from when it arrived', async () => {
  const wire = await openHeldWire(house.internalUrl)
  const api = await openApi(house, { internalUrl: wire.url })
  try {
    const { access_token } = await holder.tokens(client)
    assert.equal(await api.status(access_token), 200)
    wire.hold()
    api.clock.advance(staleAtMostMs)
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(client))
    wire.release()
    await api.hearsAll()
    const { asked } = api
    assert.equal(await api.status(access_token), 401)
    assert.ok(api.asked > asked)
  } finally {
    api.close()
    await wire.close()
  }
})

test('requests of one moment share a call of the gateway; after a change is told nobody joins one', async () => {
  const wire = await openHeldWire(house.baseUrl)
  const api = await openApi(house, { issuer: wire.url, timeoutMs: 60_000 })
  try {
    const { access_token } = await holder.tokens(client)
    const other = await house.makeClient()
    const told = await holder.tokens(other)
    await api.remembers(told.access_token)
    wire.hold()
    const { asked } = api
    const sharing = Array.from({ length: 10 }, () => api.status(access_token))
    assert.equal(api.asked, asked + 1)
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: told.access_token }, basic(other))
    await api.hearsAll()
    const alone = api.status(access_token)
    assert.equal(api.asked, asked + 2)
    wire.release()
    assert.deepEqual(new Set(await Promise.all([...sharing, alone])), new Set([200]))
  } finally {
    api.close()
    await wire.close()
  }
})

test('what Countersign never issued for this site is refused without a call', async () => {
  const api = await openApi(house)
  const good = issueToken('access', 'live').text
  const never = [
    '',
    'x',
    'a'.repeat(100_000),
    `${good}a`,
    good.slice(1),
    `${good.slice(0, -1)}${good.endsWith('a') ? 'b' : 'a'}`,
    good.toUpperCase(),
    issueToken('access', 'sandbox').text,
    issueToken('refresh', 'live').text,
    issueToken('serviceSecret', 'live').text,
    `${good}, Bearer ${good}`,
  ]
  for (const token of never) assert.equal(await api.status(token), 401, token.slice(0, 60))
  assert.equal(api.asked, 0)
  assert.equal(await api.status(good), 401)
  assert.equal(api.asked, 1)
  api.close()
})

test('a refusal is never remembered', async () => {
  const api = await openApi(house)
  const unknown = issueToken('access', 'live').text
  for (let n = 1; n <= 3; n++) {
    assert.equal(await api.status(unknown), 401)
    assert.equal(api.asked, n)
  }
  api.close()
})

test('a token ends with its time, whatever is remembered', async () => {
  const api = await openApi(house)
  const { access_token } = await holder.tokens(client)
  assert.equal(await api.status(access_token), 200)
  api.clock.advance(25 * 3_600_000)
  assert.equal(await api.status(access_token), 401)
  api.close()
})

test('when the gateway cannot be asked the answer is 503, with Retry-After and without a challenge', async () => {
  const nowhere = `http://127.0.0.1:${await findFreePort()}`
  const unknown = { ...(await makeService(house)), id: 'nobody' }
  const { access_token } = await holder.tokens(client)
  for (const wrong of [
    { issuer: nowhere },
    { issuer: `${house.baseUrl}/nothing/` },
    { credential: unknown },
  ]) {
    const isHeard = !('credential' in wrong)
    const api = await openApi(house, wrong, isHeard)
    const judgement = await api.call(access_token)
    if ('issuer' in wrong && wrong.issuer !== nowhere) {
      assert.ok(!(judgement instanceof Refusal), 'a path behind the issuer is not used')
    } else {
      assert.ok(judgement instanceof Refusal)
      assert.equal(judgement.status, 503)
      assert.equal(judgement.headers['retry-after'], '1')
      assert.equal(judgement.headers['www-authenticate'], undefined)
      assert.ok(api.events.some(({ kind }) => kind === 'failed'))
    }
    api.close()
  }
})
