/** Names come from partners and users, and are text on every page, never markup. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../src/partners/client.ts'
import { applyAsPartner, getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { addAccount } from '../../src/users/account.ts'
import { createUser } from '../../src/users/user.ts'
import { Browser } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { approveForm, assertGuarded, openConsent, signInWith, startRequest } from '../support/web.ts'

/** Each begins differently, so that a page which shows one unescaped is told apart. */
const evil = (name: string) => `${name}"'><script src=//evil.example></script><img onerror=x>&lt;`
const escaped = (name: string) =>
  `${name}&quot;&#39;&gt;&lt;script src=//evil.example&gt;&lt;/script&gt;&lt;img onerror=x&gt;&amp;lt;`

const house = await openHouse()
const { db, vault, passwords } = house.gateway.context
const act = house.act()
const { branchId } = await applyAsPartner(db, evil('partner'), act)
const partner = await getPartner(db, String(branchId))
await setPartnerStatus(db, partner, 'approved', undefined, act)
const draft = {
  name: evil('client'),
  callbackUrl: 'https://app.example.com/callback',
  rotateRefreshTokens: false,
}
const made = await createClient(
  db,
  vault,
  partner,
  'live',
  { ...draft, scope: 'read trade' },
  { ...act, development: true },
)
const client = { ...made.client, secret: made.secret.text }
const user = await createUser(
  db,
  passwords,
  { username: 'ada', name: evil('user'), password, role: 'holder' },
  act,
)
const common = { classification: evil('class'), dayTrader: false, optionLevel: 1, type: 'cash' } as const
for (const accountNumber of ['6YA60001', '6YA60002']) {
  await addAccount(db, user, { ...common, accountNumber, environment: 'live' }, act)
}
const browser = await house.signIn(user)

function assertTexts(page: string, ...names: string[]): void {
  assert.doesNotMatch(page, /<script src=\/\/evil|<img onerror/)
  for (const name of names) assert.ok(page.includes(escaped(name)), `${name} is shown as text`)
}

test('the login page shows the names of application and partner as text', async () => {
  const page = await new Browser(house.baseUrl).get(await startRequest(browser, client))
  assertTexts(page.text, 'client', 'partner')
  assert.ok(page.text.includes(`<strong>${escaped('client')}</strong>`))
})

test('the consent page shows every name as text, in its title too', async () => {
  const page = await openConsent(browser, client)
  assertTexts(page.text, 'client', 'partner', 'user', 'class')
  assert.ok(page.text.includes(`<title>Allow ${escaped('client')}?`))
})

test('the account pages show every name as text', async () => {
  await house.approve(client, browser)
  assertTexts((await browser.get('/account')).text, 'client', 'partner', 'user')
  const page = await browser.get('/account/api')
  await browser.submit(page, '/account/api/tokens', { name: evil('token'), environment: 'live' })
  assertTexts((await browser.get('/account/api')).text, 'token', 'user')
  const refused = await browser.submit(page, '/account/api/tokens', {
    name: evil('long').repeat(3),
    environment: 'live',
  })
  assert.equal(refused.status, 400)
  assertTexts(refused.text, 'long')
})

test('a username that was refused comes back as text', async () => {
  const answer = await signInWith(new Browser(house.baseUrl), evil('name'))
  assert.equal(answer.status, 401)
  assertTexts(answer.text, 'name')
})

test('nothing of an address is repeated as markup', async () => {
  const text = '"><script src=//evil.example></script>'
  const addresses = [
    `/nowhere/${encodeURIComponent(text)}`,
    `/v1/oauth/authorize?${new URLSearchParams({ client_id: text, scope: text, state: text })}`,
    `/v1/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: text })}`,
    `/consent?${new URLSearchParams({ request: text })}`,
    `/login?${new URLSearchParams({ request: text })}`,
    `/login?${new URLSearchParams({ return: text })}`,
    `/login?confirm=1&${new URLSearchParams({ return: text })}`,
  ]
  for (const address of addresses) {
    const answer = await new Browser(house.baseUrl).get(address)
    assert.doesNotMatch(answer.text, /evil\.example/, address)
    assertGuarded(answer, address)
  }
})

test('a request id sent by the client is shown only when it is plain', async () => {
  const browserless = new Browser(house.baseUrl)
  const answer = await browserless.get('/nowhere', { 'x-request-id': '<b>x</b>' })
  assert.doesNotMatch(answer.text, /<b>x/)
  assert.match(
    (await browserless.get('/nowhere', { 'x-request-id': 'abc-1.2_3' })).text,
    /<code>abc-1\.2_3<\/code>/,
  )
})

test('hidden fields survive their way through the page', async () => {
  const page = await openConsent(browser, client, { state: evil('state') })
  const answer = await browser.post('/consent', {
    ...approveForm(page),
    account: '6YA60001',
  })
  assert.equal(new URL(answer.location!).searchParams.get('state'), evil('state'))
})
