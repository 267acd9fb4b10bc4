/** RFC 7009: a client gives up a token. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { type Answer, type Fields, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, openHolder } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

function revoke(token: string, by: TestClient = client, fields: Fields = {}): Promise<Answer> {
  return postForm(`${house.baseUrl}/v1/oauth/revoke`, { token, ...fields }, basic(by))
}

// F8
test('revoking an access token ends it and leaves the refresh token and the other access tokens', async () => {
  const first = await holder.tokens(client)
  const second = (await house.refresh(client, first.refresh_token!)).json<TokenBody>()
  assert.equal((await revoke(first.access_token)).status, 200)
  assert.equal((await house.profile(first.access_token)).status, 401)
  assert.equal((await house.profile(second.access_token)).status, 200)
  assert.equal((await house.refresh(client, first.refresh_token!)).status, 200)
})

// F8
test('revoking a refresh token ends every access token that came of it', async () => {
  const first = await holder.tokens(client)
  const second = (await house.refresh(client, first.refresh_token!)).json<TokenBody>()
  assert.equal((await revoke(first.refresh_token!)).status, 200)
  for (const { access_token } of [first, second])
    assert.equal((await house.profile(access_token)).status, 401)
  assertOAuthError(await house.refresh(client, first.refresh_token!), 'invalid_grant')
})

// F8
test('with rotation, revoking any refresh token of the family ends the family', async () => {
  const rotating = await house.makeClient({ rotate: true })
  const first = await holder.tokens(rotating)
  const second = (await house.refresh(rotating, first.refresh_token!)).json<TokenBody>()
  assert.equal((await revoke(first.refresh_token!, rotating)).status, 200)
  assertOAuthError(await house.refresh(rotating, second.refresh_token!), 'invalid_grant')
  assert.equal((await house.profile(second.access_token)).status, 401)
})

// M3
test('an unknown, malformed, or already revoked token is a 200', async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const unknown = [
    issueToken('access', 'live').text,
    issueToken('refresh', 'live').text,
    'x',
    '\u00e9',
    'x'.repeat(4_000),
  ]
  for (const token of [...unknown, access_token, access_token, refresh_token!, refresh_token!]) {
    assert.equal((await revoke(token)).status, 200)
  }
})

// M3
test("another client's tokens are not touched, and the answer does not tell", async () => {
  const { access_token, refresh_token } = await holder.tokens(client)
  const stranger = await house.makeClient()
  const unknown = await revoke('x', stranger)
  for (const token of [access_token, refresh_token!]) {
    const answer = await revoke(token, stranger)
    assert.equal(answer.status, 200)
    assert.equal(answer.text, unknown.text)
  }
  assert.equal((await house.profile(access_token)).status, 200)
  assert.equal((await house.refresh(client, refresh_token!)).status, 200)
})

// M3
test('codes, personal tokens and secrets are not revoked here', async () => {
  const personal = await house.makeToken(holder.user)
  const code = await holder.code(client)
  for (const token of [personal, code, client.secret]) assert.equal((await revoke(token)).status, 200)
  assert.equal((await house.profile(personal)).status, 200)
  assert.equal((await house.exchange(client, code)).status, 200)
})

// M3
test('revocation needs the client: without credentials, or with wrong ones, it is an invalid_client', async () => {
  const { access_token } = await holder.tokens(client)
  assertOAuthError(
    await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }),
    'invalid_client',
  )
  assertOAuthError(await revoke(access_token, { ...client, secret: 'x' }), 'invalid_client')
  assert.equal((await house.profile(access_token)).status, 200)
})

test('token_type_hint is only a hint: a wrong or unknown one changes nothing', async () => {
  for (const token_type_hint of ['refresh_token', 'access_token', 'nonsense', '']) {
    const { access_token } = await holder.tokens(client)
    assert.equal((await revoke(access_token, client, { token_type_hint })).status, 200)
    assert.equal((await house.profile(access_token)).status, 401)
  }
})

test('a request without a token, with two, or with one in the address is an invalid_request', async () => {
  const { access_token } = await holder.tokens(client)
  const url = `${house.baseUrl}/v1/oauth/revoke`
  assertOAuthError(await postForm(url, {}, basic(client)), 'invalid_request')
  assertOAuthError(await postForm(url, { token: '' }, basic(client)), 'invalid_request')
  assertOAuthError(
    await postForm(url, { token: [access_token, access_token] }, basic(client)),
    'invalid_request',
  )
  assertOAuthError(
    await postForm(`${url}?token=${access_token}`, { token: 'x' }, basic(client)),
    'invalid_request',
  )
  assertOAuthError(await send(url, { headers: basic(client) }), 'invalid_request', 405)
  assert.equal((await house.profile(access_token)).status, 200)
})

test('a revocation is written to the audit log once', async () => {
  const { access_token } = await holder.tokens(client)
  const actor = `client:${client.id}`
  const count = async () =>
    (await findEntries(house.gateway.context.db, { actor, action: 'token.revoked' })).length
  const before = await count()
  await revoke(access_token)
  await revoke(access_token)
  assert.equal((await count()) - before, 1)
})
