/** A provider that lies, or is made to look as if it did: nobody gets in, and the audit log says why. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import type { Lie } from '../support/upstream-program.ts'
import { isSignedIn, pathOf } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db } = house.gateway.context
const people = { 'sub-ada': { customer_id: 'C-1' }, 'sub-eve': { customer_id: 'C-2' } }
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
await registerUpstream(house, upstream, 'bank')
await makeCustomer(house, 'C-1')
await makeCustomer(house, 'C-2')

afterEach(() => upstream.lie(undefined))

const open = () => new Browser(house.baseUrl)
const seconds = (ms: number) => Math.floor(ms / second)

async function assertRefused(lie: Lie, why: RegExp): Promise<void> {
  const browser = open()
  await upstream.lie(lie)
  const answer = await signInThere(browser, upstream, 'sub-ada')
  assert.equal(answer.status, 403, answer.text)
  assert.match(answer.text, /This sign-in was not accepted/)
  assert.equal(await isSignedIn(browser), false)
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.match(String(entry!.details.why), why)
}

test('an ID token for somebody else’s application is refused', () =>
  assertRefused({ claims: { aud: 'another-client' } }, /aud/))

test('an ID token for several, of whom we are one, is refused when it was issued to another', () =>
  assertRefused(
    { claims: { aud: ['countersign', 'another-client'], azp: 'another-client' } },
    /azp|authorized party|aud/i,
  ))

test('an ID token that nobody signed is refused', () => assertRefused({ algorithm: 'none' }, /alg/))

test('an ID token signed with a secret that both know is refused', () =>
  assertRefused({ algorithm: 'HS256' }, /alg/))

test('an ID token signed with another key is refused', () => assertRefused({ otherKey: true }, /signature/))

test('an ID token of another issuer is refused', () =>
  assertRefused({ claims: { iss: 'https://login.example.org' } }, /iss/))

test('an ID token with the nonce of another sign-in is refused', () =>
  assertRefused({ claims: { nonce: 'of another sign-in' } }, /nonce/))

test('an ID token that has expired is refused', () =>
  assertRefused({ claims: { exp: seconds(house.clock.now().getTime()) - 120 } }, /exp/))

test('a sign-in that lies in the future is refused', () =>
  assertRefused({ claims: { auth_time: seconds(house.clock.now().getTime() + 10 * minute) } }, /auth_time/))

test('a provider that names another customer than before under the same subject opens neither account', async () => {
  await signInThere(open(), upstream, 'sub-ada')
  await upstream.lie({ claims: { customer_id: 'C-2' } })
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-ada')
  assert.equal(answer.status, 403)
  assert.equal(await isSignedIn(browser), false)
  const [entry] = await findEntries(db, { action: 'identity.unknown', limit: 1 })
  assert.match(String(entry!.details.why), /another customer/)
})

/** What it says of itself is asked for anew. */
async function forgetMetadata(): Promise<void> {
  house.clock.advance(2 * minute)
  await upstream.keepTime()
}

const unusable: [what: string, Extract<Lie, { metadata: unknown }>['metadata'], why: RegExp][] = [
  [
    'has no token endpoint',
    { token_endpoint: null },
    /^The metadata of Example Bank ID has no address with http or https as token_endpoint\.$/,
  ],
  ['has an endpoint that is no address', { authorization_endpoint: 'soon' }, /as authorization_endpoint\.$/],
  [
    'is of another issuer',
    { issuer: 'https://login.example.org' },
    /^Example Bank ID calls itself https:\/\/login\.example\.org, not http/,
  ],
  [
    'says nothing of signatures that prove anything',
    { id_token_signing_alg_values_supported: 'all' },
    /in no way that proves/,
  ],
  ['is a page', 'a page', /^Its metadata cannot be used: .*Is the issuer right\?/],
]

for (const [what, metadata, why] of unusable)
  test(`a provider whose metadata ${what} is not available: the page says who has to fix it, and the audit log what`, async () => {
    await forgetMetadata()
    await upstream.lie({ metadata })
    const page = await open().get('/login')
    assert.equal(page.status, 503, page.text)
    assert.match(page.text, /<h1>Example Bank ID is not available<\/h1>/)
    assert.match(page.text, /The brokerage can see why, and has to fix it/)
    assert.match(page.text, /href="\/login\/with\/bank\?[^"]*">Try again with Example Bank ID/)
    const [, reference] = /reference <code>([^<]+)<\/code>/.exec(page.text)!
    const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
    assert.deepEqual([entry!.subject, entry!.requestId], ['provider:bank', reference])
    assert.match(String(entry!.details.why), why)
    await upstream.lie(undefined)
    assert.equal((await open().get('/login')).status, 303, 'it is asked again, and mended')
  })

test('what a provider says of itself without end is cut in the audit log', async () => {
  await forgetMetadata()
  await upstream.lie({ metadata: { issuer: `${upstream.issuer}/..${'/.'.repeat(1_000)}` } })
  assert.equal((await open().get('/login')).status, 503)
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.equal(String(entry!.details.why).length, 300)
})

test('whoever comes back while what the provider says of itself cannot be used is told, and no session opens', async () => {
  await forgetMetadata()
  const browser = open()
  const back = await upstream.signIn((await browser.get('/login')).location!, 'sub-ada')
  await upstream.leave()
  house.clock.advance(2 * minute)
  assert.equal((await open().get('/login')).status, 503)
  house.clock.advance(minute)
  await upstream.return()
  await upstream.keepTime()
  await upstream.lie({ metadata: { jwks_uri: null } })
  const answer = await browser.get(back)
  assert.equal(answer.status, 503, answer.text)
  assert.match(answer.text, /Example Bank ID is not available/)
  assert.equal(await isSignedIn(browser), false)
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.match(String(entry!.details.why), /as jwks_uri/)
  await upstream.lie(undefined)
  assert.equal((await open().get('/login')).status, 303)
})

async function holdBack(browser: Browser): Promise<void> {
  await signInThere(browser, upstream, 'sub-ada')
  house.clock.advance(6 * minute)
  await upstream.keepTime()
}

test('a sign-in that was to be new and is old changes nothing, and does not lead in circles', async () => {
  const browser = open()
  await holdBack(browser)
  await upstream.lie({ claims: { auth_time: seconds(house.clock.now().getTime() - 10 * minute) } })
  const asked = await browser.get('/account/security/email')
  const answer = await signInThere(browser, upstream, 'sub-ada', { path: pathOf(asked), factor: true })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /did not ask you to sign in once more/)
  assert.equal((await browser.get('/account/security/email')).status, 303, 'the page still asks')
})

test('a sign-in that was to be new and does not say when it was changes nothing', async () => {
  const browser = open()
  await holdBack(browser)
  await upstream.lie({ claims: { auth_time: null } })
  const asked = await browser.get('/account/security/email')
  const answer = await signInThere(browser, upstream, 'sub-ada', { path: pathOf(asked), factor: true })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /did not ask you to sign in once more/)
})

test('a second factor counts only where the provider says so', async () => {
  const browser = open()
  await holdBack(browser)
  await upstream.lie({ claims: { acr: null, amr: null } })
  const asked = await browser.get('/account/security/email')
  const answer = await signInThere(browser, upstream, 'sub-ada', { path: pathOf(asked), factor: true })
  const page = await browser.get(pathOf(answer))
  assert.match(page.location!, /confirm=factor$/, 'the sign-in is new, and the factor is asked for')
  const again = await signInThere(browser, upstream, 'sub-ada', { path: page.location!, factor: true })
  assert.equal(again.status, 403)
  assert.match(again.text, /A second factor is needed/)
})

test('an answer of one provider is worth nothing at the address of another', async () => {
  const other = await openUpstream(house, { name: 'mallory', people: { evil: { customer_id: 'C-1' } } })
  await registerUpstream(house, other, 'mallory', { label: 'Mallory ID' })
  try {
    const browser = open()
    const start = await browser.get('/login/with/bank')
    const back = new URL(await upstream.signIn(start.location!, 'sub-ada'))
    const atOther = await browser.get(`/login/from/mallory${back.search}`)
    assert.equal(atOther.status, 400, 'the code does not go to the other provider')
    const second = await browser.get('/login/with/bank')
    const swapped = new URL(await upstream.signIn(second.location!, 'sub-ada'))
    swapped.searchParams.set('iss', other.issuer)
    const answer = await browser.get(swapped.href)
    assert.equal(answer.status, 403, 'its answer says that it is from another')
    assert.equal(await isSignedIn(browser), false)
  } finally {
    await other.close()
  }
})
