/** Which ways in there are is a setting: passwords, the brokerage's providers, or both. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listTestHolders } from '../../src/users/test-holder.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { registerUpstream } from '../support/upstream.ts'
import { pathOf, signInWith, startRequest } from '../support/web.ts'

const issuer = 'https://127.0.0.1:9'

test('where holders have passwords alone, a provider of holders is no way in, not even by its address', async () => {
  const house = await openHouse({ HOLDER_SIGN_IN: 'password', ROLES: 'api' })
  await registerUpstream(house, { issuer }, 'bank')
  const browser = new Browser(house.baseUrl)
  const page = await browser.get('/login')
  assert.equal(page.status, 200)
  assert.doesNotMatch(page.text, /Example Bank ID/)
  assert.equal((await browser.get('/login/with/bank')).status, 404)
  assert.equal((await browser.get('/login/from/bank?state=x&code=y')).status, 404)
})

test('where they have both, the page offers both', async () => {
  const house = await openHouse({ ROLES: 'api' })
  await registerUpstream(house, { issuer }, 'bank')
  const { text } = await new Browser(house.baseUrl).get('/login?return=%2Faccount%2Fapi')
  assert.match(text, /href="\/login\/with\/bank\?return=%2Faccount%2Fapi">Continue with Example Bank ID/)
  assert.match(text, /<input[^>]* name="password"/)
})

test('where a provider is the only way and none is set up, the page says so', async () => {
  const house = await openHouse({ HOLDER_SIGN_IN: 'provider', ROLES: 'api' })
  await registerUpstream(house, { issuer }, 'staff', { kind: 'staff', label: 'Staff ID', linkClaim: null })
  const { text } = await new Browser(house.baseUrl).get('/login')
  assert.match(text, /Nobody can sign in here at the moment/)
  assert.doesNotMatch(text, /<input[^>]* name="password"/)
})

test('where a provider is the only way, a partner’s test holder still approves its client in the sandbox, and nobody else signs in so', async () => {
  const house = await openHouse({ HOLDER_SIGN_IN: 'provider', ROLES: 'api' })
  const { db, vault } = house.gateway.context
  await registerUpstream(house, { issuer }, 'bank')
  const partner = await house.makePartner()
  const live = await house.makeClient({ partner })
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  const [ada] = await listTestHolders(db, vault, partner.branchId)
  const browser = new Browser(house.sandboxUrl)
  const login = await browser.get(await startRequest(browser, client))
  assert.match(login.text, /Continue with Example Bank ID/)
  assert.doesNotMatch(login.text, /<input[^>]* name="password"/)
  const [, path] = /href="(\/login\/password\?[^"]*)">Sign in with a password/.exec(login.text)!
  const { username, password } = ada!
  const signedIn = await signInWith(browser, username, { path: path!, password })
  assert.equal(signedIn.status, 303, signedIn.text)
  assert.match((await browser.get(pathOf(signedIn))).text, new RegExp(client.name))
  const holder = await house.makeUser()
  assert.equal(
    (await signInWith(new Browser(house.sandboxUrl), holder.username, { path: path! })).status,
    401,
  )

  const there = new Browser(house.baseUrl)
  const direct = await there.get(await startRequest(there, live))
  assert.doesNotMatch(direct.text, /Sign in with a password/, 'the live site leads to the provider')
  const refused = await signInWith(there, username, { path: '/login/password', password })
  assert.equal(refused.status, 401, 'they are of the sandbox alone')
})
