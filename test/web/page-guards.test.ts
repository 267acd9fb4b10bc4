/**
 * Every page, whatever it tells, cannot be framed, kept, scripted or followed back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageRoutes } from '../../src/web/routes.ts'
import { type Answer, Browser, hiddenFields, send } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { makeGuardedUser, sendSecond, startSignIn } from '../support/second-factor.ts'
import { approveForm, assertGuarded, openConsent, parsePolicy, pathOf, startRequest } from '../support/web.ts'

const house = await openHouse({
  LOGIN_FAILURES_PER_ADDRESS: '3',
  TRUST_PROXY: '127.0.0.1,::1',
  HOST: 'localhost',
})
const client = await house.makeClient()
const user = await house.makeUser()
const visitor = await house.signIn(user)
const inSandbox = await house.signIn(user, 'sandbox')

const stranger = () => new Browser(house.baseUrl)

async function failAtLogin(address: string, times: number): Promise<Answer> {
  const headers = { 'x-forwarded-for': address }
  const browser = stranger()
  const fields = {
    ...hiddenFields((await browser.get('/login')).text, '/login'),
    username: 'nobody',
    password: 'wrong',
  }
  for (let time = 1; time < times; time++) await browser.post('/login', fields, headers)
  return browser.post('/login', fields, headers)
}

async function answerTwice(): Promise<Answer> {
  const form = approveForm(await openConsent(visitor, client))
  await visitor.post('/consent', form)
  return visitor.post('/consent', form)
}

async function createToken(fields: Record<string, string>): Promise<Answer> {
  return visitor.submit(await visitor.get('/account/api'), '/account/api/tokens', {
    environment: 'live',
    ...fields,
  })
}

const pages: Record<string, { status: number; open: () => Promise<Answer> }> = {
  'GET /login': { status: 200, open: () => stranger().get('/login') },
  'GET /login, with a request': {
    status: 200,
    open: async () => stranger().get(await startRequest(stranger(), client)),
  },
  'GET /login, to confirm': { status: 200, open: () => visitor.get('/login?confirm=1') },
  'GET /consent': { status: 200, open: () => openConsent(visitor, client) },
  'GET /account': { status: 200, open: () => visitor.get('/account') },
  'GET /account/api': { status: 200, open: () => visitor.get('/account/api') },
  'GET /account/devices': { status: 200, open: () => visitor.get('/account/devices') },
  'GET /account/security': { status: 200, open: () => visitor.get('/account/security?done=password') },
  'GET /account/password': { status: 200, open: () => visitor.get('/account/password') },
  'POST /account/password, with nothing': {
    status: 400,
    open: async () => visitor.submit(await visitor.get('/account/password'), '/account/password', {}),
  },
  'GET /account/security/notices': {
    status: 200,
    open: () => visitor.get('/account/security/notices?done=chosen'),
  },
  'GET /account/security/email': { status: 200, open: () => visitor.get('/account/security/email') },
  'POST /account/security/email, with nothing': {
    status: 400,
    open: async () =>
      visitor.submit(await visitor.get('/account/security/email'), '/account/security/email', {}),
  },
  'GET /account/security/app': { status: 200, open: () => visitor.get('/account/security/app') },
  'POST /account/security/app, with a wrong code': {
    status: 400,
    open: async () => visitor.submit(await visitor.get('/account/security/app'), '/account/security/app', {}),
  },
  'GET /account/security/passkey': { status: 200, open: () => visitor.get('/account/security/passkey') },
  'POST /account/security/passkey, with nothing': {
    status: 400,
    open: async () =>
      visitor.submit(await visitor.get('/account/security/passkey'), '/account/security/passkey', {}),
  },
  'POST /account/security/recovery': {
    status: 200,
    open: async () => {
      const { browser } = await makeGuardedUser(house)
      return browser.submit(await browser.get('/account/security'), '/account/security/recovery', {})
    },
  },
  'GET /login/second': {
    status: 200,
    open: async () => (await startSignIn(house, (await makeGuardedUser(house)).user)).get('/login/second'),
  },
  'POST /login/second, refused': {
    status: 401,
    open: async () =>
      sendSecond(await startSignIn(house, (await makeGuardedUser(house)).user), { code: '000000' }),
  },
  'GET /account/views': { status: 200, open: () => visitor.get('/account/views') },
  'GET /account/history': { status: 200, open: () => visitor.get('/account/history') },
  'POST /account/api/tokens, with the new token': { status: 200, open: () => createToken({ name: 'mine' }) },
  'POST /account/api/tokens, without a name': { status: 400, open: () => createToken({ name: '' }) },
  'POST /login, refused': { status: 401, open: () => failAtLogin('192.0.2.1', 1) },
  'POST /login, from an address that must wait': { status: 429, open: () => failAtLogin('192.0.2.2', 4) },
  'GET /v1/oauth/authorize, of nobody': {
    status: 400,
    open: () => stranger().get('/v1/oauth/authorize?client_id=x'),
  },
  'GET /consent, without a request': { status: 400, open: () => visitor.get('/consent') },
  'POST /consent, a second time': { status: 409, open: answerTwice },
  'an address that is none': { status: 404, open: () => stranger().get('/nowhere') },
  'an address that is malformed': { status: 400, open: () => stranger().get('/login/%zz') },
  'a body that is too large': {
    status: 413,
    open: () => stranger().post('/login', { username: 'x'.repeat(70_000) }),
  },
  'a body that is no form': {
    status: 415,
    open: () => stranger().post('/login', {}, { 'content-type': 'text/plain' }),
  },
}

for (const [where, { status, open }] of Object.entries(pages)) {
  test(`${where}: the page of status ${status} is guarded`, async () => {
    const answer = await open()
    assert.equal(answer.status, status)
    assertGuarded(answer, where)
  })
}

const paths = [...new Set(pageRoutes.map(({ path }) => path))]

/** Whoever is where the address is. */
function visitorOf(path: string): Browser {
  return pageRoutes.some((route) => route.path === path && route.sites.includes('live')) ? visitor : inSandbox
}

test('the address of a form, asked for by GET, leads to the page that it is on', async () => {
  const led = pageRoutes.filter(({ method, path, heldBy }) => method === 'POST' && heldBy !== path)
  assert.ok(led.length > 90)
  for (const { path, heldBy } of led) {
    const fill = (named: string) => named.replaceAll(/:\w+/g, '1')
    const answer = await visitorOf(path).get(`${fill(path)}?csrf=1`)
    assert.equal(answer.status, 303, path)
    assert.equal(answer.location, fill(heldBy))
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
  const hostile = await visitor.get('/partner/%0d%0aset-cookie:%20a=b/apply')
  assert.equal(hostile.location, '/partner/%0D%0Aset-cookie%3A%20a%3Db')
  assert.equal((await stranger().get('/logout')).location, '/')
  assert.equal((await visitor.get('/account')).status, 200, 'nobody is signed out by an address')
})

test('every address of the site refuses other methods with a guarded page', async () => {
  const leading = new Set(pageRoutes.filter(({ path, heldBy }) => heldBy !== path).map(({ path }) => path))
  for (const path of paths.filter((each) => !leading.has(each))) {
    const taken = pageRoutes.filter((route) => route.path === path).map(({ method }) => method)
    const wrong = taken.includes('POST') ? 'GET' : 'POST'
    if (taken.includes(wrong)) continue
    const answer = wrong === 'GET' ? await visitorOf(path).get(path) : await visitorOf(path).post(path, {})
    assert.equal(answer.status, 405, path)
    assertGuarded(answer, `${wrong} ${path}`)
  }
})

test('every form of the site refuses one that is not ours with a guarded page', async () => {
  const { request } = hiddenFields((await openConsent(visitor, client)).text, '/consent')
  // What a provider sends is no form.
  const forms = pageRoutes.filter(
    ({ method, path }) => method === 'POST' && path !== '/logout/from/:provider',
  )
  for (const { path } of forms) {
    const answer = await visitorOf(path).post(path, { request: request! })
    assert.equal(answer.status, 403, path)
    assertGuarded(answer, `POST ${path}`)
  }
})

const redirects: Record<string, () => Promise<Answer>> = {
  'GET /': () => stranger().get('/'),
  'GET /account, signed out': () => stranger().get('/account'),
  'GET /account/api, signed out': () => stranger().get('/account/api'),
  'GET /consent, signed out': async () =>
    stranger().get((await startRequest(stranger(), client)).replace('/login', '/consent')),
  'GET /login, signed in': () => visitor.get('/login'),
  'GET /v1/oauth/authorize': () =>
    stranger().get(`/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`),
  'GET /v1/oauth/authorize, told to the callback': () =>
    stranger().get(`/v1/oauth/authorize?client_id=${client.id}`),
  'POST /login': async () => {
    const [browser, { username }] = [stranger(), await house.makeUser()]
    return browser.submit(await browser.get('/login'), '/login', { username, password })
  },
  'POST /login/cancel': async () => {
    const browser = stranger()
    return browser.submit(await browser.get(await startRequest(browser, client)), '/login/cancel', {})
  },
  'POST /consent, with the code': async () =>
    visitor.post('/consent', approveForm(await openConsent(visitor, client))),
  'POST /consent, denied': async () =>
    visitor.submit(await openConsent(visitor, client), '/consent', { decision: 'deny' }),
  'POST /logout': async () => {
    const browser = await house.signIn(await house.makeUser())
    return browser.submit(await browser.get('/account'), '/logout', {})
  },
}

for (const [where, open] of Object.entries(redirects)) {
  test(`${where}: the redirect is kept by nobody and withholds the referrer`, async () => {
    const answer = await open()
    assert.ok(answer.status === 302 || answer.status === 303, String(answer.status))
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['referrer-policy'], 'no-referrer')
  })
}

test('a form leaves the site only from the pages of a request', async () => {
  const mayLeave = (answer: Answer) => {
    const targets = parsePolicy(String(answer.headers['content-security-policy']))['form-action']
    return targets === undefined || targets.some((target) => target !== "'self'")
  }
  const path = await startRequest(stranger(), client)
  for (const page of [await stranger().get(path), await visitor.get(pathOf(await visitor.get(path)))]) {
    assert.equal(page.status, 200)
    assert.equal(mayLeave(page), true)
  }
  const inside = [
    '/account',
    '/account/api',
    '/account/devices',
    '/account/security',
    '/account/password',
    '/account/history',
  ]
  for (const page of ['/login?confirm=1', ...inside, '/nowhere']) {
    assert.equal(mayLeave(await visitor.get(page)), false, page)
  }
})

test("a callback's host cannot add to the policy of the page", async () => {
  const strange = await house.makeClient({ callbackUrl: 'https://x;sandbox/callback' }).catch(() => undefined)
  if (!strange) return
  const page = await stranger().get(await startRequest(stranger(), strange))
  assert.equal('sandbox' in parsePolicy(String(page.headers['content-security-policy'])), false)
})

test('the authorize endpoint answers no script of another site', async () => {
  const url = `${house.baseUrl}/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`
  const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET' }
  for (const method of ['GET', 'HEAD', 'OPTIONS'] as const) {
    const answer = await send(url, { method, headers })
    for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /^access-control-/, method)
  }
})
