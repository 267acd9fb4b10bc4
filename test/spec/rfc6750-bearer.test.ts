/** RFC 6750, Spec 5.3: what a bearer token opens, and what is said when it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour, second } from '../../src/clock.ts'
import { issueToken, type TokenKind } from '../../src/crypto/token.ts'
import { listAuthorizations, revokeAuthorization } from '../../src/oauth/authorization.ts'
import { setClientStatus } from '../../src/partners/client.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { createService } from '../../src/services/service.ts'
import { createApiToken, revokeApiToken } from '../../src/users/api-token.ts'
import { getUserById, setUserStatus } from '../../src/users/user.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, assertProblem, hears, openHolder, openSecondNode } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

function call(headers: Record<string, string> = {}, query = ''): Promise<Answer> {
  return send(`${house.baseUrl}/v1/user/profile${query}`, { headers })
}

function assertInvalidToken(answer: Answer, why?: string): void {
  assert.equal(answer.status, 401, why)
  assertProblem(answer, 401, 'invalid_token')
  assert.match(String(answer.headers['www-authenticate']), /^Bearer .*error="invalid_token"/)
}

// B2
test('a call without credentials is a 401 whose challenge holds no error code', async () => {
  for (const headers of [{}, basic(client), { authorization: 'Digest x' }, { authorization: '' }]) {
    const answer = await call(headers)
    assert.equal(answer.status, 401)
    assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="[^"]+", scope="read", /)
    assert.doesNotMatch(String(answer.headers['www-authenticate']), /error/)
  }
})

// B2
test('a token that is malformed or unknown is an invalid_token', async () => {
  const known = (await holder.tokens(client)).access_token
  const unknown = issueToken('access', 'live').text
  const wrong = [
    '',
    'x',
    unknown,
    known.slice(0, -1),
    `${known}x`,
    known.toLowerCase(),
    `${known} ${known}`,
    'a'.repeat(8_000),
  ]
  for (const token of wrong)
    assertInvalidToken(await call({ authorization: `Bearer ${token}` }), token.slice(0, 60))
})

// B2
test('the scheme is read in any case', async () => {
  const { access_token } = await holder.tokens(client)
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    assert.equal((await call({ authorization: `${scheme} ${access_token}` })).status, 200)
  }
})

// B2
test('the right token with the wrong scope is a 403 that names the scope', async () => {
  const { access_token } = await holder.tokens(client, { scope: 'market' })
  const answer = await house.profile(access_token)
  assertProblem(answer, 403, 'insufficient_scope')
  assert.match(
    String(answer.headers['www-authenticate']),
    /^Bearer .*error="insufficient_scope".*scope="read market"/,
  )
})

// B1
test('a token in the address or in a body is not read', async () => {
  const { access_token } = await holder.tokens(client)
  const inAddress = await call({}, `?access_token=${access_token}`)
  assert.ok(inAddress.status === 401 || inAddress.status === 400, String(inAddress.status))
  const inBody = await postForm(`${house.baseUrl}/v1/user/profile`, { access_token })
  assert.equal(inBody.status, 405)
  assert.ok(!inAddress.text.includes(access_token) && !inBody.text.includes(access_token))
})

// B3
test('an access token is good at 86399 seconds and dead at 86400', async () => {
  const { access_token } = await holder.tokens(client)
  house.clock.advance(day - second)
  assert.equal((await house.profile(access_token)).status, 200)
  house.clock.advance(second)
  assertInvalidToken(await house.profile(access_token))
})

// B3
test('a token that was never used before it expired is dead too', async () => {
  const { access_token } = await holder.tokens(client)
  house.clock.advance(25 * hour)
  assertInvalidToken(await house.profile(access_token))
})

// B3
test('a revoked token is dead on the very next request, also while others are under way', async () => {
  const { access_token } = await holder.tokens(client)
  assert.equal((await house.profile(access_token)).status, 200)
  const busy = Array.from({ length: 10 }, () => house.profile(access_token))
  await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(client))
  assertInvalidToken(await house.profile(access_token))
  await Promise.all(busy)
  assertInvalidToken(await house.profile(access_token))
})

// B3
test('a token revoked at one node is dead at every other node that had accepted it', async () => {
  const node = await openSecondNode(house)
  try {
    const { access_token } = await holder.tokens(client)
    const elsewhere = () =>
      send(`${node.baseUrl}/v1/user/profile`, { headers: { authorization: `Bearer ${access_token}` } })
    assert.equal((await elsewhere()).status, 200)
    const told = new Promise<void>((resolve) => {
      node.context.changes.subscribe((tag) => tag.startsWith('access_token:') && resolve())
    })
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(client))
    await told
    assertInvalidToken(await elsewhere())
  } finally {
    await node.close()
  }
})

// B3
test('whatever a token depends on ends it: client, partner, user, authorization', async () => {
  const { db } = house.gateway.context
  const act = house.act()
  const ends: Record<string, (tied: TestClient, userId: string) => Promise<void>> = {
    client: (tied) => setClientStatus(db, tied, 'suspended', act),
    partner: async (tied) =>
      setPartnerStatus(db, await getPartner(db, String(tied.branchId)), 'suspended', 'x', act),
    user: async (_tied, userId) => setUserStatus(db, await getUserById(db, userId), 'disabled', act),
    authorization: async (tied, userId) => {
      const [standing] = await listAuthorizations(db, { userId, clientId: tied.id })
      await revokeAuthorization(db, { id: standing!.id, reason: 'test' }, act)
    },
  }
  for (const [what, end] of Object.entries(ends)) {
    const tied = await house.makeClient()
    const user = await house.makeUser()
    const code = (await house.approve(tied, await house.signIn(user))).get('code')!
    const { access_token } = (await house.exchange(tied, code)).json<TokenBody>()
    assert.equal((await house.profile(access_token)).status, 200)
    const tags = { client: `client:${tied.id}`, partner: `branch:${tied.branchId}`, user: `user:${user.id}` }
    const heard = what in tags ? hears(house.gateway, tags[what as keyof typeof tags]) : Promise.resolve()
    await end(tied, user.id)
    await heard
    assertInvalidToken(await house.profile(access_token), what)
  }
})

// B4
test('a token holds exactly the scopes that were approved, none of them implies another', async () => {
  const { db } = house.gateway.context
  const { service, secret } = await createService(db, 'Orders', 'live', house.act())
  const auth = basic({ id: service.id, secret: secret.text })
  for (const scope of ['read', 'write', 'market', 'trade', 'stream']) {
    const { access_token } = await holder.tokens(client, { scope })
    const answer = await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: access_token }, auth)
    assert.equal(answer.json().scope, scope)
    assert.equal((await house.profile(access_token)).status, scope === 'read' ? 200 : 403)
  }
})

// B5
test('a client id can never be taken for a user id', async () => {
  assert.match(client.id, /^[A-Za-z0-9]{24}$/)
  assert.match(holder.user.id, /^id-[a-z0-9]{12}$/)
  const { access_token } = await holder.tokens(client)
  const { sub, client_id } = (
    await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: access_token }, basic(client))
  ).json()
  assert.equal(sub, holder.user.id)
  assert.equal(client_id, client.id)
})

// B6
test('only access tokens and personal tokens are bearer tokens', async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const browser = await holder.browser()
  const { db } = house.gateway.context
  const { secret } = await createService(db, 'Desk', 'live', house.act())
  const session = [...browser.cookies].find(([name]) => name.endsWith('session'))![1]
  const wrong = {
    code: await holder.code(client),
    refresh_token: refresh_token!,
    secret: client.secret,
    session,
  }
  for (const [what, token] of Object.entries({ ...wrong, service: secret.text })) {
    assertInvalidToken(await call({ authorization: `Bearer ${token}` }), what)
  }
  assert.equal((await house.profile(access_token)).status, 200)
})

// B6
test('no kind of token is accepted in the place of another', async () => {
  const code = await holder.code(client)
  const { access_token, refresh_token } = await holder.tokens(client)
  const personal = await house.makeToken(holder.user)
  for (const wrong of [access_token, refresh_token!, personal, client.secret]) {
    assertOAuthError(await house.exchange(client, wrong), 'invalid_grant')
  }
  for (const wrong of [access_token, code, personal, client.secret]) {
    assertOAuthError(await house.refresh(client, wrong), 'invalid_grant')
  }
  for (const wrong of [access_token, refresh_token!, personal, code]) {
    assertOAuthError(await house.exchange({ ...client, secret: wrong }, code), 'invalid_client')
  }
  assert.equal((await house.exchange(client, code)).status, 200)
})

test('a token of another kind is told what it is and what to send, whether it is in force or not', async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const told = async (path: string, text: string) => {
    const headers = { authorization: `Bearer ${text}`, accept: 'application/json' }
    const answer = await send(house.baseUrl + path, { headers })
    assertInvalidToken(answer)
    return String(answer.json().error_description)
  }
  for (const text of [access_token, issueToken('access', 'live').text])
    assert.equal(
      await told('/v2/webhooks', text),
      'This is an access token of an application. Send client_id and client_secret by HTTP Basic, or a personal API token of a member.',
    )
  for (const text of [refresh_token!, issueToken('refresh', 'live').text])
    assert.equal(await told('/v1/user/profile', text), 'This is a refresh token. Send an access token.')
  assert.match(await told('/v1/user/profile', client.secret), /^This is a client secret\./)
  assert.match(await told('/v2/webhooks', issueToken('personal', 'live').text), /unknown, expired or revoked/)
})

// B6
test('every kind has a prefix of its own, so that what leaks can be recognised', () => {
  const kinds: TokenKind[] = [
    'code',
    'access',
    'refresh',
    'personal',
    'clientSecret',
    'serviceSecret',
    'session',
  ]
  const prefixes = kinds.flatMap((kind) => [issueToken(kind, 'live'), issueToken(kind, 'sandbox')])
  assert.equal(new Set(prefixes.map(({ text }) => text.slice(0, 4))).size, 14)
})

// B2
test('a personal token that its owner revoked, or whose owner was disabled, is an invalid_token', async () => {
  const { db } = house.gateway.context
  const user = await house.makeUser()
  const made = async () => await createApiToken(db, user, { environment: 'live', name: 'x' }, house.act())
  const [first, second] = [await made(), await made()]
  assert.equal((await house.profile(first.token.text)).status, 200)
  await revokeApiToken(db, first.record.id, user.id, house.act())
  assertInvalidToken(await house.profile(first.token.text))
  assert.equal((await house.profile(second.token.text)).status, 200)
  const heard = hears(house.gateway, `user:${user.id}`)
  await setUserStatus(db, user, 'disabled', house.act())
  await heard
  assertInvalidToken(await house.profile(second.token.text))
})
