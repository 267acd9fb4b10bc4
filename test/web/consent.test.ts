/** Who asks, for what, and an answer that can be given once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import { listAuthorizations, revokeAuthorization } from '../../src/oauth/authorization.ts'
import { setClientStatus, setScopesRequired, updateClient } from '../../src/partners/client.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { addAccount, setHolding } from '../../src/users/account.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { type ApproveOptions, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { hears } from '../support/oauth.ts'
import { approveForm, countRows, openConsent, pathOf, signInWith, startRequest } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()

const acting = () => ({ ...house.act(), development: true })
const countGrants = () => countRows(house.gateway.context.db, 'grants')

async function visit(options?: ApproveOptions, of: TestClient = client, accounts?: readonly string[]) {
  const user = await house.makeUser(undefined, accounts)
  const browser = await house.signIn(user)
  return { user, browser, page: await openConsent(browser, of, options) }
}

async function readAccounts(code: string): Promise<string[]> {
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const { profile } = (await house.profile(access_token)).json<{
    profile: { accounts: { account_number: string }[] }
  }>()
  return profile.accounts.map((account) => account.account_number)
}

test('the page names the application, its partner, the callback host, the user, the account and the duration', async () => {
  const partner = await house.makePartner({ refresh: false })
  const brief = await house.makeClient({ partner, callbackUrl: 'https://app.example.com:8443/callback' })
  const { page } = await visit({ scope: 'read' }, brief, ['6YA77777'])
  assert.match(page.text, /<h1>Allow <em>Portfolio Pal<\/em> to use your account\?<\/h1>/)
  assert.match(page.text, new RegExp(`an application of <strong>${partner.name}</strong>`))
  assert.match(page.text, /you return to <strong>app\.example\.com:8443<\/strong>/)
  assert.match(page.text, /signed in as <strong>Ada Holder<\/strong>/)
  assert.match(page.text, /6YA77777/)
  assert.match(page.text, /For 24 hours\. After that it has to ask you again\./)
  assert.match(page.text, /You can revoke it at any moment/)
  assert.match(
    (await visit()).page.text,
    /Until you revoke it: this partner may renew its access by itself\./,
  )
})

const words = {
  read: 'See your account',
  write: 'Change account data',
  market: 'Use market data',
  trade: 'Trade for you',
  stream: 'Receive real-time data',
}

for (const [scope, title] of Object.entries(words)) {
  test(`the scope ${scope} is shown in plain words, and no other is`, async () => {
    const { page } = await visit({ scope })
    for (const each of Object.values(words)) assert.equal(page.text.includes(each), each === title, each)
    assert.equal(page.text.includes('moves money'), scope === 'trade')
  })
}

test('approval leads to the callback with code, state and issuer', async () => {
  const { browser, page } = await visit({ state: 'a b&c=d+e/ü' })
  const answer = await browser.post('/consent', approveForm(page))
  assert.equal(answer.status, 303)
  const callback = new URL(answer.location!)
  assert.equal(callback.origin + callback.pathname, 'https://app.example.com/callback')
  assert.deepEqual([...callback.searchParams.keys()], ['code', 'state', 'iss'])
  assert.equal(callback.searchParams.get('state'), 'a b&c=d+e/ü')
  assert.equal(callback.searchParams.get('iss'), house.baseUrl)
  assert.equal((await house.exchange(client, callback.searchParams.get('code')!)).status, 200)
})

test('an answer cannot be given twice: the second is 409 and makes no second code', async () => {
  for (const [first, second] of [
    ['approve', 'approve'],
    ['approve', 'deny'],
    ['deny', 'approve'],
    ['deny', 'deny'],
  ] as const) {
    const { browser, page } = await visit()
    const before = await countGrants()
    assert.equal((await browser.submit(page, '/consent', { decision: first })).status, 303)
    const again = await browser.submit(page, '/consent', { decision: second })
    assert.equal(again.status, 409, `${first}, then ${second}`)
    assert.equal(again.location, undefined)
    assert.match(again.text, /already answered/)
    assert.equal((await countGrants()) - before, first === 'approve' ? 1 : 0)
  }
})

test('of ten answers at the same moment one counts', async () => {
  const { browser, page } = await visit()
  const before = await countGrants()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => browser.post('/consent', approveForm(page))),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array.from({ length: 9 }, () => 409)])
  assert.equal((await countGrants()) - before, 1)
  const { location } = answers.find(({ status }) => status === 303)!
  assert.equal((await house.exchange(client, new URL(location!).searchParams.get('code')!)).status, 200)
})

test('denial tells the callback access_denied with state and issuer, and grants nothing', async () => {
  const before = await countGrants()
  const { browser, page } = await visit({ state: 'keep me' })
  const answer = await browser.submit(page, '/consent', { decision: 'deny' })
  assert.equal(answer.status, 303)
  const { searchParams } = new URL(answer.location!)
  assert.equal(searchParams.get('error'), 'access_denied')
  assert.equal(searchParams.get('state'), 'keep me')
  assert.equal(searchParams.get('iss'), house.baseUrl)
  assert.equal(searchParams.has('code'), false)
  assert.equal(await countGrants(), before)
})

test('leaving the login page is a denial too', async () => {
  const browser = new Browser(house.baseUrl)
  const login = await browser.get(await startRequest(browser, client, { state: 'never mind' }))
  assert.match(login.text, /Cancel and return to app\.example\.com/)
  const answer = await browser.submit(login, '/login/cancel', {})
  assert.equal(answer.status, 303)
  const { searchParams } = new URL(answer.location!)
  assert.equal(searchParams.get('error'), 'access_denied')
  assert.equal(searchParams.get('state'), 'never mind')
  assert.equal(searchParams.get('iss'), house.baseUrl)
  assert.equal(searchParams.has('code'), false)

  await signInWith(browser, (await house.makeUser()).username)
  const late = await browser.get(`/consent?request=${hiddenFields(login.text, '/login').request}`)
  assert.equal((await browser.post('/consent', approveForm(late))).status, 409, 'the answer stands')
})

test('a request that was approved cannot be cancelled at a login page left open', async () => {
  const browser = new Browser(house.baseUrl)
  const path = await startRequest(browser, client)
  const login = await browser.get(path)
  const other = await house.signIn(await house.makeUser())
  const page = await other.get(pathOf(await other.get(path)))
  assert.equal((await other.post('/consent', approveForm(page))).status, 303)
  const answer = await browser.submit(login, '/login/cancel', {})
  assert.equal(answer.status, 409)
  assert.equal(answer.location, undefined)
})

test('a decision that is neither yes nor no answers nothing', async () => {
  const { browser, page } = await visit()
  for (const decision of [[], '', 'allow', ['deny', 'approve']]) {
    assert.equal((await browser.submit(page, '/consent', { decision })).status, 400)
  }
  assert.equal((await browser.post('/consent', approveForm(page))).status, 303)
})

test('fields that the page does not have change nothing', async () => {
  const other = await house.makeClient({ callbackUrl: 'https://other.example.com/callback' })
  const stranger = await house.makeUser(undefined, ['6YA00666'])
  const { user, browser, page } = await visit({ scope: 'read', state: 'mine' }, client, [
    '6YA11111',
    '6YA22222',
  ])
  const foreign = await browser.post('/consent', { ...approveForm(page), account: ['6YA11111', '6YA00666'] })
  assert.equal(foreign.location, undefined)
  const answer = await browser.post('/consent', {
    ...approveForm(page),
    account: ['6YA11111'],
    ...{
      scope: ['read', 'trade', 'read trade'],
      scopes: 'trade',
      client_id: other.id,
      redirect_uri: other.callbackUrl,
    },
    ...{ state: 'theirs', user: stranger.id, user_id: stranger.id, code_challenge: 'x'.repeat(43) },
  })
  const callback = new URL(answer.location!)
  assert.equal(callback.host, 'app.example.com')
  assert.equal(callback.searchParams.get('state'), 'mine')
  const exchanged = await house.exchange(client, callback.searchParams.get('code')!)
  const { scope, access_token } = exchanged.json<TokenBody>()
  assert.equal(scope, 'read')
  const { profile } = (await house.profile(access_token)).json<{
    profile: { id: string; account: { account_number: string } }
  }>()
  assert.equal(profile.id, user.id)
  assert.equal(profile.account.account_number, '6YA11111')
})

test('a request that was changed by a single character is none', async () => {
  const { browser, page } = await visit()
  const form = approveForm(page)
  const sealed = form.request as string
  const before = await countGrants()
  for (const place of [0, 8, 20, 60, sealed.length - 2]) {
    const changed = sealed.slice(0, place) + (sealed[place] === 'A' ? 'B' : 'A') + sealed.slice(place + 1)
    assert.equal((await browser.post('/consent', { ...form, request: changed })).status, 400)
    assert.equal((await browser.get(`/consent?request=${changed}`)).status, 400)
    assert.equal((await browser.get(`/login?request=${changed}`)).status, 400)
  }
  assert.equal(await countGrants(), before)
})

test("a page opened by one user cannot be answered in another's session", async () => {
  const { page } = await visit()
  const other = await house.signIn(await house.makeUser())
  const before = await countGrants()
  assert.equal((await other.post('/consent', approveForm(page))).status, 403)
  assert.equal(await countGrants(), before)
})

test('a request is good for 30 minutes and dead from then on', async () => {
  const [early, late] = [await visit(), await visit()]
  for (const { browser } of [early, late]) {
    house.clock.advance(7 * minute)
    await browser.get('/account')
  }
  house.clock.advance(16 * minute - second)
  assert.equal((await early.browser.post('/consent', approveForm(early.page))).status, 303)
  house.clock.advance(second)
  const answer = await late.browser.post('/consent', approveForm(late.page))
  assert.equal(answer.status, 400)
  assert.equal(answer.location, undefined)
  assert.match(answer.text, /has expired/)
})

const withdrawals: Record<string, (of: TestClient) => Promise<unknown>> = {
  'the client is suspended': (of) => setClientStatus(house.gateway.context.db, of, 'suspended', house.act()),
  'the callback is changed': (of) =>
    updateClient(house.gateway.context.db, of, { callbackUrl: 'https://app.example.com/new' }, acting()),
  'a scope it asks for is withdrawn from the client': (of) =>
    updateClient(house.gateway.context.db, of, { scope: 'market stream' }, acting()),
  'the partner is suspended': async (of) => {
    const { db } = house.gateway.context
    const partner = await getPartner(db, String(of.branchId))
    await setPartnerStatus(db, partner, 'suspended', 'late fees', house.act())
  },
}

for (const [what, withdraw] of Object.entries(withdrawals)) {
  test(`a request can no longer be approved after ${what}`, async () => {
    const changing = await house.makeClient()
    const { browser, page } = await visit({ scope: 'read' }, changing)
    const before = await countGrants()
    const heard = Promise.race([
      hears(house.gateway, `client:${changing.id}`),
      hears(house.gateway, `branch:${changing.branchId}`),
    ])
    await withdraw(changing)
    await heard
    const answer = await browser.post('/consent', approveForm(page))
    assert.equal(answer.status, 400)
    assert.equal(answer.location, undefined)
    assert.equal(await countGrants(), before)
  })
}

test('a user who is disabled can no longer approve', async () => {
  const { user, browser, page } = await visit()
  const before = await countGrants()
  await setUserStatus(house.gateway.context.db, user, 'disabled', house.act())
  assert.match((await browser.post('/consent', approveForm(page))).location!, /^\/login\?request=/)
  assert.equal(await countGrants(), before)
})

test('the accounts that the user ticks are the ones the application sees', async () => {
  const { browser, page } = await visit({}, client, ['6YA30001', '6YA30002', '6YA30003'])
  assert.equal([...page.text.matchAll(/name="account"/g)].length, 3)
  const answer = await browser.post('/consent', { ...approveForm(page), account: ['6YA30003', '6YA30001'] })
  const code = new URL(answer.location!).searchParams.get('code')!
  assert.deepEqual((await readAccounts(code)).sort(), ['6YA30001', '6YA30003'])
})

test('at least one account must be ticked, and only own ones count', async () => {
  await house.makeUser(undefined, ['6YA40009'])
  const { browser, page } = await visit({}, client, ['6YA40001', '6YA40002'])
  const before = await countGrants()
  for (const account of [[], ['6YA40009'], ['VA6YA40001'], ['']]) {
    const answer = await browser.post('/consent', { ...approveForm(page), account })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Choose at least one account/)
    assert.equal(await countGrants(), before)
  }
  const again = await browser.post('/consent', { ...approveForm(page), account: [] })
  const answer = await browser.post('/consent', { ...approveForm(again), account: ['6YA40002'] })
  const code = new URL(answer.location!).searchParams.get('code')!
  assert.deepEqual(await readAccounts(code), ['6YA40002'])
})

test('a page that comes back for want of an account leaves every box as the user left it', async () => {
  const { browser, page } = await visit({}, client, ['6YA45001', '6YA45002'])
  assert.equal([...page.text.matchAll(/type="checkbox"[^>]* checked/g)].length, 2, 'at first all are ticked')
  const again = await browser.post('/consent', { ...approveForm(page), account: [] })
  assert.equal([...again.text.matchAll(/type="checkbox"/g)].length, 2)
  assert.doesNotMatch(again.text, /type="checkbox"[^>]* checked/)
})

test('consent is asked again for what was approved before', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  await house.approve(client, browser, { scope: 'read trade' })
  for (const scope of ['read', 'read trade', 'read trade write']) {
    assert.match((await openConsent(browser, client, { scope })).text, /It will be able to/)
  }
})

for (const scope of ['trade', 'write', 'read market stream trade']) {
  test(`the scope "${scope}" demands a sign-in at most five minutes old`, async () => {
    const user = await house.makeUser()
    const browser = await house.signIn(user)
    house.clock.advance(5 * minute)
    const page = await openConsent(browser, client, { scope })
    const before = await countGrants()
    house.clock.advance(second)
    const path = `/login?request=${approveForm(page).request}`
    const refused = await browser.post('/consent', approveForm(page))
    assert.equal(refused.location, path)
    assert.equal((await browser.get(path.replace('/login', '/consent'))).location, path)
    assert.equal(await countGrants(), before)

    const login = await browser.get(path)
    assert.match(login.text, /Confirm it is you/)
    const confirmed = await signInWith(browser, user.username, { path })
    const fresh = await browser.get(confirmed.location!)
    assert.equal((await browser.post('/consent', approveForm(fresh))).status, 303)
  })
}

test('scopes that change nothing are content with an older sign-in', async () => {
  const browser = await house.signIn(await house.makeUser())
  house.clock.advance(20 * minute)
  assert.equal((await browser.post('/consent', approveForm(await openConsent(browser, client)))).status, 303)
})

test('whoever confirms as another user answers as that user', async () => {
  const [one, other] = await Promise.all([house.makeUser(), house.makeUser()])
  const browser = await house.signIn(one)
  house.clock.advance(6 * minute)
  const path = await startRequest(browser, client, { scope: 'read trade' })
  const confirmed = await signInWith(browser, other.username, { path })
  const answer = await browser.post('/consent', approveForm(await browser.get(confirmed.location!)))
  const exchanged = await house.exchange(client, new URL(answer.location!).searchParams.get('code')!)
  const { profile } = (await house.profile(exchanged.json<TokenBody>().access_token)).json<{
    profile: { id: string }
  }>()
  assert.equal(profile.id, other.id)
})

test('a request of the live environment is none in the sandbox', async () => {
  const user = await house.makeUser()
  const sandbox = await house.signIn(user, 'sandbox')
  const path = await startRequest(new Browser(house.baseUrl), client)
  assert.equal((await sandbox.get(path)).status, 400)
  assert.equal((await sandbox.get(path.replace('/login', '/consent'))).status, 400)
})

const ticked = (page: { text: string }, name: string) =>
  [...page.text.matchAll(new RegExp(`name="${name}"\\s+value="([^"]*)" checked`, 'g'))].map(
    ([, value]) => value,
  )

async function tokensOf(browser: Browser, of: TestClient, fields: Parameters<Browser['post']>[1]) {
  const answer = await browser.post('/consent', fields)
  assert.equal(answer.status, 303, answer.text)
  return (await house.exchange(of, new URL(answer.location!).searchParams.get('code')!)).json<TokenBody>()
}

test('a scope that the user unticks is not given: the token says so, and its refreshes too', async () => {
  const of = await house.makeClient({ partner: await house.makePartner({ refresh: true }) })
  const { browser, page } = await visit({ scope: 'read trade stream' }, of)
  assert.deepEqual(ticked(page, 'scope'), ['read', 'trade', 'stream'], 'at first all that is asked is ticked')
  const tokens = await tokensOf(browser, of, { ...approveForm(page), scope: ['read', 'stream'] })
  assert.equal(tokens.scope, 'read stream')
  const refreshed = await house.refresh(of, tokens.refresh_token!)
  assert.equal(refreshed.json<TokenBody>().scope, 'read stream')
})

test('an approval without any scope approves nothing', async () => {
  const { browser, page } = await visit({ scope: 'read trade' })
  const before = await countGrants()
  for (const scope of [[], ['market'], ['']]) {
    const answer = await browser.post('/consent', { ...approveForm(page), scope })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Choose at least one thing that it may do/)
  }
  assert.equal(await countGrants(), before)
})

test('approving again starts from what stands: what was left out stays out, what is new is marked, and neither is ticked', async () => {
  const { user, browser, page } = await visit({ scope: 'read trade' }, client, ['6YA50001', '6YA50002'])
  await tokensOf(browser, client, { ...approveForm(page), scope: ['read'], account: ['6YA50001'] })
  house.clock.advance(second)
  const fresh = { accountNumber: '6YA50003', environment: 'live', classification: 'individual' } as const
  const account = { ...fresh, dayTrader: false, optionLevel: 1, type: 'cash' } as const
  await addAccount(house.gateway.context.db, user, account, house.act())

  const again = await openConsent(browser, client, { scope: 'read trade stream' })
  assert.deepEqual(ticked(again, 'scope'), ['read'])
  assert.deepEqual(ticked(again, 'account'), ['6YA50001'])
  assert.equal([...again.text.matchAll(/not allowed so far/g)].length, 2)
  assert.match(again.text, /6YA50003(?:(?!6YA)[\s\S])*<span class="badge">new<\/span>/)
  assert.equal(
    [...again.text.matchAll(/<span class="badge">new</g)].length,
    1,
    'what was left out is not new',
  )
  const asShown = { ...approveForm(again), scope: ticked(again, 'scope'), account: ticked(again, 'account') }
  const tokens = await tokensOf(browser, client, asShown as Record<string, string[]>)
  assert.equal(tokens.scope, 'read')
  assert.equal((await house.profile(tokens.access_token)).text.includes('6YA50002'), false)

  const more = await openConsent(browser, client, { scope: 'read trade' })
  assert.doesNotMatch(more.text, /class="badge">new</, 'it has been seen')
  const wider = await tokensOf(browser, client, approveForm(more))
  assert.equal(wider.scope, 'read trade', 'more is a decision')
})

test('the account that was left out is not said as the only one: it has to be ticked', async () => {
  const { user, browser, page } = await visit({}, client, ['6YA51001', '6YA51002'])
  await browser.post('/consent', { ...approveForm(page), account: ['6YA51001'] })
  const { db } = house.gateway.context
  await ask(db, "UPDATE holdings SET status = 'suspended' WHERE user_id = $1 AND account_number = $2", [
    ...[user.id, '6YA51001'],
  ])
  const again = await openConsent(browser, client)
  assert.match(again.text, /type="checkbox" name="account"\s+value="6YA51002">/)
  const unticked = await browser.post('/consent', { ...approveForm(again), account: [] })
  assert.match(unticked.text, /Choose at least one account/)
})

test('after the access was revoked nothing stands, and the page starts as at first', async () => {
  const { user, browser, page } = await visit({ scope: 'read trade' })
  await browser.post('/consent', { ...approveForm(page), scope: ['read'] })
  const { db } = house.gateway.context
  const [authorization] = await listAuthorizations(db, { userId: user.id })
  await revokeAuthorization(db, { id: authorization!.id, reason: 'revoked by the user' }, house.act())
  const again = await openConsent(browser, client, { scope: 'read trade' })
  assert.deepEqual(ticked(again, 'scope'), ['read', 'trade'])
  assert.doesNotMatch(again.text, /You allowed it access/)
})

test('a scope that the client requires cannot be left out, not by a forged form either', async () => {
  const of = await house.makeClient()
  const { db } = house.gateway.context
  const heard = hears(house.gateway, `client:${of.id}`)
  await setScopesRequired(db, of, ['read', 'stream'], house.act())
  await heard
  const { browser, page } = await visit({ scope: 'read trade' }, of)
  assert.match(page.text, /<span class="badge">required<\/span>/)
  assert.match(page.text, /<input type="hidden" name="scope" value="read">/)
  assert.deepEqual(ticked(page, 'scope'), ['trade'])
  const forged = await browser.post('/consent', { ...approveForm(page), scope: ['trade'] })
  assert.equal(forged.status, 400)
  assert.match(forged.text, /does not work without: See your account/)
  assert.equal((await tokensOf(browser, of, { ...approveForm(page), scope: ['read'] })).scope, 'read')
})

test('an account held jointly names the other holder', async () => {
  const { db } = house.gateway.context
  await house.makeUser('grace', ['6YA52001'])
  await ask(db, "UPDATE users SET name = 'Grace Jointly' WHERE username = 'grace'")
  const user = await house.makeUser()
  const joint = { accountNumber: '6YA52001', role: 'joint', scopes: ['read', 'trade'] } as const
  await setHolding(db, user, joint, house.act())
  const page = await openConsent(await house.signIn(user), client)
  assert.match(page.text, /6YA52001 held together with <strong>Grace Jointly<\/strong>/)
})

test('“Not you?” ends the session, and the request is answered by whoever signs in next', async () => {
  const { user, browser, page } = await visit({ state: 'kept' })
  const other = await house.makeUser()
  assert.equal((await browser.post('/consent/other', { request: approveForm(page).request! })).status, 403)
  const left = await browser.submit(page, '/consent/other', {})
  assert.match(left.location!, /^\/login\?request=/)
  assert.equal((await browser.get('/account')).status, 303, 'signed out')
  assert.notEqual((await browser.post('/consent', approveForm(page))).status, 200)
  const confirmed = await signInWith(browser, other.username, { path: left.location! })
  const theirs = await browser.get(confirmed.location!)
  assert.equal((await browser.post('/consent', approveForm(theirs))).status, 303)
  const { db } = house.gateway.context
  assert.deepEqual(await listAuthorizations(db, { userId: user.id }), [])
  assert.equal((await listAuthorizations(db, { userId: other.id })).length, 1)
})
