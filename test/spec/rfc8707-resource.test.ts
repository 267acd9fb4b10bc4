/** RFC 8707: a token for one of the brokerage's interfaces is nothing at the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createService, revokeService } from '../../src/services/service.ts'
import { type Answer, Browser, postForm } from '../support/browser.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { assertOAuthError, openHolder } from '../support/oauth.ts'
import { openConsent } from '../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context
const client = await house.makeClient()
const holder = await openHolder(house)
const [orders, quotes] = ['https://orders.example.com', 'urn:example:quotes']
const services = { orders: await protect(orders), quotes: await protect(quotes), all: await protect(null) }

type Credentials = Pick<TestClient, 'id' | 'secret'>

async function protect(audience: string | null): Promise<Credentials> {
  const { service, secret } = await createService(db, 'Orders', 'live', house.act(), { audience })
  return { id: service.id, secret: secret.text }
}

/** Where the browser is sent, with each resource as a parameter of its own. */
async function authorize(resources: readonly string[], asking = client): Promise<URL> {
  const query = new URLSearchParams({ client_id: asking.id, scope: 'read', state: 'st' })
  for (const resource of resources) query.append('resource', resource)
  const answer = await new Browser(house.baseUrl).get(`/v1/oauth/authorize?${query}`)
  assert.equal(answer.status, 302, answer.text)
  return new URL(answer.location!)
}

async function approve(resources: readonly string[], asking = client): Promise<string> {
  const { pathname, search } = await authorize(resources, asking)
  const browser = await holder.browser()
  const login = await browser.get(pathname + search)
  const page = await browser.get(login.location!)
  const answer = await browser.submit(page, '/consent', { decision: 'approve' })
  assert.equal(answer.status, 303, answer.text)
  return new URL(answer.location!).searchParams.get('code')!
}

const post = (path: string, fields: Record<string, string | string[]>, asking: TestClient): Promise<Answer> =>
  postForm(`${house.baseUrl}/v1/oauth/${path}`, fields, basic(asking))
const exchange = (code: string, resource: string[] = [], asking = client) =>
  post('accesstoken', { grant_type: 'authorization_code', code, resource }, asking)
const refresh = (refresh_token: string, resource: string[] = [], asking = client) =>
  post('refreshtoken', { grant_type: 'refresh_token', refresh_token, resource }, asking)

async function audienceAt(token: string, by: Credentials): Promise<unknown> {
  const answer = await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token }, basic(by))
  const { active, aud } = answer.json()
  return active ? (aud ?? 'all') : 'inactive'
}

test('a token is for what its request named, and inactive for whoever protects something else', async () => {
  const { access_token } = (await exchange(await approve([orders]))).json<TokenBody>()
  assert.deepEqual(await audienceAt(access_token, services.orders), [orders])
  assert.equal(await audienceAt(access_token, services.quotes), 'inactive')
  assert.deepEqual(await audienceAt(access_token, services.all), [orders])
  const refused = await house.profile(access_token)
  assert.equal(refused.status, 401)
  assert.match(refused.text, /for https:\/\/orders\.example\.com alone/)
})

test('a token for none in particular is for all', async () => {
  const { access_token } = (await exchange(await approve([]))).json<TokenBody>()
  for (const service of Object.values(services)) assert.equal(await audienceAt(access_token, service), 'all')
  assert.equal((await house.profile(access_token)).status, 200)
})

test('this site is a resource too, by its address and by each address of it', async () => {
  for (const resource of [house.baseUrl, `${house.baseUrl}/v1/user/profile`]) {
    const { access_token } = (await exchange(await approve([resource, orders]))).json<TokenBody>()
    assert.equal((await house.profile(access_token)).status, 200)
    assert.equal(await audienceAt(access_token, services.quotes), 'inactive')
  }
})

test('at the exchange and at each refresh a token can be for less, never for more', async () => {
  const code = await approve([orders, quotes])
  assertOAuthError(await exchange(code, [orders, house.baseUrl]), 'invalid_target')
  const first = (await exchange(code, [orders])).json<TokenBody>()
  assert.deepEqual(await audienceAt(first.access_token, services.all), [orders])
  assert.equal(await audienceAt(first.access_token, services.quotes), 'inactive')
  const again = (await refresh(first.refresh_token!, [quotes])).json<TokenBody>()
  assert.deepEqual(await audienceAt(again.access_token, services.all), [quotes])
  const whole = (await refresh(first.refresh_token!)).json<TokenBody>()
  assert.deepEqual(await audienceAt(whole.access_token, services.all), [orders, quotes])
  assertOAuthError(await refresh(first.refresh_token!, [orders, house.baseUrl]), 'invalid_target')
  assertOAuthError(await refresh(first.refresh_token!, ['https://nobody.example']), 'invalid_target')
})

test('one that was allowed everywhere can still be for one place alone', async () => {
  const { access_token, refresh_token } = (await exchange(await approve([]), [quotes])).json<TokenBody>()
  assert.deepEqual(await audienceAt(access_token, services.all), [quotes])
  assert.equal((await house.profile(access_token)).status, 401)
  const whole = (await refresh(refresh_token!)).json<TokenBody>()
  assert.equal(await audienceAt(whole.access_token, services.orders), 'all')
})

test('with rotation too', async () => {
  const rotating = await house.makeClient({ rotate: true })
  const first = (await exchange(await approve([orders, quotes], rotating), [], rotating)).json<TokenBody>()
  assertOAuthError(await refresh(first.refresh_token!, [house.baseUrl], rotating), 'invalid_target')
  const next = (await refresh(first.refresh_token!, [orders], rotating)).json<TokenBody>()
  assert.deepEqual(await audienceAt(next.access_token, services.all), [orders])
  const whole = (await refresh(next.refresh_token!, [], rotating)).json<TokenBody>()
  assert.deepEqual(await audienceAt(whole.access_token, services.all), [orders, quotes])
})

test('what nobody here protects is told to the callback', async () => {
  const gone = `https://${makeUpWord()}.example.com`
  const { id } = await protect(gone)
  await revokeService(db, id, house.act())
  const { service } = await createService(db, 'Elsewhere', 'sandbox', house.act(), {
    audience: 'https://sandbox.example.com',
  })
  const wrong = [
    ...['https://nobody.example.com', 'orders', `${orders}/`, `${orders}#f`, gone, service.audience!],
    ...[house.sandboxUrl, `${house.baseUrl}.example.com`],
  ]
  for (const resource of wrong) {
    const { origin, searchParams } = await authorize([orders, resource])
    assert.equal(origin, new URL(client.callbackUrl).origin, resource)
    assert.equal(searchParams.get('error'), 'invalid_target', resource)
    assert.equal(searchParams.get('state'), 'st')
  }
  const six = Array.from({ length: 6 }, (_, n) => `${house.baseUrl}/${n}`)
  assert.equal((await authorize(six)).searchParams.get('error'), 'invalid_target')
  assert.equal(
    (await authorize(['', orders, orders])).pathname,
    '/login',
    'empty and repeated ones count once',
  )
})

test('the consent page says where alone it counts', async () => {
  const page = await openConsent(await holder.browser(), client, { extra: { resource: orders } })
  assert.match(page.text, /It can use this at <strong>https:\/\/orders\.example\.com<\/strong>\s+alone/)
  const all = await openConsent(await holder.browser(), client)
  assert.doesNotMatch(all.text, /It can use this at/)
})
