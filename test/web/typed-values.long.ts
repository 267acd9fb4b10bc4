/**
 * Whatever was typed survives: every form that the pages print, from the table of all of them. Sent when its
 * session has ended, when it asks for a proof once more, or with something wrong in it, it comes back filled
 * in.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { ask } from '../support/ask.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import {
  crawl,
  type Everybody,
  formsOf,
  makeEverything,
  type PrintedForm,
  standsIn,
  typeInto,
} from '../support/forms-of-pages.ts'
import { openTestGateway, password, type TestGateway } from '../support/gateway.ts'
import { openConsent, pathOf, signInWith } from '../support/web.ts'

let house: TestGateway
let everybody: Everybody
/** One of each row that has something to type. */
let forms: PrintedForm[]
let seenRows: Set<string>
before(async () => {
  house = await openTestGateway({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
  everybody = await makeEverything(house)
  // Sessions of others outlast the tests: what is typed into a form about one comes back as long as there is
  // one.
  const longer = `UPDATE sessions SET created_at = created_at + interval '30 days',
    last_seen_at = last_seen_at + interval '30 days' WHERE user_id <> $1`
  await ask(house.gateway.context.db, longer, [everybody.user.id])
  const pages = await crawl(await house.signIn(everybody.user), everybody.starts)
  const all = [...pages].flatMap(([path, answer]) => formsOf(path, answer))
  seenRows = new Set(all.map(({ row }) => row))
  const ofOthers = all.filter(({ page }) => page !== `/console/users/${everybody.user.id}`)
  const typed = ofOthers.filter(({ controls }) => controls.some(({ isSecret }) => !isSecret))
  forms = [...new Map(typed.map((form) => [form.row, form])).values()]
})
after(() => house?.close())

/** Forms on pages that the crawl does not come to, though something is typed into them. */
const elsewhere: Record<string, string> = {
  '/login': 'it is the sign-in; what is typed into it is a test of its own',
  '/login/forgotten': 'a username, of a visitor who has no session',
  '/consent': 'a test of its own',
  '/partner/invitation/:token/join': 'of a visitor who has no session; joining.test.ts',
  '/partner/:branch/apply': 'once declined; its fields are those of the first application',
}

test('every form of the table that has something to type is on a page that was looked at', () => {
  const rows = pageRoutes.filter(({ method }) => method === 'POST')
  const typed = rows.filter(({ definition }) =>
    Object.entries(definition!.fields).some(
      // A reason is one field for all forms that take one, and many of them are looked at.
      ([name, { returns, isRequired }]) => name !== 'reason' && returns === 'back' && isRequired,
    ),
  )
  const missing = typed.map(({ path }) => path).filter((path) => !seenRows.has(path) && !elsewhere[path])
  assert.deepEqual(missing, [], 'let makeEverything() make what shows them')
  assert.ok(forms.length >= 14, forms.map(({ row }) => row).join('\n'))
})

async function openForm(browser: Browser, { page, action, row }: PrintedForm): Promise<PrintedForm> {
  const answer = await browser.get(page)
  const found = formsOf(page, answer).find((form) => form.row === row && form.action === action)
  assert.ok(found, `${page} has ${action}: ${answer.status}`)
  return found
}

/** Signs in on the way to wherever the answer leads, and opens that page. */
async function signInOnTheWay(browser: Browser, location: string | undefined, username: string) {
  assert.match(location ?? '', /^\/login\?/)
  const login = await browser.get(location!)
  const fields = { ...hiddenFields(login.text, '/login'), username, password }
  const done = await browser.post('/login', fields)
  assert.equal(done.status, 303, done.text)
  return { login, path: pathOf(done), page: await browser.get(pathOf(done)) }
}

const ended = { 'whose session has ended': 31 * minute, 'that asks for the password once more': 6 * minute }

for (const [when, ageMs] of Object.entries(ended)) {
  test(`a form ${when} waits, and comes back filled in after the sign-in`, async () => {
    const asking = forms.filter(({ row }) => {
      const route = pageRoutes.find(({ method, path }) => method === 'POST' && path === row)!
      return ageMs > 30 * minute || route.gate.proofs.includes('password')
    })
    assert.ok(asking.length > 3)
    for (const each of asking) {
      const browser = await house.signIn(everybody.user)
      const form = await openForm(browser, each)
      const typed = typeInto(form)
      house.clock.advance(ageMs)
      const sent = await browser.post(form.action, { ...form.hidden, ...typed })
      const { login, path, page } = await signInOnTheWay(browser, sent.location, everybody.user.username)
      assert.match(login.text, /Nothing was sent yet\. What you entered is kept/, form.row)
      const again = formsOf(path, page).find(({ action, row }) => row === form.row && action === form.action)
      assert.ok(again, `${path} shows ${form.row} again`)
      assert.deepEqual(standsIn(again), standsIn({ ...form, controls: asTyped(form, typed) }), form.row)
      assert.match(page.text, /Nothing was sent yet: check and send\./, form.row)
      assert.doesNotMatch(page.text, /a secret that nobody keeps/)
      assert.equal(page.text.split(' autofocus').length, 2, form.row)
      const later = await browser.get(path)
      assert.doesNotMatch(later.text, /Nothing was sent yet/, 'it is shown once')
    }
  })
}

/** The controls as somebody left them. */
function asTyped({ controls }: PrintedForm, typed: ReturnType<typeof typeInto>): PrintedForm['controls'] {
  const left = Object.fromEntries(Object.entries(typed).map(([name, values]) => [name, [values].flat()]))
  return controls.map((control) => {
    if (control.kind === 'box') return { ...control, now: !control.now }
    return { ...control, now: left[control.name]!.shift()! }
  })
}

test('a form with something wrong in it comes back with everything that was typed, and the focus on the fault', async () => {
  const browser = await house.signIn(everybody.user)
  for (const each of forms) {
    const form = await openForm(browser, each)
    const wrong = form.controls.find(({ kind, isSecret }) => kind === 'text' && !isSecret)
    if (!wrong) continue
    const typed = typeInto(form)
    const twice = [typed[wrong.name]!, typed[wrong.name]!].flat()
    const answer = await browser.post(form.action, { ...form.hidden, ...typed, [wrong.name]: twice })
    assert.equal(answer.status, 400, `${form.row}: ${answer.location}`)
    const again = formsOf(form.page, answer).find(({ action }) => action === form.action)
    assert.ok(again, `${form.row} is shown again`)
    assert.deepEqual(standsIn(again), standsIn({ ...form, controls: asTyped(form, typed) }), form.row)
    assert.match(answer.text, /was sent more than once/)
    const focused = [...answer.text.matchAll(/<[a-z]+\b[^>]* autofocus[^>]*>/g)].map(([tag]) => tag)
    assert.equal(focused.length, 1, form.row)
    assert.ok(focused[0]!.includes(`name="${wrong.name}"`), `${form.row}: ${focused[0]}`)
  }
})

const rowsOf = () => ask<{ sealed: Buffer; id: string }>(house.gateway.context.db, 'SELECT * FROM kept_forms')

/** A holder whose session ended over a form. */
async function leaveForm(fields: Record<string, string> = { name: 'my notebook', environment: 'sandbox' }) {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/api')
  house.clock.advance(31 * minute)
  const send = (headers: Record<string, string> = {}) =>
    browser.post(
      '/account/api/tokens',
      { ...hiddenFields(page.text, '/account/api/tokens'), ...fields },
      headers,
    )
  return { user, browser, send }
}

test('what was ticked on a consent page comes back with its own request', async () => {
  const user = await house.makeUser(undefined, ['TICK1', 'TICK2'])
  const client = await house.makeClient()
  const browser = await house.signIn(user)
  const page = await openConsent(browser, client)
  house.clock.advance(31 * minute)
  // The request itself has ended by then, unless it is asked for anew: half an hour is what both have.
  const fields = { ...hiddenFields(page.text, '/consent'), decision: 'approve', account: 'TICK2' }
  const late = await browser.post('/consent', fields)
  assert.equal(late.status, 400, 'the request has expired')
  const strong = await house.signIn(user)
  const trade = await openConsent(strong, client, { scope: 'trade' })
  house.clock.advance(6 * minute)
  const sent = await strong.post('/consent', {
    ...hiddenFields(trade.text, '/consent'),
    decision: 'approve',
    account: 'TICK2',
  })
  const back = await signInOnTheWay(strong, sent.location, user.username)
  const [form] = formsOf('/consent', back.page).filter(({ action }) => action === '/consent')
  assert.deepEqual(standsIn(form!), { account: ['TICK2'] })
  assert.match(back.page.text, /Nothing was sent yet/)
})

test('somebody else who signs in finds nothing of it, and then it is gone for its owner too', async () => {
  const { user, browser, send } = await leaveForm()
  const { location } = await send()
  const other = await signInOnTheWay(browser, location, (await house.makeUser()).username)
  assert.doesNotMatch(other.page.text, /my notebook|Nothing was sent/)
  const again = await signInWith(browser, user.username, { path: '/login?return=%2Faccount%2Fapi&confirm=1' })
  assert.doesNotMatch((await browser.get(pathOf(again))).text, /my notebook|Nothing was sent/)
})

test('another browser of the same person finds nothing of it', async () => {
  const { user, send } = await leaveForm()
  const { location } = await send()
  const other = await signInOnTheWay(new Browser(house.baseUrl), location, user.username)
  assert.doesNotMatch(other.page.text, /my notebook|Nothing was sent/)
})

test('after half an hour it is forgotten, and removed', async () => {
  const { user, browser, send } = await leaveForm()
  const { location } = await send()
  house.clock.advance(30 * minute)
  const late = await signInOnTheWay(browser, location, user.username)
  assert.doesNotMatch(late.login.text + late.page.text, /my notebook|Nothing was sent/)
  await (await leaveForm()).send()
  house.clock.advance(30 * minute)
  assert.ok((await removeDead(house.gateway.context)).keptForms > 0)
  assert.deepEqual(await rowsOf(), [])
})

test('of one person five are kept, a form that is no form of ours and one from elsewhere never', async () => {
  await removeDead(house.gateway.context)
  const { browser, send } = await leaveForm()
  const key = () => browser.cookies.delete('countersign-live-kept')
  for (let time = 0; time < 7; time++) {
    await send()
    key()
  }
  assert.equal((await rowsOf()).length, 5)
  const before = (await rowsOf()).map(({ id }) => id).sort()
  await send({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })
  await new Browser(house.baseUrl).post('/account/api/tokens', { csrf: 'x.y', name: 'mine' })
  await new Browser(house.baseUrl).post('/account/api/tokens', { name: 'mine' })
  assert.deepEqual((await rowsOf()).map(({ id }) => id).sort(), before)
})

test('no password, secret or code is kept, not even sealed', async () => {
  house.clock.advance(31 * minute)
  await removeDead(house.gateway.context)
  const secrets = {
    password: 'p',
    secret: 's',
    code: 'c',
    current: 'o',
    next: 'n',
    again: 'a',
    credential: 'k',
    recovery: 'r',
  }
  for (const { path, definition } of pageRoutes)
    for (const name of Object.keys(secrets))
      assert.notEqual(definition?.fields[name]?.returns, 'back', `${path}: ${name}`)
  const marked = Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, `hush-${value}`]))
  await (await leaveForm({ name: 'mine', ...marked })).send()
  const [row] = await rowsOf()
  const text = house.gateway.context.vault.open(`kept-form:${row!.id}`, row!.sealed)!
  assert.deepEqual(JSON.parse(text), {
    ...{ path: '/account/api/tokens', action: '/account/api/tokens' },
    ...{ values: { name: 'mine' }, zone: '', keys: {}, again: [] },
  })
})

const askedAgain = /Type it again: it was not kept, because it is secret\./

test('a secret that was typed and could not be used is asked for again, in words', async () => {
  const { own, user } = everybody
  const page = `${own.home}/webhooks`
  const typed = { url: 'http://nowhere.example', secret: 'a secret that nobody keeps' }
  const browser = await house.signIn(user)
  const open = async () => ({ ...hiddenFields((await browser.get(page)).text, `${page}/create`), ...typed })
  const refused = await browser.post(`${page}/create`, await open())
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="url-problem"/)
  assert.match(refused.text, askedAgain)
  assert.doesNotMatch(refused.text, /nobody keeps/)
  const late = await open()
  house.clock.advance(6 * minute)
  const { location } = await browser.post(`${page}/create`, late)
  const back = await signInOnTheWay(browser, location, user.username)
  assert.match(back.page.text, askedAgain)
  assert.match(back.page.text, /<input type="password"[^>]* name="secret"[^>]* autofocus/)
  assert.doesNotMatch(back.page.text, /nobody keeps/)
  const untyped = await browser.post(`${page}/create`, { ...(await open()), secret: '' })
  assert.equal(untyped.status, 400)
  assert.doesNotMatch(untyped.text, askedAgain, 'what was not typed is not asked for again')
})

test('a form that was open while its owner signed in again in another tab is shown again, and does nothing', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const fields = {
    ...hiddenFields((await browser.get('/account/api')).text, '/account/api/tokens'),
    ...{ name: 'my notebook', days: '30' },
  }
  await signInWith(browser, user.username, { path: '/login?confirm=1' })
  const answer = await browser.post('/account/api/tokens', { ...fields, environment: 'live' })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /Nothing was sent: you have signed in again/)
  const [form] = formsOf('/account/api', answer).filter(({ action }) => action === '/account/api/tokens')
  assert.deepEqual(standsIn(form!), { name: ['my notebook'], environment: ['live'], days: ['30'] })
  const sent = await browser.post('/account/api/tokens', {
    ...form!.hidden,
    name: 'my notebook',
    environment: 'live',
  })
  assert.match(sent.text, /Copy it now/)
  const other = await house.signIn(await house.makeUser())
  const foreign = await other.post('/account/api/tokens', { ...fields, environment: 'live' })
  assert.equal(foreign.status, 403)
  assert.doesNotMatch(foreign.text, /my notebook/, 'whom it was not printed for sees nothing of it')
})
