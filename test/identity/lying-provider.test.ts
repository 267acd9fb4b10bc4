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

test('an ID token signed with a secret that both know is refused', () => assertRefused({ algorithm: 'HS256' }, /alg/))

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
