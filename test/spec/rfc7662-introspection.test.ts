/** RFC 7662: what a token means, for those who may know. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, second } from '../../src/clock.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { changeReading, createService, revokeService } from '../../src/services/service.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type TokenFact, tokenFacts } from '../../src/vocabulary/token-fact.ts'
import { ask } from '../support/ask.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, hears, openHolder } from '../support/oauth.ts'

type Credentials = Pick<TestClient, 'id' | 'secret'>

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)
const liveService = await makeService('live')

type Draft = NonNullable<Parameters<typeof createService>[4]>

async function makeService(environment: Environment, draft?: Draft): Promise<Credentials> {
  const { db } = house.gateway.context
  const { service, secret } = await createService(db, 'Orders', environment, house.act(), draft)
  return { id: service.id, secret: secret.text }
}

function introspect(token: string, by: Credentials): Promise<Answer> {
  return postForm(`${house.baseUrl}/v1/oauth/introspect`, { token }, basic(by))
}

function assertInactive(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json(), { active: false })
}

const seconds = (date: Date) => Math.floor(date.getTime() / 1000)

// M4
test('the client that a token was issued to, and a service of the brokerage, learn what it means', async () => {
  const { access_token } = await holder.tokens(client, { scope: 'trade read' })
  const { profile } = (await house.profile(access_token)).json<{
    profile: { account: { account_number: string } }
  }>()
  for (const asker of [client, liveService]) {
    const answer = await introspect(access_token, asker)
    assert.equal(answer.headers['cache-control'], 'no-store')
    const { tags, ...meaning } = answer.json()
    assert.equal(Array.isArray(tags), asker === liveService)
    assert.deepEqual(meaning, {
      active: true,
      scope: 'read trade',
      client_id: client.id,
      username: holder.user.username,
      token_type: 'Bearer',
      sub: holder.user.id,
      iss: house.baseUrl,
      iat: seconds(house.clock.now()),
      exp: seconds(house.clock.now()) + 86_400,
      ...(asker === liveService && { account_numbers: [profile.account.account_number] }),
    })
  }
})

test('a service learns of a token what its row lets it, and no more', async () => {
  const { db } = house.gateway.context
  const browser = await house.signIn(holder.user)
  const signedInAt = seconds(house.clock.now())
  house.clock.advance(20 * second)
  await ask(db, "UPDATE users SET source = 'core', external_id = 'C-1042' WHERE id = $1", [holder.user.id])
  const code = (await house.approve(client, browser)).get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const plain = { active: true, scope: 'read', token_type: 'Bearer', sub: holder.user.id }
  const always = ['active', 'scope', 'token_type', 'sub', 'iss', 'iat', 'exp', 'tags']
  const [{ grant }] = (await ask(db, 'SELECT max(id)::int AS grant FROM grants')) as [{ grant: number }]
  const told: Record<TokenFact, Record<string, unknown>> = {
    username: { username: holder.user.username },
    client: { client_id: client.id },
    partner: { branch_id: client.branchId },
    grant: { grant_id: grant },
    accounts: { account_numbers: await accountsOf(access_token) },
    customer: { customer: 'C-1042' },
    'sign-in': { auth_time: signedInAt, acr: 'urn:countersign:acr:password' },
  }
  const narrow = await makeService('live', { sees: [] })
  for (const fact of tokenFacts) {
    await changeReading(db, narrow.id, { sees: [fact] }, house.act())
    const { iss, iat, exp, tags, ...rest } = (await introspect(access_token, narrow)).json()
    assert.deepEqual(rest, { ...plain, ...told[fact] }, fact)
  }
  await changeReading(db, narrow.id, { sees: [] }, house.act())
  assert.deepEqual(Object.keys((await introspect(access_token, narrow)).json()).sort(), always.sort())
  const wide = await makeService('live', { sees: tokenFacts })
  const everything = (await introspect(access_token, wide)).json()
  for (const facts of Object.values(told))
    for (const [name, value] of Object.entries(facts)) assert.deepEqual(everything[name], value, name)
  // One who may see everything has asked meanwhile: the other still learns nothing of it.
  assert.deepEqual(Object.keys((await introspect(access_token, narrow)).json()).sort(), always.sort())
})

test('a service may ask as often as it likes, also past what is remembered: it is no client that fails', async () => {
  const strict = await openHouse({ CLIENT_FAILURES_PER_MINUTE: '5' })
  const { service, secret } = await createService(strict.gateway.context.db, 'Orders', 'live', strict.act())
  const token = await strict.makeToken(await strict.makeUser())
  const headers = { ...basic({ id: service.id, secret: secret.text }), 'cache-control': 'no-cache' }
  for (let n = 0; n < 10; n++)
    assert.equal((await postForm(`${strict.baseUrl}/v1/oauth/introspect`, { token }, headers)).status, 200)
  const wrong = basic({ id: service.id, secret: issueToken('serviceSecret', 'live').text })
  const guess = () => postForm(`${strict.baseUrl}/v1/oauth/introspect`, { token }, wrong)
  for (let n = 0; n < 5; n++) assert.equal((await guess()).status, 401)
  assert.equal((await guess()).status, 429)
})

async function accountsOf(token: string): Promise<string[]> {
  return (await introspect(token, liveService)).json<{ account_numbers: string[] }>().account_numbers
}

test('of a personal token nobody says when its user had signed in, or for whom it is', async () => {
  const personal = await house.makeToken(holder.user)
  const body = (await introspect(personal, await makeService('live', { sees: tokenFacts }))).json()
  for (const name of ['auth_time', 'acr', 'grant_id', 'branch_id', 'client_id', 'aud'])
    assert.equal(name in body, false, name)
  assert.equal(body.username, holder.user.username)
})

test('what a service is to see and to protect is checked when it is said', async () => {
  const { db } = house.gateway.context
  const refused = async (draft: Draft, problem: RegExp) =>
    assert.rejects(createService(db, 'Orders', 'live', house.act(), draft), problem)
  await refused({ sees: ['secrets'] }, /sees must be one of username, .*not "secrets"/)
  const addresses = ['orders', '/orders', 'https://a.example/#f', 'https://a b', `https://${'a'.repeat(200)}`]
  for (const audience of [...addresses, 'HTTPS://A.example', ''])
    await refused({ audience }, /audience must be an absolute URI/)
  await makeService('live', { audience: 'urn:example:orders' })
  const { id } = liveService
  await assert.rejects(changeReading(db, id, { audience: 'orders' }, house.act()), /audience must be/)
})

// M4
test('another client learns nothing, not even that the token exists', async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const stranger = await house.makeClient()
  for (const token of [access_token, refresh_token!]) assertInactive(await introspect(token, stranger))
})

// M4
test('a refresh token is active for its client alone, without an end', async () => {
  const { refresh_token } = await holder.tokens(client, { scope: 'market' })
  const body = (await introspect(refresh_token!, client)).json()
  assert.equal(body.active, true)
  assert.equal(body.scope, 'market')
  assert.equal('exp' in body, false)
  assert.equal('token_type' in body, false)
})

// M4
test('a service hears that a token is active when it is a bearer, and of no other', async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const code = await holder.code(client)
  const presented = [
    access_token,
    await house.makeToken(holder.user),
    refresh_token!,
    code,
    client.secret,
    liveService.secret,
  ]
  const answers = await Promise.all(presented.map((token) => introspect(token, liveService)))
  const profiles = await Promise.all(presented.map((token) => house.profile(token)))
  assert.deepEqual(
    answers.map((answer) => answer.json().active),
    profiles.map(({ status }) => status === 200),
  )
  assert.deepEqual(
    answers.map((answer) => answer.json().token_type),
    ['Bearer', 'Bearer', ...Array.from({ length: 4 }, () => undefined)],
  )
})

// M4
test('a personal token is the business of services only', async () => {
  const personal = await house.makeToken(holder.user)
  assertInactive(await introspect(personal, client))
  const body = (await introspect(personal, liveService)).json()
  assert.equal(body.active, true)
  assert.equal(body.sub, holder.user.id)
  assert.equal(body.scope, 'read write market trade stream')
  assert.equal('client_id' in body, false)
  assert.equal('exp' in body, false)
})

// M4
test('what is expired, revoked, replayed, unknown or no token at all is inactive and nothing more', async () => {
  const revoked = await holder.tokens(client)
  await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: revoked.refresh_token! }, basic(client))
  const code = await holder.code(client)
  const replayed = (await house.exchange(client, code)).json<TokenBody>()
  await house.exchange(client, code)
  const unused = await holder.code(client)
  const gone = [revoked, replayed].flatMap(({ access_token, refresh_token }) => [
    access_token,
    refresh_token!,
  ])
  for (const token of [...gone, unused, client.secret, 'x', '\u00e9'])
    assertInactive(await introspect(token, liveService))
})

// B3
test('a token is active at 86399 seconds and inactive at 86400', async () => {
  const { access_token } = await holder.tokens(client)
  house.clock.advance(day - second)
  assert.equal((await introspect(access_token, liveService)).json().active, true)
  house.clock.advance(second)
  assertInactive(await introspect(access_token, liveService))
})

// M4
test('a token of the other environment is inactive here', async () => {
  const sandboxed = await holder.tokens(await house.makeClient({ environment: 'sandbox' }))
  assertInactive(await introspect(sandboxed.access_token, liveService))
  assertInactive(await introspect(sandboxed.refresh_token!, liveService))
})

// M4
test('nobody else may ask: no credentials, wrong ones, or those of the other environment', async () => {
  const { access_token } = await holder.tokens(client)
  const url = `${house.baseUrl}/v1/oauth/introspect`
  assertOAuthError(await postForm(url, { token: access_token }), 'invalid_client')
  const bearer = { authorization: `Bearer ${access_token}` }
  assertOAuthError(await postForm(url, { token: access_token }, bearer), 'invalid_client')
  const wrong = [
    { ...client, secret: 'x' },
    { ...liveService, secret: 'x' },
    { id: liveService.id, secret: client.secret },
    { id: client.id, secret: liveService.secret },
    await makeService('sandbox'),
    await house.makeClient({ environment: 'sandbox' }),
  ]
  for (const asker of wrong) assertOAuthError(await introspect(access_token, asker), 'invalid_client')
})

// M4
test('a service that was revoked may no longer ask', async () => {
  const retired = await makeService('live')
  const { access_token } = await holder.tokens(client)
  assert.equal((await introspect(access_token, retired)).status, 200)
  const heard = hears(house.gateway, `service:${retired.id}`)
  await revokeService(house.gateway.context.db, retired.id, house.act())
  await heard
  assertOAuthError(await introspect(access_token, retired), 'invalid_client')
})

// M4
test('a service can introspect and nothing else: it is no client', async () => {
  const code = await holder.code(client)
  const as = { ...client, ...liveService }
  assertOAuthError(await house.exchange(as, code), 'invalid_client')
  assertOAuthError(await house.refresh(as, 'x'), 'invalid_client')
  assertOAuthError(
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: 'x' }, basic(liveService)),
    'invalid_client',
  )
})

test('a NUL byte in credentials or token is a fault of the request, never of the service', async () => {
  for (const asker of [
    { id: '\0', secret: 'x' },
    { id: `${client.id}\0`, secret: client.secret },
  ]) {
    assertOAuthError(await introspect('x', asker), 'invalid_client')
  }
  const answer = await introspect('\0', client)
  assert.ok(answer.status === 200 || answer.status === 400, answer.text)
})

test('a request without a token, with two, with one in the address, or by GET is an invalid_request', async () => {
  const url = `${house.baseUrl}/v1/oauth/introspect`
  assertOAuthError(await postForm(url, {}, basic(client)), 'invalid_request')
  assertOAuthError(await postForm(url, { token: ['x', 'x'] }, basic(client)), 'invalid_request')
  assertOAuthError(await postForm(`${url}?token=x`, {}, basic(client)), 'invalid_request')
  assertOAuthError(await send(`${url}?token=x`, { headers: basic(client) }), 'invalid_request', 405)
})
