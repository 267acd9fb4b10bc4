/**
 * Spec 5: who calls, in every way that clients say it; two environments that
 * never mix.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour } from '../../src/clock.ts'
import { listSecrets, revokeSecret, rotateSecret } from '../../src/partners/client-secret.ts'
import { type Answer, type Fields, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, assertProblem, hears, openHolder } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

/** An exchange of a code that nobody issued: invalid_grant means that the client was recognised. */
function knock(headers: Record<string, string>, fields: Fields = {}): Promise<Answer> {
  const sent = { grant_type: 'authorization_code', code: 'x', ...fields }
  return postForm(`${house.baseUrl}/v1/oauth/accesstoken`, sent, headers)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

const everyLetterEncoded = (text: string) =>
  [...text].map((letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')

// T1
test('a client is recognised by HTTP Basic in any case of the scheme', async () => {
  const encoded = base64(`${client.id}:${client.secret}`)
  for (const scheme of ['Basic', 'basic', 'BASIC']) {
    assertOAuthError(await knock({ authorization: `${scheme} ${encoded}` }), 'invalid_grant')
  }
})

// T1
test('credentials that a library form-encoded are the same credentials', async () => {
  const { id, secret } = client
  const readings = [
    `${everyLetterEncoded(id)}:${everyLetterEncoded(secret)}`,
    `${id}:${everyLetterEncoded(secret).toUpperCase()}`,
    `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`,
  ]
  for (const reading of readings) {
    assertOAuthError(await knock({ authorization: `Basic ${base64(reading)}` }), 'invalid_grant')
  }
})

// T1
test('ids and secrets are letters and digits, so that every reading of them agrees', () => {
  assert.match(client.id, /^[A-Za-z0-9]+$/)
  assert.match(client.secret, /^[A-Za-z0-9]{43,}$/)
})

// T1
test('a header that is not base64 of id:secret is an invalid_client', async () => {
  const right = base64(`${client.id}:${client.secret}`)
  const wrong = [
    'Basic',
    'Basic ',
    'Basic !!!!',
    `Basic ${base64(client.id)}`,
    `Basic ${base64(`:${client.secret}`)}`,
    `Basic ${base64(`${client.id}:`)}`,
    `Basic ${base64(`${client.id}:${client.secret}:`)}`,
    `Basic ${base64(`${client.id}: ${client.secret}`)}`,
    `Basic ${right.slice(0, 20)} ${right.slice(20)}`,
    `Basic ${right}!`,
    `Basic ${right},${right}`,
    `Basic ${client.id}:${client.secret}`,
    `Basic${right}`,
    `Bearer ${right}`,
    `Bearer ${client.secret}`,
    right,
  ]
  for (const authorization of wrong) assertOAuthError(await knock({ authorization }), 'invalid_client')
})

test('client_id and client_secret in the form are credentials too', async () => {
  const { id, secret } = client
  assertOAuthError(await knock({}, { client_id: id, client_secret: secret }), 'invalid_grant')
  assertOAuthError(await knock({}, { client_id: id, client_secret: `${secret}x` }), 'invalid_client')
  assertOAuthError(await knock({}, { client_id: id }), 'invalid_client')
  assertOAuthError(await knock({}, { client_id: id, client_secret: '' }), 'invalid_client')
})

test('both ways at once are accepted when they are equal and an invalid_request when they differ', async () => {
  const { id, secret } = client
  const other = await house.makeClient()
  assertOAuthError(await knock(basic(client), { client_id: id, client_secret: secret }), 'invalid_grant')
  assertOAuthError(await knock(basic(client), { client_id: id }), 'invalid_grant')
  const different: Fields[] = [
    { client_id: other.id },
    { client_id: other.id, client_secret: other.secret },
    { client_id: id, client_secret: 'x' },
    { client_secret: other.secret },
    { client_id: [id, id] },
    { client_id: id, client_secret: [secret, secret] },
  ]
  for (const fields of different) assertOAuthError(await knock(basic(client), fields), 'invalid_request')
})

// T2
test('missing or wrong credentials are a 401 invalid_client with a Basic challenge', async () => {
  const answers = [
    await knock({}),
    await knock(basic({ ...client, secret: 'x' })),
    await knock({ authorization: 'x' }),
  ]
  for (const answer of answers) {
    assertOAuthError(answer, 'invalid_client')
    assert.match(String(answer.headers['www-authenticate']), /^Basic realm="[^"]+"/)
  }
})

// T2
test('an unknown client and a wrong secret get the same answer', async () => {
  const wrong = await knock(basic({ id: client.id, secret: client.secret.toLowerCase() }))
  const unknown = await knock(basic({ id: 'A'.repeat(24), secret: client.secret }))
  const malformed = await knock(basic({ id: 'nobody at all', secret: 'x' }))
  for (const answer of [unknown, malformed]) {
    assert.equal(answer.status, wrong.status)
    assert.equal(answer.text, wrong.text)
    assert.equal(answer.headers['www-authenticate'], wrong.headers['www-authenticate'])
  }
})

// T2
test('a NUL byte, a huge id or bytes that are not UTF-8 are wrong credentials and nothing worse', async () => {
  const odd = [
    '\0:\0',
    `${client.id}\0:${client.secret}`,
    `${client.id}:${client.secret}\0`,
    '%00:%00',
    '__proto__:x',
  ]
  for (const text of [...odd, `${'i'.repeat(5_000)}:x`, ':', '%:%', '%ff:%fe', '😀:😀']) {
    assertOAuthError(await knock({ authorization: `Basic ${base64(text)}` }), 'invalid_client')
  }
  const bytes = Buffer.from([0xff, 0xfe, 0x3a, 0x80]).toString('base64')
  assertOAuthError(await knock({ authorization: `Basic ${bytes}` }), 'invalid_client')
  const inForm = await knock({}, { client_id: '\0', client_secret: '\0' })
  assert.ok(inForm.status === 401 || inForm.status === 400, inForm.text)
})

// T10
test('while secrets overlap both work, and the answer to the old one says that it ends', async () => {
  const { db, vault } = house.gateway.context
  const moving = await house.makeClient()
  assertOAuthError(await knock(basic(moving)), 'invalid_grant')
  const heard = hears(house.gateway, `client:${moving.id}`)
  const replacedAt = house.clock.now()
  const { secret, oldSecretEndsAt } = await rotateSecret(
    db,
    vault,
    moving,
    { overlapMs: 2 * hour },
    house.act(),
  )
  await heard
  const renewed = basic({ id: moving.id, secret: secret.text })

  house.clock.advance(hour / 2)
  const old = await knock(basic(moving))
  assertOAuthError(old, 'invalid_grant')
  // RFC 9745: a date of RFC 9651, of the moment from which there was a better one.
  assert.equal(old.headers.deprecation, `@${Math.floor(replacedAt.getTime() / 1000)}`)
  assert.equal(Date.parse(String(old.headers.sunset)), oldSecretEndsAt.getTime())
  const fresh = await knock(renewed)
  assertOAuthError(fresh, 'invalid_grant')
  assert.equal(fresh.headers.deprecation, undefined)

  house.clock.advance(1.5 * hour - 1)
  assertOAuthError(await knock(basic(moving)), 'invalid_grant')
  house.clock.advance(1)
  assertOAuthError(await knock(basic(moving)), 'invalid_client')
  assertOAuthError(await knock(renewed), 'invalid_grant')
})

// T10
test('a secret that is revoked stops at once', async () => {
  const { db } = house.gateway.context
  const leaked = await house.makeClient()
  assertOAuthError(await knock(basic(leaked)), 'invalid_grant')
  const [secret] = await listSecrets(db, leaked.id, house.clock.now())
  const heard = hears(house.gateway, `client:${leaked.id}`)
  await revokeSecret(db, leaked, secret!.id, house.act())
  await heard
  assertOAuthError(await knock(basic(leaked)), 'invalid_client')
})

/** Makes a token on the account's API settings page, as a person does. */
async function makeTokenOnPage(environment: 'live' | 'sandbox'): Promise<string> {
  const browser = await holder.browser()
  const page = await browser.get('/account/api')
  const made = await browser.submit(page, '/account/api/tokens', { name: 'My script', environment })
  assert.equal(made.status, 200)
  const token = /<code class="secret">([A-Za-z0-9]+)<\/code>/.exec(made.text)?.[1]
  assert.ok(token)
  assert.ok(!(await browser.get('/account/api')).text.includes(token), 'it is shown once')
  return token
}

// Spec 5.1
test('a personal API token from the settings page calls as its user, without end', async () => {
  const token = await makeTokenOnPage('live')
  assert.equal((await house.profile(token)).status, 200)
  house.clock.advance(10 * 365 * day)
  const answer = await house.profile(token)
  assert.equal(answer.json<{ profile: { id: string } }>().profile.id, holder.user.id)
})

// Spec 5.1
test('a token that its owner revokes on the settings page is dead on the next call', async () => {
  const token = await makeTokenOnPage('live')
  assert.equal((await house.profile(token)).status, 200)
  const browser = await holder.browser()
  await browser.submit(await browser.get('/account/api'), '/account/api/revoke', {})
  assert.equal((await house.profile(token)).status, 401)
})

// B6
test('a token of one environment is refused in the other with an error that says so', async () => {
  for (const [environment, other] of [
    ['live', 'sandbox'],
    ['sandbox', 'live'],
  ] as const) {
    const personal = await makeTokenOnPage(environment)
    const { access_token } = await holder.tokens(await house.makeClient({ environment }))
    for (const token of [personal, access_token]) {
      assert.equal((await house.profile(token, environment)).status, 200)
      const answer = await house.profile(token, other)
      assertProblem(answer, 401, 'invalid_token')
      assert.match(String(answer.json().error_description), new RegExp(`\\b${environment}\\b`))
      assert.match(String(answer.headers['www-authenticate']), /error="invalid_token"/)
    }
  }
})

test('a client of one environment does not exist in the other', async () => {
  const sandboxed = await house.makeClient({ environment: 'sandbox' })
  for (const [origin, foreign] of [
    [house.baseUrl, sandboxed],
    [house.sandboxUrl, client],
  ] as const) {
    const asked = await send(`${origin}/v1/oauth/authorize?client_id=${foreign.id}&scope=read&state=st`)
    assert.equal(asked.status, 400)
    assert.equal(asked.location, undefined)
    for (const path of ['accesstoken', 'refreshtoken', 'revoke', 'introspect']) {
      const answer = await postForm(`${origin}/v1/oauth/${path}`, { token: 'x' }, basic(foreign))
      assertOAuthError(answer, 'invalid_client')
    }
  }
})

test('the whole flow works in the sandbox, and what it gives is worth nothing in live', async () => {
  const sandboxed = await house.makeClient({ environment: 'sandbox', callbackUrl: 'http://127.0.0.1:9/cb' })
  const told = await holder.callback(sandboxed, { scope: 'read trade' })
  assert.equal(told.get('iss'), house.sandboxUrl)
  const tokens = (await house.exchange(sandboxed, told.get('code')!)).json<TokenBody>()
  assert.equal((await house.profile(tokens.access_token, 'sandbox')).status, 200)
  assert.equal((await house.refresh(sandboxed, tokens.refresh_token!)).status, 200)
  assert.equal((await house.profile(tokens.access_token, 'live')).status, 401)
  assertOAuthError(await house.refresh(client, tokens.refresh_token!), 'invalid_grant')
  await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: tokens.access_token }, basic(client))
  assert.equal((await house.profile(tokens.access_token, 'sandbox')).status, 200)
})

test('a session of one environment is no session of the other', async () => {
  const { cookies } = await holder.browser('live')
  const [, session] = [...cookies].find(([name]) => name.endsWith('session'))!
  for (const name of ['countersign-sandbox-session', 'countersign-live-session']) {
    const answer = await send(`${house.sandboxUrl}/account`, { headers: { cookie: `${name}=${session}` } })
    assert.equal(answer.status, 303)
    assert.match(answer.location!, /^\/login/)
  }
})
