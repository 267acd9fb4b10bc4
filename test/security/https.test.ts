/** A gateway whose address is https, behind the proxy that ends TLS. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { findFreePorts } from '../support/ports.ts'
import { pathOf } from '../support/web.ts'

const host = 'gateway.example'
const proxied = { host, 'x-forwarded-proto': 'https' }
const [live, sandbox] = await findFreePorts(2)
const house = await openHouse({
  PORT: String(live),
  SANDBOX_PORT: String(sandbox),
  BASE_URL: `https://${host}`,
  SANDBOX_URL: `https://sandbox.${host}`,
  TRUST_PROXY: '127.0.0.1',
})
const client = await house.makeClient()
const origin = `http://127.0.0.1:${live}`

async function signIn(browser: Browser): Promise<{ page: Answer; answer: Answer }> {
  const { username } = await house.makeUser()
  const page = await browser.get('/login', proxied)
  const fields = { ...hiddenFields(page.text, '/login'), username, password }
  const answer = await browser.post('/login', fields, proxied)
  assert.equal(answer.status, 303)
  return { page, answer }
}

test('every cookie is Secure, HttpOnly, SameSite=Lax and bound to the host by its name', async () => {
  const browser = new Browser(origin)
  const { page, answer } = await signIn(browser)
  const set = [page, answer].flatMap(({ headers }) => [headers['set-cookie'] ?? []].flat())
  const names = set.map((line) => line.split('=')[0])
  assert.deepEqual(
    new Set(names),
    new Set(['device', 'session', 'visit'].map((kind) => `__Host-countersign-live-${kind}`)),
  )
  for (const line of set) {
    for (const attribute of [/; Secure(;|$)/, /; HttpOnly(;|$)/, /; SameSite=Lax(;|$)/, /; Path=\/(;|$)/]) {
      assert.match(line, attribute)
    }
    assert.doesNotMatch(line, /; Domain=/i)
  }
  assert.equal((await browser.get('/account', proxied)).status, 200)
})

test('a cookie without the name that binds it to the host is not read', async () => {
  const browser = new Browser(origin)
  await signIn(browser)
  const session = browser.cookies.get('__Host-countersign-live-session')!
  const other = new Browser(origin)
  other.cookies.set('countersign-live-session', session)
  assert.equal((await other.get('/account', proxied)).status, 303)
})

test('the whole way to the callback stays on https', async () => {
  const browser = new Browser(origin)
  await signIn(browser)
  const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
  const start = await browser.get(`/v1/oauth/authorize?${query}`, proxied)
  assert.match(start.location!, /^https:\/\/gateway\.example\/login\?request=/)
  const login = await browser.get(pathOf(start), proxied)
  const page = await browser.get(login.location!, proxied)
  const answer = await browser.post(
    '/consent',
    { ...hiddenFields(page.text, '/consent'), decision: 'approve' },
    proxied,
  )
  assert.equal(new URL(answer.location!).searchParams.get('iss'), 'https://gateway.example')
})

test('a plain request is refused, sets no cookie, and is told nothing but to use https', async () => {
  const browser = new Browser(origin)
  for (const headers of [{ host }, { host, 'x-forwarded-proto': 'http' }] as Record<string, string>[]) {
    const answer = await browser.get('/login', headers)
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Use https/)
    assert.equal(answer.headers['set-cookie'], undefined)
  }
})

test('browsers are told to come by https only', async () => {
  const answer = await new Browser(origin).get('/login', proxied)
  assert.match(String(answer.headers['strict-transport-security']), /^max-age=\d{8,}/)
})

test('the same host without https is a foreign origin', async () => {
  const browser = new Browser(origin)
  await signIn(browser)
  const fields = hiddenFields((await browser.get('/account', proxied)).text, '/logout')
  assert.equal((await browser.post('/logout', fields, { ...proxied, origin: `http://${host}` })).status, 403)
  assert.equal((await browser.post('/logout', fields, { ...proxied, origin: `https://${host}` })).status, 303)
})
