/**
 * After signing in, a visitor goes to their request or to their account, never to another site.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHouse } from '../support/gateway.ts'
import { signInWith, startRequest } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()
const visitor = await house.signIn(await house.makeUser())

const elsewhere = [
  'https://evil.example',
  '//evil.example',
  '///evil.example/account',
  '/\\evil.example',
  '\\/evil.example',
  '/account//evil.example',
  '/account/../..//evil.example',
  '/account@evil.example',
  '/account.evil.example',
  '/account?next=//evil.example',
  '/account#//evil.example',
  '/account\n//evil.example',
  '/account\r\nLocation: https://evil.example',
  '\t//evil.example',
  ' /account',
  '/%2f%2fevil.example',
  '%2f%2fevil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'account',
  '/logout',
  '/consent?request=x',
  '/Account',
  '/partner//evil.example',
  '/partner/7/../..//evil.example',
  '/partner@evil.example',
  '/partner/7?state=//evil.example',
  '/partner/7?state=waiting#x',
  '/partner\\evil.example',
  '/partner/7\r\nx: y',
  '',
]

test('a return address is a page of the account or is not followed', async () => {
  for (const address of elsewhere) {
    const asked = `/login?${new URLSearchParams({ return: address })}`
    assert.equal((await visitor.get(asked)).location, '/account', JSON.stringify(address))
  }
  const inside = [
    '/account',
    '/account/api',
    '/partner',
    '/partner/7/deliveries?state=waiting&entity=transaction%3A42',
  ]
  for (const address of inside) {
    const asked = `/login?${new URLSearchParams({ return: address })}`
    assert.equal((await visitor.get(asked)).location, address)
  }
})

test('a return address put into the login form is not followed either', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  for (const address of ['https://evil.example', '//evil.example', '/account\r\nx: y', '/\\evil.example']) {
    const path = `/login?${new URLSearchParams({ confirm: '1', return: address })}`
    assert.equal(
      (await signInWith(browser, user.username, { path })).location,
      '/account',
      JSON.stringify(address),
    )
  }
})

test('parameters that other products follow are ignored', async () => {
  for (const name of ['next', 'redirect', 'redirect_uri', 'url', 'continue', 'callback_url', 'RETURN']) {
    assert.equal((await visitor.get(`/login?${name}=https://evil.example`)).location, '/account', name)
  }
})

test('a request that was not sealed here, or for another place, leads nowhere', async () => {
  const { vault, clock } = house.gateway.context
  const request = {
    id: 'x',
    clientId: client.id,
    callbackUrl: 'https://evil.example',
    scopes: ['read'],
    state: 'st',
  }
  const text = JSON.stringify({ ...request, receivedAt: clock.now().getTime() })
  const sealed = {
    'an address': 'https://evil.example',
    'an unsealed request': Buffer.from(text).toString('base64url'),
    'one sealed for another purpose': vault.seal('device-cookie', text).toString('base64url'),
    'one sealed for the sandbox': vault.seal('authorization-request:sandbox', text).toString('base64url'),
    'one with a callback that is not registered': vault
      .seal('authorization-request:live', text)
      .toString('base64url'),
    'one that is cut': (await startRequest(visitor, client)).slice('/login?request='.length, -5),
    'random bytes': 'A'.repeat(200),
  }
  for (const [what, value] of Object.entries(sealed)) {
    for (const page of ['/login', '/consent']) {
      const answer = await visitor.get(`${page}?${new URLSearchParams({ request: value })}`)
      assert.equal(answer.status, 400, `${page}: ${what}`)
      assert.equal(answer.location, undefined)
    }
  }
})

test('characters added to a sealed request neither break the answer nor reach its Location', async () => {
  const sealed = (await startRequest(visitor, client)).slice('/login?request='.length)
  for (const added of ['\r\n', '\n', '\0', ' ', '#', '&', '!', '%', '\u{1f600}', '=', '@']) {
    for (const value of [added + sealed, sealed + added, sealed.slice(0, 40) + added + sealed.slice(40)]) {
      const answer = await visitor.get(`/login?${new URLSearchParams({ request: value })}`)
      assert.ok(answer.status === 303 || answer.status === 400, `${JSON.stringify(added)}: ${answer.status}`)
      assert.ok(
        answer.location === undefined || answer.location === `/consent?request=${sealed}`,
        answer.location,
      )
    }
  }
})

test('a parameter sent twice is never half believed', async () => {
  const sealed = (await startRequest(visitor, client)).slice('/login?request='.length)
  const twice = await visitor.get(`/login?return=/account/api&return=https://evil.example`)
  assert.match(twice.location ?? '/account', /^\/account(\/api)?$/)
  const requests = await visitor.get(`/login?request=${sealed}&request=https://evil.example`)
  assert.ok(requests.status === 400 || requests.location === `/consent?request=${sealed}`)
})
