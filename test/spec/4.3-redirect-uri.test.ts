/**
 * Spec 4.3 and answers on redirect_uri: the callback byte for byte, or the address at which the client was
 * called, and nothing else.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHouse, type TestClient } from '../support/gateway.ts'
import { assertOAuthError, makeProof, openHolder } from '../support/oauth.ts'
import { countRows } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

interface Callback {
  readonly code: string
  /** The address at which the client was called, and the answer in it. */
  readonly address: string
  readonly answer: string
}

async function beCalled(own: TestClient, state = 'st'): Promise<Callback> {
  const parameters = await holder.callback(own, { state })
  const lastOf = (name: string) => parameters.getAll(name).at(-1)!
  const answer = ['code', 'state', 'iss']
    .map((name) => `${name}=${encodeURIComponent(lastOf(name))}`)
    .join('&')
  const joint = own.callbackUrl.includes('?') ? '&' : '?'
  return { code: lastOf('code'), address: own.callbackUrl + joint + answer, answer }
}

const callbacks = [
  'https://app.example.com/callback',
  'https://app.example.com/callback?tenant=7',
  'https://app.example.com/callback?state=CA&code=7&iss=me',
]
for (const callbackUrl of callbacks) {
  test(`a client registered at ${callbackUrl} may send the address at which it was called`, async () => {
    for (const environment of ['live', 'sandbox'] as const) {
      const own = await house.makeClient({ callbackUrl, environment })
      for (const state of ['st', "a b+c&d=e?/'é\u{1f600}#%41"]) {
        const { code, address } = await beCalled(own, state)
        assert.equal((await house.exchange(own, code, { redirect_uri: address })).status, 200, address)
      }
      const { code } = await beCalled(own)
      assert.equal((await house.exchange(own, code, { redirect_uri: callbackUrl })).status, 200)
    }
  })
}

test('code, state and iss may be appended in any order, and any of them alone', async () => {
  const iss = `iss=${encodeURIComponent(house.baseUrl)}`
  const tails = [
    (code: string) => `state=st&${iss}&code=${code}`,
    (code: string) => `${iss}&code=${code}`,
    (code: string) => `code=${code}&state=st`,
    (code: string) => `code=${code}`,
    () => 'state=st',
    () => iss,
    () => `iss=${house.baseUrl}`,
  ]
  for (const tail of tails) {
    const { code } = await beCalled(client)
    const redirect_uri = `${client.callbackUrl}?${tail(code)}`
    assert.equal((await house.exchange(client, code, { redirect_uri })).status, 200, redirect_uri)
  }
})

const host = 'https://app.example.com'
/** Each with what is wrong in it; `answer` is `code=…&state=…&iss=…` as it was sent. */
const wrong: readonly [string, (called: Callback & { readonly other: string }) => string][] = [
  ['a parameter of another name', ({ address }) => `${address}&x=1`],
  ['a parameter of another name before', ({ answer }) => `${host}/callback?x=1&${answer}`],
  ['an error beside the code', ({ address }) => `${address}&error=access_denied`],
  ['a parameter without a value', ({ code }) => `${host}/callback?code=${code}&state`],
  ['an empty state', ({ code }) => `${host}/callback?code=${code}&state=`],
  ['an empty pair', ({ address }) => `${address}&`],
  ['an empty pair in between', ({ answer }) => `${host}/callback?${answer.replace('&', '&&')}`],
  ['a query of nothing', () => `${host}/callback?`],
  ['the code twice', ({ address, code }) => `${address}&code=${code}`],
  ['the state twice', ({ address }) => `${address}&state=st`],
  ['the issuer twice', ({ address }) => `${address}&iss=${encodeURIComponent(house.baseUrl)}`],
  ['another code', ({ other }) => `${host}/callback?code=${other}&state=st`],
  ['the code in other letters', ({ code }) => `${host}/callback?code=${code.toUpperCase()}&state=st`],
  ['the code percent-encoded', ({ code }) => `${host}/callback?code=%63${code.slice(1)}`],
  ['a name percent-encoded', ({ code }) => `${host}/callback?c%6fde=${code}`],
  ['a name in capitals', ({ code }) => `${host}/callback?CODE=${code}`],
  [
    'the other issuer',
    ({ code }) => `${host}/callback?code=${code}&iss=${encodeURIComponent(house.sandboxUrl)}`,
  ],
  ['an issuer that cannot be decoded', ({ code }) => `${host}/callback?code=${code}&iss=%E0%A4%A`],
  ['a fragment', ({ address }) => `${address}#x`],
  ['a fragment before the answer', ({ answer }) => `${host}/callback#?${answer}`],
  ['a space', ({ address }) => `${address} `],
  ['a line break', ({ address }) => `${address}\n${host}/callback`],
  ['a second question mark', ({ answer }) => `${host}/callback??${answer}`],
  ['an ampersand in place of the question mark', ({ answer }) => `${host}/callback&${answer}`],
  ['a semicolon between', ({ answer }) => `${host}/callback?${answer.replaceAll('&', ';')}`],
  ['a longer path', ({ answer }) => `${host}/callback/x?${answer}`],
  ['a path that goes on', ({ answer }) => `${host}/callbackx?${answer}`],
  ['a trailing slash', ({ answer }) => `${host}/callback/?${answer}`],
  ['a path that leads back', ({ answer }) => `${host}/x/../callback?${answer}`],
  ['a path parameter', ({ answer }) => `${host}/callback;x?${answer}`],
  ['another host', ({ answer }) => `https://evil.example/callback?${answer}`],
  ['a host that goes on', ({ answer }) => `https://app.example.com.evil.example/callback?${answer}`],
  ['the host in capitals', ({ answer }) => `https://APP.example.com/callback?${answer}`],
  ['a port', ({ answer }) => `https://app.example.com:443/callback?${answer}`],
  ['another scheme', ({ answer }) => `http://app.example.com/callback?${answer}`],
  ['userinfo', ({ answer }) => `https://me@app.example.com/callback?${answer}`],
  ['the callback as userinfo', ({ answer }) => `https://app.example.com@evil.example/callback?${answer}`],
  ['the answer alone', ({ answer }) => `?${answer}`],
]
test('whatever else is behind or in front of the callback is refused, and consumes nothing', async () => {
  const called = await beCalled(client)
  const other = await holder.code(client)
  for (const [what, print] of wrong) {
    const answer = await house.exchange(client, called.code, { redirect_uri: print({ ...called, other }) })
    assertOAuthError(answer, 'invalid_grant')
    assert.match(String(answer.json().error_description), /^redirect_uri /, what)
  }
  assert.equal((await house.exchange(client, called.code, { redirect_uri: called.address })).status, 200)
})

test('an own query of the registered callback is part of it: without it, changed or moved, the address is refused', async () => {
  const own = await house.makeClient({ callbackUrl: `${host}/callback?tenant=7` })
  const { code, address, answer } = await beCalled(own)
  const moved = [`?${answer}`, `?${answer}&tenant=7`, `?tenant=8&${answer}`, `?tenant=7&tenant=7&${answer}`]
  for (const tail of [...moved, `?tenant=77&${answer}`, `?tenant=7${answer}`, `?tenant=7?${answer}`]) {
    assertOAuthError(
      await house.exchange(own, code, { redirect_uri: `${host}/callback${tail}` }),
      'invalid_grant',
    )
  }
  assert.equal((await house.exchange(own, code, { redirect_uri: address })).status, 200)
})

test('the address at which another client was called does not serve', async () => {
  const own = await house.makeClient({ callbackUrl: 'https://other.example/callback' })
  const [mine, theirs] = [await beCalled(client), await beCalled(own)]
  assertOAuthError(await house.exchange(client, mine.code, { redirect_uri: theirs.address }), 'invalid_grant')
  assertOAuthError(
    await house.exchange(client, theirs.code, { redirect_uri: theirs.address }),
    'invalid_grant',
  )
})

test('at the authorize endpoint nothing may be appended', async () => {
  const { address } = await beCalled(client)
  const query = new URLSearchParams({
    client_id: client.id,
    scope: 'read',
    state: 'st',
    redirect_uri: address,
  })
  const answer = await (await holder.browser()).get(`/v1/oauth/authorize?${query}`)
  assert.equal(answer.status, 400)
  assert.equal(answer.location, undefined)
})

test('a code that was refused in such an address is in no line of the log of calls', async () => {
  const { db, callLog } = house.gateway.context
  const own = await house.makeClient()
  const code = await holder.code(own, { extra: makeProof().parameters })
  for (const padding of [0, 60, 110, 140, 160]) {
    const redirect_uri = `${own.callbackUrl}?state=${'s'.repeat(padding)}t&code=${code}`
    assertOAuthError(await house.exchange(own, code, { redirect_uri }), 'invalid_grant')
  }
  await callLog.flush()
  const recorded = `calls c WHERE code IS NOT NULL AND client_id = '${own.id}'`
  assert.equal(await countRows(db, recorded), 5)
  assert.equal(await countRows(db, `${recorded} AND c::text LIKE '%${code.slice(0, 20)}%'`), 0)
})
