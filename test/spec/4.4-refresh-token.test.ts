/** Spec 4.4: a new access token without asking the user again. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { day, hour } from '../../src/clock.ts'
import { setClientStatus, updateClient } from '../../src/partners/client.ts'
import { setPartnerStatus, setRefreshAccess } from '../../src/partners/partner.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { type Answer, formOf, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, hears, openHolder, openSecondNode } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const rotating = await house.makeClient({ rotate: true })
const holder = await openHolder(house)

function succeeds(answer: Answer): TokenBody {
  assert.equal(answer.status, 200, answer.text)
  return answer.json<TokenBody>()
}

async function countRefreshTokens(refreshToken: string): Promise<number> {
  const count = `SELECT count(*)::int AS n FROM refresh_tokens WHERE grant_id =
       (SELECT grant_id FROM refresh_tokens WHERE hash = sha256(convert_to($1, 'UTF8')))`
  const [row] = await ask<{ n: number }>(house.gateway.context.db, count, [refreshToken])
  return row!.n
}

// F5, T6
test('a refresh gives a new access token and the same refresh token, in the shape of the first answer', async () => {
  const first = await holder.tokens(client, { scope: 'read trade' })
  house.clock.advance(hour)
  const answer = await house.refresh(client, first.refresh_token!)
  const second = succeeds(answer)
  assert.deepEqual(Object.keys(second).sort(), Object.keys(first).sort())
  assert.equal(second.refresh_token, first.refresh_token)
  assert.notEqual(second.access_token, first.access_token)
  assert.equal(second.scope, 'read trade')
  assert.equal(answer.json().token_type, 'Bearer')
  assert.equal(answer.json().expires_in, 86_400)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(answer.headers.pragma, 'no-cache')
  assert.equal((await house.profile(second.access_token)).status, 200)
})

test('older access tokens live out their 24 hours', async () => {
  const first = await holder.tokens(client)
  house.clock.advance(23 * hour)
  const second = succeeds(await house.refresh(client, first.refresh_token!))
  assert.equal((await house.profile(first.access_token)).status, 200)
  house.clock.advance(hour)
  assert.equal((await house.profile(first.access_token)).status, 401)
  assert.equal((await house.profile(second.access_token)).status, 200)
})

// F3
test('a refresh token does not expire: it works after a year and after ten', async () => {
  const { refresh_token } = await holder.tokens(client)
  for (const years of [1, 9]) {
    house.clock.advance(years * 365 * day)
    const { access_token } = succeeds(await house.refresh(client, refresh_token!))
    assert.equal((await house.profile(access_token)).status, 200)
  }
})

// F5
test('20 refreshes at once all succeed, each with an access token of its own', async () => {
  const { refresh_token } = await holder.tokens(client)
  const answers = await Promise.all(Array.from({ length: 20 }, () => house.refresh(client, refresh_token!)))
  const bodies = answers.map(succeeds)
  assert.equal(new Set(bodies.map((body) => body.access_token)).size, 20)
  assert.deepEqual(new Set(bodies.map((body) => body.refresh_token)), new Set([refresh_token]))
  const profiles = await Promise.all(bodies.map((body) => house.profile(body.access_token)))
  assert.deepEqual(new Set(profiles.map(({ status }) => status)), new Set([200]))
})

test('a refresh is taken at the access-token address too, for libraries that know one token address', async () => {
  const { refresh_token } = await holder.tokens(client)
  const fields = { grant_type: 'refresh_token', refresh_token: refresh_token! }
  succeeds(await postForm(`${house.baseUrl}/v1/oauth/accesstoken`, fields, basic(client)))
})

// T7
test('authorization_code at the refresh address is an unsupported_grant_type, and the code stays good', async () => {
  const code = await holder.code(client)
  const url = `${house.baseUrl}/v1/oauth/refreshtoken`
  const answer = await postForm(url, { grant_type: 'authorization_code', code }, basic(client))
  assertOAuthError(answer, 'unsupported_grant_type')
  assertOAuthError(await postForm(url, { refresh_token: 'x' }, basic(client)), 'invalid_request')
  assertOAuthError(await postForm(url, { grant_type: 'refresh_token' }, basic(client)), 'invalid_request')
  assert.equal((await house.exchange(client, code)).status, 200)
})

// F1
test('a partner without refresh access is an unauthorized_client at both addresses', async () => {
  const modest = await house.makeClient({ refresh: false })
  const { refresh_token } = await holder.tokens(client)
  const fields = { grant_type: 'refresh_token', refresh_token: refresh_token! }
  for (const path of ['refreshtoken', 'accesstoken']) {
    assertOAuthError(
      await postForm(`${house.baseUrl}/v1/oauth/${path}`, fields, basic(modest)),
      'unauthorized_client',
    )
  }
})

// F1
test('refresh access that is granted later shows in the next authorization', async () => {
  const partner = await house.makePartner({ refresh: false })
  const modest = await house.makeClient({ partner })
  assert.equal((await holder.tokens(modest)).refresh_token, undefined)
  const heard = hears(house.gateway, `branch:${partner.branchId}`)
  await setRefreshAccess(house.gateway.context.db, partner, true, house.act())
  await heard
  const { refresh_token } = await holder.tokens(modest)
  succeeds(await house.refresh(modest, refresh_token!))
})

// F7
test('refresh access that is withdrawn stops refresh tokens at once, and given back they work again', async () => {
  const { db } = house.gateway.context
  const partner = await house.makePartner()
  const favoured = await house.makeClient({ partner })
  const { refresh_token } = await holder.tokens(favoured)
  for (const allowed of [false, true]) {
    const heard = hears(house.gateway, `branch:${partner.branchId}`)
    await setRefreshAccess(db, partner, allowed, house.act())
    await heard
    const answer = await house.refresh(favoured, refresh_token!)
    if (allowed) succeeds(answer)
    else assertOAuthError(answer, 'unauthorized_client')
  }
})

// F7
test('a suspended client, or one of a suspended partner, is an unauthorized_client wherever it asks', async () => {
  const { db } = house.gateway.context
  const suspended = await house.makeClient()
  const partner = await house.makePartner()
  const ofSuspended = await house.makeClient({ partner })
  const [first, second] = [await holder.tokens(suspended), await holder.tokens(ofSuspended)]
  const heard = Promise.all([
    hears(house.gateway, `client:${suspended.id}`),
    hears(house.gateway, `branch:${partner.branchId}`),
  ])
  await setClientStatus(db, suspended, 'suspended', house.act())
  await setPartnerStatus(db, partner, 'suspended', 'fraud', house.act())
  await heard
  assertOAuthError(await house.refresh(suspended, first.refresh_token!), 'unauthorized_client')
  assertOAuthError(await house.refresh(ofSuspended, second.refresh_token!), 'unauthorized_client')
  for (const each of [suspended, ofSuspended]) {
    assertOAuthError(await house.exchange(each, 'x'), 'unauthorized_client')
    const query = new URLSearchParams({ client_id: each.id, scope: 'read', state: 's' })
    const headers = { accept: 'application/json' }
    const started = await send(`${house.baseUrl}/v1/oauth/authorize?${query}`, { headers })
    assert.deepEqual([started.status, started.json().error], [400, 'unauthorized_client'])
  }
})

// F7
test('the refresh token of a disabled user is refused', async () => {
  const user = await house.makeUser()
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  const { refresh_token } = succeeds(await house.exchange(client, code))
  await setUserStatus(house.gateway.context.db, user, 'disabled', house.act())
  assertOAuthError(await house.refresh(client, refresh_token!), 'invalid_grant')
})

// F7
test('a user who revokes the application ends its refresh token and every access token at once', async () => {
  const browser = await house.signIn(await house.makeUser())
  const code = (await house.approve(client, browser)).get('code')!
  const first = succeeds(await house.exchange(client, code))
  const second = succeeds(await house.refresh(client, first.refresh_token!))
  await browser.submit(await browser.get('/account'), '/account/revoke', {})
  assertOAuthError(await house.refresh(client, first.refresh_token!), 'invalid_grant')
  assert.equal((await house.profile(first.access_token)).status, 401)
  assert.equal((await house.profile(second.access_token)).status, 401)
})

// F2
test('a refresh token in the hands of another client is refused and keeps working for its own', async () => {
  for (const owner of [client, rotating]) {
    const { refresh_token, access_token } = await holder.tokens(owner)
    for (const thief of [await house.makeClient(), await house.makeClient({ rotate: true })]) {
      assertOAuthError(await house.refresh(thief, refresh_token!), 'invalid_grant')
    }
    assert.equal((await house.profile(access_token)).status, 200)
    succeeds(await house.refresh(owner, refresh_token!))
  }
})

// F4
test('a refresh may ask for fewer scopes, and the next one may ask for all of them again', async () => {
  for (const each of [client, rotating]) {
    const first = await holder.tokens(each, { scope: 'read market trade' })
    const narrow = succeeds(await house.refresh(each, first.refresh_token!, { scope: 'market,market' }))
    assert.equal(narrow.scope, 'market')
    assert.equal((await house.profile(narrow.access_token)).status, 403)
    const whole = succeeds(await house.refresh(each, narrow.refresh_token!))
    assert.equal(whole.scope, 'read market trade')
    succeeds(await house.refresh(each, whole.refresh_token!, { scope: 'trade read market' }))
  }
})

// F4
test('a refresh that asks for more than the user approved is an invalid_scope and changes nothing', async () => {
  for (const each of [client, rotating]) {
    const { refresh_token } = await holder.tokens(each, { scope: 'read' })
    for (const scope of ['read trade', 'write', 'nope', 'READ']) {
      assertOAuthError(await house.refresh(each, refresh_token!, { scope }), 'invalid_scope')
    }
    assert.equal(succeeds(await house.refresh(each, refresh_token!)).scope, 'read')
  }
})

// F4
test('an empty scope asks for nothing special', async () => {
  const { refresh_token } = await holder.tokens(client, { scope: 'read market' })
  assert.equal(succeeds(await house.refresh(client, refresh_token!, { scope: '' })).scope, 'read market')
})

test('what is no refresh token of this environment is an invalid_grant', async () => {
  const { refresh_token, access_token } = await holder.tokens(client)
  const flipped = refresh_token!.slice(0, -1) + (refresh_token!.endsWith('0') ? '1' : '0')
  const sandboxed = await holder.tokens(await house.makeClient({ environment: 'sandbox' }))
  const wrong = ['x', flipped, access_token, sandboxed.refresh_token!, `${refresh_token}x`, 'r'.repeat(4_000)]
  for (const each of wrong) assertOAuthError(await house.refresh(client, each), 'invalid_grant')
})

// T3, T4
test('a repeated parameter, a JSON body, a GET or a token in the address is refused', async () => {
  const { refresh_token } = await holder.tokens(client)
  const url = `${house.baseUrl}/v1/oauth/refreshtoken`
  const fields = { grant_type: 'refresh_token', refresh_token: refresh_token! }
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...basic(client) }
  const doubled = `${formOf(fields)}&refresh_token=${refresh_token}`
  assertOAuthError(await send(url, { method: 'POST', headers: form, body: doubled }), 'invalid_request')
  assertOAuthError(await postForm(`${url}?${formOf(fields)}`, fields, basic(client)), 'invalid_request')
  assertOAuthError(await send(url, { headers: basic(client) }), 'invalid_request', 405)
  const json = { ...form, 'content-type': 'application/json' }
  const answer = await send(url, { method: 'POST', headers: json, body: JSON.stringify(fields) })
  assert.ok(answer.status === 415 || answer.status === 400, `${answer.status} ${answer.text}`)
})

// F6
test('with rotation every refresh replaces the refresh token, and the newest always works', async () => {
  let { refresh_token } = await holder.tokens(rotating)
  const seen = new Set([refresh_token])
  for (let round = 0; round < 4; round++) {
    const next = succeeds(await house.refresh(rotating, refresh_token!))
    assert.equal((await house.profile(next.access_token)).status, 200)
    refresh_token = next.refresh_token
    seen.add(refresh_token)
    house.clock.advance(30 * day)
  }
  assert.equal(seen.size, 5)
})

// F6
test('with rotation a repeat within the grace window gets the identical answer', async () => {
  const { refresh_token } = await holder.tokens(rotating)
  const first = await house.refresh(rotating, refresh_token!)
  succeeds(first)
  house.clock.advance(10_000)
  const repeated = await house.refresh(rotating, refresh_token!)
  assert.equal(repeated.status, 200)
  assert.equal(repeated.text, first.text)
})

// F6
test('with rotation 20 refreshes at once, on two nodes, get the identical answer and make one child', async () => {
  const node = await openSecondNode(house)
  try {
    const { refresh_token } = await holder.tokens(rotating)
    const fields = { grant_type: 'refresh_token', refresh_token: refresh_token! }
    const urls = [house.baseUrl, node.baseUrl].map((origin) => `${origin}/v1/oauth/refreshtoken`)
    const sent = Array.from({ length: 20 }, (_, index) => postForm(urls[index % 2]!, fields, basic(rotating)))
    const answers = await Promise.all(sent)
    answers.forEach(succeeds)
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(await countRefreshTokens(refresh_token!), 2)
    const child = succeeds(answers[0]!)
    succeeds(await house.refresh(rotating, child.refresh_token!))
  } finally {
    await node.close()
  }
})

// F6
test('with rotation a replaced token that returns after the window ends the whole family', async () => {
  const first = await holder.tokens(rotating)
  const second = succeeds(await house.refresh(rotating, first.refresh_token!))
  house.clock.advance(31_000)
  assertOAuthError(await house.refresh(rotating, first.refresh_token!), 'invalid_grant')
  for (const { access_token } of [first, second])
    assert.equal((await house.profile(access_token)).status, 401)
  assertOAuthError(await house.refresh(rotating, second.refresh_token!), 'invalid_grant')
  const entries = await findEntries(house.gateway.context.db, { actor: `client:${rotating.id}`, limit: 1 })
  assert.equal(entries[0]?.action, 'token.reuse_detected')
})

// F6
test('with rotation a grandparent that returns ends the family even within the window', async () => {
  const first = await holder.tokens(rotating)
  const second = succeeds(await house.refresh(rotating, first.refresh_token!))
  const third = succeeds(await house.refresh(rotating, second.refresh_token!))
  assertOAuthError(await house.refresh(rotating, first.refresh_token!), 'invalid_grant')
  assertOAuthError(await house.refresh(rotating, third.refresh_token!), 'invalid_grant')
  assert.equal((await house.profile(third.access_token)).status, 401)
})

// F6
test('with rotation a replaced token in the hands of another client ends nothing', async () => {
  const first = await holder.tokens(rotating)
  const second = succeeds(await house.refresh(rotating, first.refresh_token!))
  house.clock.advance(60_000)
  assertOAuthError(
    await house.refresh(await house.makeClient({ rotate: true }), first.refresh_token!),
    'invalid_grant',
  )
  succeeds(await house.refresh(rotating, second.refresh_token!))
})

// F6
test('one family that ends leaves the other families of the same user and client alone', async () => {
  const other = await holder.tokens(rotating)
  const first = await holder.tokens(rotating)
  succeeds(await house.refresh(rotating, first.refresh_token!))
  house.clock.advance(60_000)
  assertOAuthError(await house.refresh(rotating, first.refresh_token!), 'invalid_grant')
  succeeds(await house.refresh(rotating, other.refresh_token!))
})

// F6
test('rotation can be switched on for a client that has refresh tokens already', async () => {
  const convert = await house.makeClient()
  const { refresh_token } = await holder.tokens(convert)
  const heard = hears(house.gateway, `client:${convert.id}`)
  const change = { ...house.act(), development: true }
  await updateClient(house.gateway.context.db, convert, { rotateRefreshTokens: true }, change)
  await heard
  const next = succeeds(await house.refresh(convert, refresh_token!))
  assert.notEqual(next.refresh_token, refresh_token)
  succeeds(await house.refresh(convert, next.refresh_token!))
})

// T9
test('refreshes of good tokens and bad ones that arrive together do not disturb each other', async () => {
  const { refresh_token } = await holder.tokens(client)
  const foreign = await holder.tokens(await house.makeClient())
  const sent = Array.from({ length: 12 }, (_, index) =>
    house.refresh(client, [refresh_token!, foreign.refresh_token!, 'x'][index % 3]!),
  )
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  assert.deepEqual(
    statuses,
    statuses.map((_, index) => (index % 3 === 0 ? 200 : 400)),
  )
})
