/**
 * A form counts only when it comes from our page, in the browser and the session it was
 * made for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageRoutes } from '../../src/web/routes.ts'
import { Authenticator, addKey, readOptions } from '../support/authenticator.ts'
import { type Answer, Browser, type Fields, formOf, hiddenFields, send } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { openPartner } from '../support/portal.ts'
import { makeApp, makeGuardedUser, readSecret, startSignIn } from '../support/second-factor.ts'
import { approveForm, isSignedIn, markTables, openConsent, startRequest } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost' })
const client = await house.makeClient()

interface PreparedForm {
  readonly browser: Browser
  /** The form as our page would send it. */
  readonly fields: Fields & { readonly csrf: string }
  /** The form token that the same page holds in the browser of somebody else. */
  readonly foreignToken: string
}

async function prepare(
  action: string,
  open: () => Promise<[Browser, Answer]>,
  extra: Fields = {},
): Promise<PreparedForm> {
  const [[browser, page], [, foreign]] = [await open(), await open()]
  const hidden = hiddenFields(page.text, action) as { csrf: string }
  return { browser, fields: { ...hidden, ...extra }, foreignToken: hiddenFields(foreign.text, action).csrf! }
}

async function openLogin(path?: string): Promise<[Browser, Answer]> {
  const browser = new Browser(house.baseUrl)
  return [browser, await browser.get(path ?? (await startRequest(browser, client)))]
}

async function openAccount(path: string): Promise<[Browser, Answer]> {
  const user = await house.makeUser()
  await house.makeToken(user)
  await house.signIn(user)
  const browser = await house.signIn(user)
  await house.approve(client, browser)
  return [browser, await browser.get(path)]
}

async function openPaused(): Promise<[Browser, Answer]> {
  const [browser, page] = await openAccount('/account')
  await browser.submit(page, '/account/pause', {})
  return [browser, await browser.get('/account')]
}

async function openGuarded(): Promise<[Browser, Answer]> {
  const { browser } = await makeGuardedUser(house)
  return [browser, await browser.get('/account/security')]
}

async function openSecondStep(): Promise<[Browser, Answer]> {
  const { user } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  return [browser, await browser.get('/login/second')]
}

async function openEmail(): Promise<[Browser, Answer]> {
  const [browser, page] = await openAccount('/account/security/email')
  await browser.submit(page, '/account/security/email', { email: 'ada@example.com' })
  return [browser, await browser.get('/account/security/email')]
}

/** Only members of partners have something to choose. */
async function openChoice(): Promise<[Browser, Answer]> {
  const { browser } = await openPartner(house)
  return [browser, await browser.get('/account/security/notices')]
}

/** A question that has no name yet. */
async function openList(): Promise<[Browser, Answer]> {
  const { browser, home } = await openPartner(house)
  return [browser, await browser.get(`${home}/deliveries?state=exhausted`)]
}

async function openConsentPage(): Promise<[Browser, Answer]> {
  const browser = await house.signIn(await house.makeUser())
  return [browser, await openConsent(browser, client)]
}

const forms: Record<string, () => Promise<PreparedForm>> = {
  '/login': async () => {
    const { username } = await house.makeUser()
    return prepare('/login', () => openLogin('/login'), { username, password })
  },
  '/login/second': async () => {
    const { user, app } = await makeGuardedUser(house)
    const browser = await startSignIn(house, user)
    const hidden = hiddenFields((await browser.get('/login/second')).text, '/login/second') as {
      csrf: string
    }
    const [, foreign] = await openSecondStep()
    const foreignToken = hiddenFields(foreign.text, '/login/second').csrf!
    return { browser, fields: { ...hidden, code: app.code() }, foreignToken }
  },
  '/login/second/recovery': async () => {
    const { user, app } = await makeGuardedUser(house)
    const open = async (): Promise<[Browser, Answer]> => {
      const browser = await startSignIn(house, user)
      return [browser, await browser.get('/login/second')]
    }
    const prepared = await prepare('/login/second/recovery', open)
    return { ...prepared, fields: { ...prepared.fields, recovery: app.recoveryCodes[0]! } }
  },
  '/login/second/passkey': async () => {
    const user = await house.makeUser()
    const authenticator = new Authenticator(house.baseUrl)
    await addKey(await house.signIn(user), authenticator)
    const open = async (): Promise<[Browser, Answer]> => {
      const browser = await startSignIn(house, user)
      return [browser, await browser.get('/login/second')]
    }
    const prepared = await prepare('/login/second/passkey', open)
    const page = await prepared.browser.get('/login/second')
    const hidden = hiddenFields(page.text, '/login/second/passkey') as { csrf: string }
    return { ...prepared, fields: { ...hidden, credential: authenticator.get(readOptions(page)) } }
  },
  '/login/passkey': async () => {
    const user = await house.makeUser()
    const authenticator = new Authenticator(house.baseUrl)
    await addKey(await house.signIn(user), authenticator)
    const prepared = await prepare('/login/passkey', () => openLogin())
    const page = await prepared.browser.get('/login')
    const hidden = hiddenFields(page.text, '/login/passkey') as { csrf: string }
    return { ...prepared, fields: { ...hidden, credential: authenticator.get(readOptions(page)) } }
  },
  '/login/cancel': () => prepare('/login/cancel', () => openLogin()),
  '/logout': () => prepare('/logout', () => openAccount('/account')),
  '/consent': async () => {
    const prepared = await prepare('/consent', openConsentPage)
    return { ...prepared, fields: { ...prepared.fields, decision: 'approve', scope: 'read' } }
  },
  '/consent/other': () => prepare('/consent/other', openConsentPage),
  '/account/revoke': () => prepare('/account/revoke', () => openAccount('/account')),
  '/account/pause': () => prepare('/account/pause', () => openAccount('/account')),
  '/account/resume': () => prepare('/account/resume', openPaused),
  '/account/devices/close': () => prepare('/account/devices/close', () => openAccount('/account/devices')),
  '/account/devices/close/others': () =>
    prepare('/account/devices/close/others', () => openAccount('/account/devices')),
  '/account/password': () =>
    prepare('/account/password', () => openAccount('/account/password'), {
      current: password,
      next: 'a different password',
      again: 'a different password',
    }),
  '/account/security/app': async () => {
    const prepared = await prepare('/account/security/app', () => openAccount('/account/security/app'))
    const page = await prepared.browser.get('/account/security/app')
    const fields = hiddenFields(page.text, '/account/security/app') as { csrf: string }
    return { ...prepared, fields: { ...fields, code: makeApp(house, readSecret(page)).code() } }
  },
  '/account/security/app/remove': () => prepare('/account/security/app/remove', openGuarded),
  '/account/security/passkey': async () => {
    const prepared = await prepare('/account/security/passkey', () =>
      openAccount('/account/security/passkey'),
    )
    const page = await prepared.browser.get('/account/security/passkey')
    const fields = hiddenFields(page.text, '/account/security/passkey') as { csrf: string }
    const credential = new Authenticator(house.baseUrl).create(readOptions(page))
    return { ...prepared, fields: { ...fields, name: 'My key', credential } }
  },
  '/account/security/passkey/remove': () =>
    prepare('/account/security/passkey/remove', async () => {
      const [browser] = await openGuarded()
      await addKey(browser, new Authenticator(house.baseUrl))
      return [browser, await browser.get('/account/security')]
    }),
  '/account/security/recovery': () => prepare('/account/security/recovery', openGuarded),
  '/account/security/email': () =>
    prepare('/account/security/email', () => openAccount('/account/security/email'), {
      email: 'ada@example.com',
    }),
  '/account/security/email/remove': () => prepare('/account/security/email/remove', openEmail),
  '/account/security/notices': () =>
    prepare('/account/security/notices', openChoice, { kind: 'webhook-failing' }),
  '/account/api/tokens': () =>
    prepare('/account/api/tokens', () => openAccount('/account/api'), { name: 'mine', environment: 'live' }),
  '/account/api/revoke': () => prepare('/account/api/revoke', () => openAccount('/account/api')),
  '/account/views/save': () => prepare('/account/views/save', openList, { name: 'Failed for good' }),
  '/account/views/remove': () =>
    prepare('/account/views/remove', async () => {
      const [browser, page] = await openList()
      const saved = await browser.submit(page, '/account/views/save', { name: 'Failed for good' })
      return [browser, await browser.get(saved.location!)]
    }),
}

const attacks: Record<string, (form: PreparedForm) => { fields?: Fields; headers?: Record<string, string> }> =
  {
    'no token': ({ fields: { csrf: _, ...fields } }) => ({ fields }),
    'an empty token': () => ({ fields: { csrf: '' } }),
    'a wrong token': ({ fields }) => ({
      fields: { csrf: fields.csrf.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) },
    }),
    'the token twice': ({ fields }) => ({ fields: { csrf: [fields.csrf, fields.csrf] } }),
    "somebody else's token": ({ foreignToken }) => ({ fields: { csrf: foreignToken } }),
    'a foreign Origin': () => ({ headers: { origin: 'https://evil.example' } }),
    'an Origin that begins like ours': () => ({ headers: { origin: `${house.baseUrl}.evil.example` } }),
    'an Origin that is no address': () => ({ headers: { origin: 'evil' } }),
    'Sec-Fetch-Site: cross-site': () => ({ headers: { 'sec-fetch-site': 'cross-site' } }),
    'Sec-Fetch-Site: same-site': () => ({ headers: { 'sec-fetch-site': 'same-site' } }),
  }

/**
 * The forms of the portal and of the console have tables of their own: web/partner/walls and
 * web/console/walls. What a provider sends is no form of a page: identity/sign-out has it;
 * identity/forgotten-password has those of whoever forgot theirs.
 */
const isElsewhere = (path: string) =>
  /^\/(partner|console|logout\/from|login\/(forgotten|reset))\b/.test(path)

test('every form of the site is in this table', () => {
  const posted = pageRoutes
    .filter(({ method, path }) => method === 'POST' && !isElsewhere(path))
    .map(({ path }) => path)
  assert.deepEqual(Object.keys(forms).sort(), posted.toSorted())
})

for (const [action, open] of Object.entries(forms)) {
  test(`POST ${action} does nothing for a form that is not ours, and what it should for one that is`, async () => {
    const form = await open()
    const { db } = house.gateway.context
    const before = await markTables(db)
    for (const [name, attack] of Object.entries(attacks)) {
      const { fields, headers } = attack(form)
      const sent = name === 'no token' ? fields! : { ...form.fields, ...fields }
      const answer = await form.browser.post(action, sent, headers)
      assert.equal(answer.status, 403, name)
      assert.equal(answer.location, undefined, name)
      assert.equal(answer.headers['set-cookie'], undefined, name)
      assert.deepEqual(await markTables(db), before, name)
    }
    const answer = await form.browser.post(action, form.fields)
    assert.ok(answer.status === 303 || answer.status === 200, answer.text)
    assert.notDeepEqual(await markTables(db), before)
  })
}

test('what is sent as anything but a form is refused, though its token is right', async () => {
  const { browser, fields } = await forms['/account/api/tokens']!()
  const before = await markTables(house.gateway.context.db)
  const bodies = {
    'application/json': JSON.stringify({ ...fields, name: { first: 'mine' } }),
    'application/json; charset=utf-8': JSON.stringify(fields),
    'text/plain': formOf(fields),
    'multipart/form-data; boundary=x': formOf(fields),
  }
  for (const [type, body] of Object.entries(bodies)) {
    const headers = { cookie: browser.cookieHeader, accept: 'text/html', 'content-type': type }
    const answer = await send(`${house.baseUrl}/account/api/tokens`, { method: 'POST', headers, body })
    assert.ok(answer.status >= 400 && answer.status < 500, `${type}: ${answer.status}`)
  }
  assert.deepEqual(await markTables(house.gateway.context.db), before)
})

test('a form of another site cannot sign a visitor out, though the browser sends no cookie with it', async () => {
  const browser = new Browser(house.baseUrl)
  const answer = await browser.post(
    '/logout',
    {},
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(answer.headers['set-cookie'], undefined, 'clearing the cookie would be signing out')
  assert.equal(answer.status, 403)
})

test('the token of one consent page answers no other request', async () => {
  const browser = await house.signIn(await house.makeUser())
  const [one, other] = [
    await openConsent(browser, client),
    await openConsent(browser, client, { scope: 'read write' }),
  ]
  const mixed = { ...approveForm(other), csrf: approveForm(one).csrf! }
  assert.equal((await browser.post('/consent', mixed)).status, 403)
  assert.equal((await browser.post('/consent', approveForm(other))).status, 303)
})

test('the token of the login page is worth nothing after the sign-in', async () => {
  const { username } = await house.makeUser()
  const browser = new Browser(house.baseUrl)
  const login = hiddenFields((await browser.get('/login')).text, '/login')
  await browser.post('/login', { ...login, username, password })
  for (const action of ['/logout', '/account/api/tokens']) {
    const fields = { csrf: login.csrf!, name: 'mine', environment: 'live' }
    assert.equal((await browser.post(action, fields)).status, 403)
  }
  assert.equal(await isSignedIn(browser), true)
})

/** Addresses that have a page to look at as well as a form to send. */
const pagesToo = [
  '/login',
  '/login/second',
  '/consent',
  '/account/password',
  '/account/security/app',
  '/account/security/email',
  '/account/security/notices',
  '/account/security/passkey',
]

test('a GET never does what a form does', async () => {
  const { browser, fields } = await forms['/account/api/tokens']!()
  const before = await markTables(house.gateway.context.db)
  for (const action of Object.keys(forms).filter((path) => !pagesToo.includes(path))) {
    const answer = await browser.get(`${action}?${new URLSearchParams(fields as Record<string, string>)}`)
    assert.equal(answer.status, 303, action)
    assert.ok(!answer.location!.includes('?'), 'to the page of the form, without what was sent')
  }
  assert.deepEqual(await markTables(house.gateway.context.db), before)
})
