/** Spec 4.2: what the application hears once the user has answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setClientStatus } from '../../src/partners/client.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { openHouse, type TestClient } from '../support/gateway.ts'
import { hears, openHolder } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

/** Goes as far as the consent page. */
async function openConsent(asked: TestClient, state = 'st', scope = 'read'): Promise<Answer> {
  const browser = await holder.browser()
  const query = new URLSearchParams({ client_id: asked.id, scope, state })
  const login = await browser.get((await browser.get(`/v1/oauth/authorize?${query}`)).location!)
  return browser.get(login.location!)
}

async function answer(asked: TestClient, decision: 'approve' | 'deny', state?: string): Promise<string> {
  const page = await openConsent(asked, state)
  const { status, location } = await (await holder.browser()).submit(page, '/consent', { decision })
  assert.equal(status, 303)
  return location!
}

// A2, M2
test('the callback gets code, state and the issuer', async () => {
  const told = await holder.callback(client, { state: 'xyz' })
  assert.deepEqual([...told.keys()], ['code', 'state', 'iss'])
  assert.equal(told.get('state'), 'xyz')
  assert.equal(told.get('iss'), house.baseUrl)
})

// A2
test('the callback begins with the registered URL byte for byte, and an existing query is kept', async () => {
  const registered: [url: string, joint: string][] = [
    ['https://app.example.com/callback', '?'],
    ['https://app.example.com', '?'],
    ['https://App.Example.COM:443/Call%7eback/../x/./y', '?'],
    ['https://app.example.com/cb?tenant=7&next=%2Fhome', '&'],
    ['https://app.example.com/cb?', ''],
    ['https://app.example.com/cb?a=1&', ''],
    ["https://app.example.com/cb;p=1/'(x)!$,[y]|{z}", '?'],
  ]
  for (const [callbackUrl, joint] of registered) {
    const location = await answer(await house.makeClient({ callbackUrl }), 'approve')
    assert.equal(location.slice(0, callbackUrl.length), callbackUrl)
    assert.match(
      location.slice(callbackUrl.length + joint.length),
      /^code=[A-Za-z0-9]+&state=st&iss=http%3A%2F%2F/,
    )
    assert.equal(location.slice(callbackUrl.length).slice(0, joint.length), joint)
  }
})

// A5
test('any printable state comes back byte for byte, beside a code and beside an error', async () => {
  const json = JSON.stringify({ csrf: '"&=+%2B%', emoji: '😀', umlaut: 'ü' })
  const sealed = `eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0..${'aZ09-_'.repeat(70)}.x`
  for (const state of [
    'a+b c',
    '%2B%20',
    '&state=evil&code=evil',
    '\'"`<script>',
    '#?/\\',
    json,
    sealed,
    's'.repeat(2_048),
  ]) {
    for (const decision of ['approve', 'deny'] as const) {
      const told = new URL(await answer(client, decision, state)).searchParams
      assert.deepEqual(told.getAll('state'), [state])
      assert.equal(told.has('code'), decision === 'approve')
    }
  }
})

// A5
test('a state as long as a request head can carry comes back whole', async () => {
  const state = '😀'.repeat(1_280)
  assert.equal((await holder.callback(client, { state })).get('state'), state)
})

// A8, M2
test('a denial is told as access_denied with the state and the issuer, and without a code', async () => {
  const told = new URL(await answer(client, 'deny', 'no-thanks')).searchParams
  assert.deepEqual([...told.keys()].sort(), ['error', 'error_description', 'iss', 'state'])
  assert.equal(told.get('error'), 'access_denied')
  assert.equal(told.get('state'), 'no-thanks')
  assert.equal(told.get('iss'), house.baseUrl)
})

test('whoever leaves the login page instead is told as access_denied too', async () => {
  const stranger = new Browser(house.baseUrl)
  const start = await stranger.get(`/v1/oauth/authorize?client_id=${client.id}&scope=read&state=bye`)
  const page = await stranger.get(start.location!)
  const left = await stranger.submit(page, '/login/cancel', {})
  assert.equal(left.status, 303)
  const told = new URL(left.location!).searchParams
  assert.equal(told.get('error'), 'access_denied')
  assert.equal(told.get('state'), 'bye')
  assert.equal(told.get('iss'), house.baseUrl)
})

test('a request is answered once: a second click gives neither a second code nor a second callback', async () => {
  const page = await openConsent(client)
  const browser = await holder.browser()
  const click = () => browser.submit(page, '/consent', { decision: 'approve' })
  const answers = await Promise.all([click(), click(), click(), click()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 409, 409, 409])
  assert.equal((await browser.submit(page, '/consent', { decision: 'deny' })).status, 409)
})

test('every approval gives a code of its own', async () => {
  const codes = [await holder.code(client), await holder.code(client)]
  assert.notEqual(codes[0], codes[1])
  for (const code of codes) assert.equal((await house.exchange(client, code)).status, 200)
})

// A1 at the last moment
test('a client that is suspended while the user reads gets no code', async () => {
  const doomed = await house.makeClient()
  const page = await openConsent(doomed)
  const heard = hears(house.gateway, `client:${doomed.id}`)
  const { db } = house.gateway.context
  await setClientStatus(db, doomed, 'suspended', house.act())
  await heard
  const { status, location } = await (await holder.browser()).submit(page, '/consent', {
    decision: 'approve',
  })
  assert.equal(status, 400)
  assert.equal(location, undefined)
})
