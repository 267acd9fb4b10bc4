/** Spec 4.3–T7: what the token endpoint takes and refuses, whatever the code. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { type Answer, type Fields, formOf, postForm, send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { assertOAuthError, openHolder } from '../support/oauth.ts'

const form = 'application/x-www-form-urlencoded'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

/** Posts these fields, and only these, as the client. */
function post(fields: Fields | string, headers: Record<string, string> = {}): Promise<Answer> {
  const body = typeof fields === 'string' ? fields : formOf(fields)
  const sent = { 'content-type': form, ...basic(client), ...headers }
  return send(`${house.baseUrl}/v1/oauth/accesstoken`, { method: 'POST', headers: sent, body })
}

// T7
test('grant_type is needed and known: absent is invalid_request, anything else unsupported_grant_type', async () => {
  const code = await holder.code(client)
  assertOAuthError(await post({ code }), 'invalid_request')
  assertOAuthError(await post({ grant_type: '', code }), 'invalid_request')
  for (const grant_type of [
    'password',
    'client_credentials',
    'AUTHORIZATION_CODE',
    'authorization_code ',
    '__proto__',
  ]) {
    assertOAuthError(await post({ grant_type, code }), 'unsupported_grant_type')
  }
  assert.equal((await house.exchange(client, code)).status, 200)
})

test('a missing grant_type is told alone: what else is needed depends on it', async () => {
  for (const path of ['/v1/oauth/accesstoken', '/v1/oauth/refreshtoken']) {
    for (const fields of [
      {},
      { grant_type: '' },
      { code: '' },
      { refresh_token: '' },
      { scope: 'all' },
      { code: 'x' },
    ]) {
      const answer = await postForm(house.baseUrl + path, fields, basic(client))
      assertOAuthError(answer, 'invalid_request')
      assert.equal(answer.json().error_description, 'grant_type is missing.', `${path} ${formOf(fields)}`)
    }
  }
})

test('code is needed: absent or empty is an invalid_request that names it', async () => {
  for (const fields of [{}, { code: '' }]) {
    const answer = await post({ grant_type: 'authorization_code', ...fields })
    assertOAuthError(answer, 'invalid_request')
    assert.match(String(answer.json().error_description), /\bcode\b/)
  }
})

// T4
test('a parameter that is sent twice is an invalid_request and consumes nothing', async () => {
  const code = await holder.code(client)
  const sound = formOf({ grant_type: 'authorization_code', code })
  for (const pair of [
    'grant_type=authorization_code',
    `code=${code}`,
    'code=',
    'x=1&x=1',
    '__proto__=1&__proto__=1',
  ]) {
    assertOAuthError(await post(`${sound}&${pair}`), 'invalid_request')
  }
  assert.equal((await post(sound)).status, 200)
})

// T4
test('unknown parameters are ignored, whatever they are called', async () => {
  const code = await holder.code(client)
  const odd = {
    type: 'web_server',
    scope: '',
    __proto__x: 'a',
    constructor: 'b',
    toString: 'c',
    'a[b]': 'd',
    '': 'e',
  }
  const answer = await post(`${formOf({ grant_type: 'authorization_code', code, ...odd })}&__proto__=x&&`)
  assert.equal(answer.status, 200)
})

// T4
test('a form with a charset, in any case, is a form', async () => {
  for (const type of [
    `${form}; charset=UTF-8`,
    `${form};charset=utf-8`,
    'Application/X-WWW-Form-Urlencoded',
  ]) {
    const code = await holder.code(client)
    const answer = await post({ grant_type: 'authorization_code', code }, { 'content-type': type })
    assert.equal(answer.status, 200, type)
  }
})

// T4
test('a JSON body is no form: it is refused and consumes nothing', async () => {
  const code = await holder.code(client)
  const fields = { grant_type: 'authorization_code', code }
  const bodies = [fields, { ...fields, client_id: client.id, client_secret: client.secret }, [], null, 7, 'x']
  for (const body of [
    ...bodies,
    { ...fields, client_id: 7, client_secret: {} },
    { ...fields, code: { length: 53 } },
  ]) {
    const answer = await post(JSON.stringify(body), { 'content-type': 'application/json' })
    assertOAuthError(answer, 'invalid_request', 415)
  }
  assert.equal((await house.exchange(client, code)).status, 200)
})

// T4
test('a body that is no form is a 415 at every OAuth endpoint, whatever is in it and whoever sends it', async () => {
  const forms = apiRoutes.filter(({ takes }) => takes === 'form')
  assert.ok(forms.length >= 4)
  const types = [
    'application/json',
    'application/json; charset=latin1',
    'text/plain',
    'application/x-ndjson',
    '',
    'x',
  ]
  const bodies = [
    '{',
    '',
    '{}',
    '[]',
    'null',
    '\0',
    'grant_type=authorization_code',
    '{"__proto__":1}',
    'x'.repeat(70_000),
  ]
  for (const { path } of forms) {
    for (const type of types) {
      for (const body of bodies) {
        if (type === '' && body === '') continue
        for (const who of [basic(client), {}, { authorization: 'Basic x' }]) {
          const headers = { ...who, 'content-type': type }
          const answer = await send(house.baseUrl + path, { method: 'POST', headers, body })
          assertOAuthError(answer, 'invalid_request', 415)
        }
      }
    }
  }
})

// T4
test('credentials in a JSON body are never read', async () => {
  const code = await holder.code(client)
  const fields = {
    grant_type: 'authorization_code',
    code,
    client_id: client.id,
    client_secret: client.secret,
  }
  const url = `${house.baseUrl}/v1/oauth/accesstoken`
  for (const body of [fields, { ...fields, client_id: 7 }, { ...fields, client_secret: ['x'] }]) {
    const headers = { 'content-type': 'application/json' }
    const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(body) })
    assertOAuthError(answer, 'invalid_request', 415)
  }
})

// T4
test('any other body, or none, is refused', async () => {
  for (const type of [
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/x-www-form-urlencodedx',
  ]) {
    assertOAuthError(
      await post('grant_type=authorization_code', { 'content-type': type }),
      'invalid_request',
      415,
    )
  }
  const url = `${house.baseUrl}/v1/oauth/accesstoken`
  assertOAuthError(await send(url, { method: 'POST', headers: basic(client) }), 'invalid_request')
  assertOAuthError(await post(''), 'invalid_request')
})

// T4
test('a form over 8 KiB is a 413, also when its length is not announced', async () => {
  const sound = { grant_type: 'authorization_code', code: 'x' }
  const small = formOf({ ...sound, padding: '' })
  assertOAuthError(await post(small + 'p'.repeat(8_192 - small.length)), 'invalid_grant')
  assertOAuthError(await post(small + 'p'.repeat(8_193 - small.length)), 'invalid_request', 413)
  const chunked = await fetch(`${house.baseUrl}/v1/oauth/accesstoken`, {
    method: 'POST',
    headers: { 'content-type': form, ...basic(client) },
    body: ReadableStream.from([Buffer.from(small), Buffer.alloc(10_000, 'p')]),
    duplex: 'half',
  } as RequestInit)
  assert.equal(chunked.status, 413)
})

// T3
test('credentials or codes in the address are refused, even beside good ones, and consume nothing', async () => {
  const code = await holder.code(client)
  const secrets = { client_secret: client.secret, client_id: client.id, code, refresh_token: 'x', token: 'x' }
  for (const [name, value] of Object.entries(secrets)) {
    const url = `${house.baseUrl}/v1/oauth/accesstoken?${formOf({ [name]: value })}`
    assertOAuthError(
      await postForm(url, { grant_type: 'authorization_code', code }, basic(client)),
      'invalid_request',
    )
  }
  const all = formOf({
    grant_type: 'authorization_code',
    code,
    client_id: client.id,
    client_secret: client.secret,
  })
  assertOAuthError(await postForm(`${house.baseUrl}/v1/oauth/accesstoken?${all}`, {}), 'invalid_request')
  assert.equal((await house.exchange(client, code)).status, 200)
})

// T4
test('the token endpoint takes POST: every other method is a 405 with Allow', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
    const answer = await send(`${house.baseUrl}/v1/oauth/accesstoken`, { method, headers: basic(client) })
    assertOAuthError(answer, 'invalid_request', 405)
    assert.equal(answer.headers.allow, 'POST')
  }
})

// T5
test('the answer is JSON whatever Accept says, for success and for error', async () => {
  const odd = [
    'text/html',
    form,
    '*/*;q=0',
    'application/json;q=0, text/plain',
    'nonsense',
    '',
    ', ;;',
    'image/png',
  ]
  for (const accept of odd) {
    const good = await post({ grant_type: 'authorization_code', code: await holder.code(client) }, { accept })
    assert.equal(good.status, 200, accept)
    assert.match(String(good.headers['content-type']), /^application\/json/)
    assert.equal(good.json().token_type, 'Bearer')
    assertOAuthError(await post({ grant_type: 'authorization_code', code: 'x' }, { accept }), 'invalid_grant')
  }
})

// T5
test('neither success nor error may be stored', async () => {
  const good = await house.exchange(client, await holder.code(client))
  const bad = await house.exchange(client, 'x')
  const stranger = await house.exchange({ ...client, secret: 'x' }, 'x')
  for (const answer of [good, bad, stranger]) {
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers.pragma, 'no-cache')
  }
})

test('a NUL byte in any field is a fault of the request, never of the service', async () => {
  const code = await holder.code(client)
  const sound = { grant_type: 'authorization_code', code }
  const fields = [
    { ...sound, redirect_uri: `${client.callbackUrl}\0` },
    { ...sound, code: `${code}\0` },
    { ...sound, code_verifier: '\0' },
    { ...sound, grant_type: '\0' },
    { grant_type: 'refresh_token', refresh_token: '\0', scope: '\0' },
  ]
  for (const each of fields) {
    const answer = await post(each)
    assert.equal(answer.status, 400, answer.text)
    assert.match(String(answer.json().error), /^(invalid_request|invalid_grant|unsupported_grant_type)$/)
  }
})

// K3
test('a malformed exchange does not harm those that arrive together with it', async () => {
  const codes: string[] = []
  for (let count = 0; count < 8; count++) codes.push(await holder.code(client))
  const malformed = await holder.code(client)
  const sent = codes.flatMap((code) => [
    house.exchange(client, code),
    house.exchange(client, malformed, { redirect_uri: '\0' }),
  ])
  const answers = (await Promise.all(sent)).filter((_, index) => index % 2 === 0)
  assert.deepEqual(
    answers.map(({ status }) => status),
    codes.map(() => 200),
  )
})
