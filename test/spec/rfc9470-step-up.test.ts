/** RFC 9470: an interface that wants a younger or a stronger sign-in gets it, by way of the application. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import { createService } from '../../src/services/service.ts'
import { type Acr, printAcr } from '../../src/vocabulary/acr.ts'
import { assertAnswered } from '../support/answers.ts'
import { Authenticator, addKey, readOptions } from '../support/authenticator.ts'
import { Browser, hiddenFields, postForm } from '../support/browser.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeGuardedUser, secondStep } from '../support/second-factor.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { approveForm, pathOf, signInWith, startRequest } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost', HOLDER_SIGN_IN: 'both' })
const { db } = house.gateway.context
const client = await house.makeClient()
const sees = ['sign-in']
const { service, secret } = await createService(db, 'Orders', 'live', house.act(), { sees })

const asking = (wants: { max_age?: string; acr?: readonly Acr[] }) => ({
  ...(wants.max_age !== undefined && { max_age: wants.max_age }),
  ...(wants.acr && { acr_values: wants.acr.map(printAcr).join(' ') }),
})
const start = (browser: Browser, wants: Parameters<typeof asking>[0]) =>
  startRequest(browser, client, { extra: asking(wants) })

/** What the interface hears of the token that the application gets. */
async function finish(browser: Browser, at: string): Promise<Record<string, unknown>> {
  const page = await browser.get(at)
  assert.equal(page.status, 200, `${page.status} ${page.location} ${page.text}`)
  const approved = await browser.post('/consent', approveForm(page))
  const code = new URL(approved.location!).searchParams.get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const by = basic({ id: service.id, secret: secret.text })
  return (await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: access_token }, by)).json()
}

const now = () => Math.floor(house.clock.now().getTime() / 1000)

test('a sign-in that is too old is made anew, and the token says when', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  house.clock.advance(3 * minute)
  const login = await start(browser, { max_age: '120' })
  assert.equal((await browser.get(login)).status, 200, 'asked to sign in')
  const consent = login.replace('/login', '/consent')
  assert.match((await browser.get(consent)).location ?? '', /^\/login\?request=/)
  const answer = await signInWith(browser, user.username, { path: login })
  assert.equal((await finish(browser, pathOf(answer))).auth_time, now())
})

test('one that is young enough is not asked for', async () => {
  const browser = await house.signIn(await house.makeUser())
  const signedInAt = now()
  house.clock.advance(100 * second)
  const answer = await browser.get(await start(browser, { max_age: '120', acr: ['password'] }))
  assert.equal(answer.status, 303)
  house.clock.advance(100 * second)
  const told = await finish(browser, pathOf(answer))
  assert.equal(told.auth_time, signedInAt, 'age counts at the request: reading the page takes its time')
  assert.equal(told.acr, printAcr('password'))
})

test('max_age 0 asks for a sign-in after the request, once', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  house.clock.advance(second)
  const login = await start(browser, { max_age: '0' })
  assert.equal((await browser.get(login)).status, 200)
  house.clock.advance(minute)
  const answer = await signInWith(browser, user.username, { path: login })
  house.clock.advance(minute)
  assert.equal((await finish(browser, pathOf(answer))).auth_time, now() - 60)
})

test('a user with a second factor gives it; the first of the ways that is met is told', async () => {
  const { browser } = await makeGuardedUser(house)
  const answer = await browser.get(await start(browser, { acr: ['second-factor'] }))
  assert.equal((await finish(browser, pathOf(answer))).acr, printAcr('second-factor'))
  const weaker = await browser.get(await start(browser, { acr: ['passkey', 'password'] }))
  assert.equal((await finish(browser, pathOf(weaker))).acr, printAcr('password'))
})

test('a user without one is told to set it up, and comes back to the request', async () => {
  const browser = await house.signIn(await house.makeUser())
  for (const [acr, title] of [
    ['second-factor', 'Set up two-factor sign-in first'],
    ['passkey', 'Set up a passkey first'],
  ] as const) {
    const answer = await browser.get(await start(browser, { acr: [acr] }))
    const page = await browser.get(pathOf(answer))
    assert.equal(page.status, 403)
    assert.match(page.text, new RegExp(`<h1>${title}</h1>`))
    assert.match(page.text, /Portfolio Pal<\/strong> asks for more than a password/)
  }
})

test('where a passkey is asked for, the app is not enough', async () => {
  const { user, browser, app } = await makeGuardedUser(house)
  const key = new Authenticator(house.baseUrl)
  await assertAnswered(browser, await addKey(browser, key))
  const login = await start(browser, { acr: ['passkey'] })
  const page = await browser.get(login)
  assert.match(page.text, /sign in with a <strong>passkey<\/strong>/)
  const second = async () => browser.get(pathOf(await signInWith(browser, user.username, { path: login })))
  const byApp = await browser.post('/login/second', {
    ...secondStep((await second()).text),
    code: app.code(),
  })
  assert.equal((await browser.get(pathOf(byApp))).location, login, 'asked once more')
  const step = await second()
  const credential = key.get(readOptions(step))
  const action = '/login/second/passkey'
  const byKey = await browser.post(action, { ...hiddenFields(step.text, action), credential })
  assert.equal(byKey.status, 303, byKey.text)
  assert.equal((await finish(browser, pathOf(byKey))).acr, printAcr('passkey'))
})

test('where browsers have no passkeys, nobody is sent to set one up', async () => {
  const bare = await openHouse()
  const other = await bare.makeClient()
  const browser = await bare.signIn(await bare.makeUser())
  const login = await browser.get(await startRequest(browser, other, { extra: asking({ acr: ['passkey'] }) }))
  const told = new URL((await browser.get(pathOf(login))).location!)
  assert.equal(told.searchParams.get('error'), 'unmet_authentication_requirements')
})

test('words that mean nothing here are told to the callback, and pass beside one that does', async () => {
  const wrong: Record<string, [Record<string, string>, string]> = {
    negative: [{ max_age: '-1' }, 'invalid_request'],
    words: [{ max_age: 'soon' }, 'invalid_request'],
    endless: [{ max_age: '1'.repeat(10) }, 'invalid_request'],
    unknown: [{ acr_values: 'urn:mace:incommon:iap:silver' }, 'unmet_authentication_requirements'],
  }
  for (const [name, [extra, error]] of Object.entries(wrong)) {
    const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st', ...extra })
    const answer = await new Browser(house.baseUrl).get(`/v1/oauth/authorize?${query}`)
    const { searchParams } = new URL(answer.location!)
    assert.deepEqual([searchParams.get('error'), searchParams.get('state')], [error, 'st'], name)
  }
  const extra = { acr_values: `silver ${printAcr('password')}` }
  assert.match(await startRequest(new Browser(house.baseUrl), client, { extra }), /^\/login\?request=/)
})

test('at a provider the same is asked for, and what it cannot say comes back as an error', async () => {
  const people = { 'sub-ada': { customer_id: 'C-1' } }
  const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
  await registerUpstream(house, upstream, 'bank')
  await makeCustomer(house, 'C-1')
  const browser = new Browser(house.baseUrl)
  const there = new Browser(upstream.issuer)
  const bank = async (wants: Parameters<typeof asking>[0], factor: boolean) => {
    const login = await start(browser, wants)
    const path = login.replace('/login?', '/login/with/bank?')
    return signInThere(browser, upstream, 'sub-ada', { path, factor, cookies: there })
  }
  const strong = await bank({ acr: ['second-factor'] }, true)
  assert.equal((await finish(browser, pathOf(strong))).acr, printAcr('second-factor'))
  house.clock.advance(5 * minute)
  await upstream.keepTime()
  const anew = await bank({ max_age: '60' }, true)
  assert.equal((await finish(browser, pathOf(anew))).auth_time, now())
  const passkey = await bank({ acr: ['passkey'] }, true)
  const told = await browser.get(pathOf(passkey))
  assert.equal(
    new URL(told.location!).searchParams.get('error'),
    'unmet_authentication_requirements',
    'no second step of ours stands in where the provider has its own',
  )
  const other = new Browser(house.baseUrl)
  const path = (await start(other, { acr: ['second-factor'] })).replace('/login?', '/login/with/bank?')
  const weak = await signInThere(other, upstream, 'sub-ada', { path })
  assert.match(weak.text, /A second factor is needed/)
})
