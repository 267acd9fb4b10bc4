/** Spec 4.1: the authorization request, sound and otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setClientStatus } from '../../src/partners/client.ts'
import { applyAsPartner, getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { type Answer, send } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { dumpTables, makeProof, sendRaw } from '../support/oauth.ts'

const callbackUrl = 'https://app.example.com/callback'

const house = await openHouse()
const client = await house.makeClient({ callbackUrl, scope: 'read write market trade' })

type Parameters = Record<string, string | undefined>

/** A sound request with these parameters over it; undefined takes one away. */
function ask(
  parameters: Parameters = {},
  headers: Record<string, string> = { accept: 'text/html' },
): Promise<Answer> {
  const all = { client_id: client.id, scope: 'read', state: 'st', ...parameters }
  const pairs = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return askRaw(new URLSearchParams(pairs).toString(), headers)
}

/** The query exactly as it is written here. */
function askRaw(query: string, headers: Record<string, string> = { accept: 'text/html' }): Promise<Answer> {
  return send(`${house.baseUrl}/v1/oauth/authorize?${query}`, { headers })
}

function assertSentToLogin(answer: Answer, why?: string): void {
  assert.equal(answer.status, 302, why)
  assert.ok(answer.location?.startsWith(`${house.baseUrl}/login?request=`), `${why}: ${answer.location}`)
}

function assertShownPage(answer: Answer, why?: string): void {
  assert.equal(answer.status, 400, why)
  assert.equal(answer.location, undefined, why)
  assert.match(String(answer.headers['content-type']), /^text\/html/, why)
}

/** The parameters of an error that was told to the callback. */
function assertToldToCallback(answer: Answer, error: string, why?: string): URLSearchParams {
  assert.equal(answer.status, 302, why)
  assert.ok(answer.location?.startsWith(`${callbackUrl}?`), `${why}: ${answer.location}`)
  const told = new URL(answer.location!).searchParams
  assert.equal(told.get('error'), error, `${why}: ${answer.location}`)
  return told
}

test('a sound request is a 302 to the login page', async () => {
  assertSentToLogin(await ask())
})

// A1
test('a client_id that is missing, unknown or malformed is shown a page and never redirected', async () => {
  const wrong = [
    undefined,
    '',
    'x',
    client.id.toLowerCase(),
    `${client.id} `,
    'A'.repeat(24),
    'A'.repeat(8_000),
    '../..',
  ]
  for (const client_id of wrong)
    assertShownPage(await ask({ client_id }), `client_id=${client_id?.slice(0, 40)}`)
})

// A1
test('a client_id with a NUL byte is refused like any other unknown one', async () => {
  assertShownPage(await ask({ client_id: `${client.id}\0` }))
})

// A1
test('a client that is suspended, whose partner is suspended, or whose partner was never approved is shown a page', async () => {
  const { db } = house.gateway.context
  const suspended = await house.makeClient({ callbackUrl })
  await setClientStatus(db, suspended, 'suspended', house.act())
  const fallen = await house.makePartner()
  const ofFallen = await house.makeClient({ callbackUrl, partner: fallen })
  await setPartnerStatus(db, fallen, 'suspended', 'fraud', house.act())
  const { branchId } = await applyAsPartner(db, 'Hopeful', house.act())
  const unapproved = await house.makeClient({ callbackUrl, partner: await getPartner(db, String(branchId)) })
  for (const each of [suspended, ofFallen, unapproved]) assertShownPage(await ask({ client_id: each.id }))
})

// A1
test('nothing of a refused request is reflected as markup', async () => {
  const markup = '"><script>alert(1)</script>'
  const answer = await ask({ client_id: markup, state: markup, scope: markup, redirect_uri: markup })
  assertShownPage(answer)
  assert.ok(!answer.text.includes('alert(1)'))
})

// A1
test('a program that asks for JSON gets the error as JSON, and no redirect', async () => {
  const answer = await ask({ client_id: 'nobody' }, { accept: 'application/json' })
  assert.equal(answer.status, 400)
  assert.equal(answer.location, undefined)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.equal(answer.json().error, 'invalid_request')
})

// A3
test('a redirect_uri equal to the registered callback is accepted', async () => {
  assertSentToLogin(await ask({ redirect_uri: callbackUrl }))
})

// A3
test('a redirect_uri that differs in one character is shown a page, never a redirect', async () => {
  const different = [
    `${callbackUrl}/`,
    callbackUrl.toUpperCase(),
    'https://App.example.com/callback',
    'https://app.example.com:443/callback',
    'https://app.example.com:8443/callback',
    'http://app.example.com/callback',
    `${callbackUrl}/more`,
    `${callbackUrl}?next=x`,
    `${callbackUrl}#x`,
    'https://app.example.com/x/%2e%2e/callback',
    'https://app.example.com/x/../callback',
    'https://user@app.example.com/callback',
    'https://app.example.com@evil.example/callback',
    'https://app.example.com.evil.example/callback',
    'https://app.example.com\\@evil.example/callback',
    `${callbackUrl}\0`,
    ` ${callbackUrl}`,
    'javascript:alert(1)',
    '//evil.example',
  ]
  for (const redirect_uri of different) assertShownPage(await ask({ redirect_uri }), redirect_uri)
})

// A3
test('a redirect_uri that is sent twice is shown a page, even when both are right', async () => {
  const right = encodeURIComponent(callbackUrl)
  const query = `client_id=${client.id}&scope=read&state=st&redirect_uri=${right}&redirect_uri=`
  assertShownPage(await askRaw(query + right))
  assertShownPage(await askRaw(`${query}https%3A%2F%2Fevil.example`))
})

// A4
test('response_type may be absent or code, and nothing else', async () => {
  assertSentToLogin(await ask({ response_type: 'code' }))
  for (const response_type of ['token', 'id_token', 'code token', 'CODE', 'none']) {
    const told = assertToldToCallback(
      await ask({ response_type }),
      'unsupported_response_type',
      response_type,
    )
    assert.equal(told.get('state'), 'st')
  }
})

// A4, A3 (RFC 6749, 3.1)
test('a parameter without a value counts as one that was not sent', async () => {
  assertSentToLogin(await ask({ response_type: '' }), 'response_type=')
  assertSentToLogin(await ask({ redirect_uri: '' }), 'redirect_uri=')
})

// A5
test('a request without state is told so by name', async () => {
  for (const state of [undefined, '']) {
    const told = assertToldToCallback(await ask({ state }), 'invalid_request')
    assert.match(told.get('error_description')!, /\bstate\b/)
    assert.equal(told.get('state'), null)
  }
})

// A5
test('a state of 2048 characters is accepted and one of 2049 is refused without an echo', async () => {
  for (const character of ['s', '%', 'é']) {
    assertSentToLogin(await ask({ state: character.repeat(2_048) }), character)
    const told = assertToldToCallback(
      await ask({ state: character.repeat(2_049) }),
      'invalid_request',
      character,
    )
    assert.equal(told.get('state'), null)
  }
})

// A5
test('a state with a control character is refused without an echo, so that no header can be injected', async () => {
  for (const character of ['\0', '\r', '\n', '\r\nset-cookie: a=b', '\t', '\x1b', '\x7f']) {
    const answer = await ask({ state: `a${character}b` })
    const told = assertToldToCallback(answer, 'invalid_request', JSON.stringify(character))
    assert.equal(told.get('state'), null)
    assert.equal(answer.headers['set-cookie'], undefined)
  }
})

// A5, A8
test('an error is told together with the exact bytes of the state', async () => {
  const states = ['%2B', '+', ' ', '&=#?/;,', '"quoted\'', '😀é', '\u00a0', '%%%', '<b>', 'a'.repeat(2_048)]
  for (const state of states) {
    assert.equal(
      assertToldToCallback(await ask({ state, scope: 'nope' }), 'invalid_scope').get('state'),
      state,
    )
  }
})

// A5
test('state bytes that are not UTF-8, or not percent-encoded, come back as the same bytes', async () => {
  const head = `GET /v1/oauth/authorize?client_id=${client.id}&scope=nope&state=`
  const rest = ' HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  for (const [sent, echoed] of [
    ['%FF%fe%80', '%FF%FE%80'],
    ['"<>|^', '%22%3C%3E%7C%5E'],
  ]) {
    const answer = await sendRaw(house.baseUrl, head + sent + rest)
    assert.equal(answer.status, 302)
    assert.match(answer.head, new RegExp(`[?&]state=${echoed}(&|\r\n)`))
  }
})

// A6
test('a client_id that is sent twice is shown a page', async () => {
  const query = `scope=read&state=st&client_id=${client.id}&client_id=`
  assertShownPage(await askRaw(query + client.id))
  assertShownPage(await askRaw(`${query}other`))
})

// A6
test('any other parameter that is sent twice is an invalid_request', async () => {
  const sound = `client_id=${client.id}&scope=read&state=st`
  for (const pair of [
    'scope=read',
    'state=st',
    'state=',
    'response_type=code&response_type=code',
    'x=1&x=2',
  ]) {
    assertToldToCallback(await askRaw(`${sound}&${pair}`), 'invalid_request', pair)
  }
  const told = assertToldToCallback(await askRaw(`${sound}&state=other`), 'invalid_request')
  assert.equal(told.get('state'), null)
})

// A6
test('unknown parameters are ignored, whatever they are called', async () => {
  const names = [
    'type',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '',
    'a[b]',
    'length',
  ]
  for (const name of names) assertSentToLogin(await ask({ [name]: 'web_server' }), name)
  assertSentToLogin(await askRaw(`client_id=${client.id}&scope=read&state=st&__proto__=x&&=&nonsense`))
  assertSentToLogin(await ask({ padding: 'p'.repeat(10_000) }))
})

// A6
test('a prototype-named parameter that is sent twice is a repeated parameter too', async () => {
  const sound = `client_id=${client.id}&scope=read&state=st`
  assertToldToCallback(await askRaw(`${sound}&__proto__=1&__proto__=2`), 'invalid_request')
})

// A7
test('scopes are separated by commas or spaces, in any order, any number of times', async () => {
  const sound = `client_id=${client.id}&state=st&scope=`
  const ways = [
    'read,write',
    'read%20write',
    'read+write',
    'read%2Cwrite',
    'write+read,read',
    ',read,,+write+',
    'read%2C%20write',
  ]
  for (const way of ways) assertSentToLogin(await askRaw(sound + way), way)
})

// A7
test('a scope that is unknown, empty, of another case or not allowed to the client is an invalid_scope', async () => {
  const wrong = [
    undefined,
    '',
    ' ',
    ',',
    'nope',
    'READ',
    'read nope',
    'read;write',
    'read\twrite',
    'stream',
    'read stream',
  ]
  for (const scope of [...wrong, 'read\0', 'r'.repeat(8_000), '__proto__']) {
    const told = assertToldToCallback(await ask({ scope }), 'invalid_scope', `scope=${scope?.slice(0, 40)}`)
    assert.equal(told.get('state'), 'st')
  }
})

// A8, M2
test('an error of a known client holds error, error_description, state and iss, and nothing else of the request', async () => {
  const answer = await ask({ scope: 'sesame', response_type: 'code', type: 'web_server', nonce: 'n-0S6' })
  const told = assertToldToCallback(answer, 'invalid_scope')
  assert.deepEqual([...told.keys()].sort(), ['error', 'error_description', 'iss', 'state'])
  assert.equal(told.get('iss'), house.baseUrl)
  assert.ok(!answer.location!.includes('sesame') && !answer.location!.includes('n-0S6'))
})

// A9
test('a code_challenge needs the method S256 and the form of a SHA-256 hash', async () => {
  const { parameters } = makeProof()
  const { code_challenge } = parameters
  assertSentToLogin(await ask(parameters))
  const wrong: Parameters[] = [
    { code_challenge },
    { code_challenge, code_challenge_method: 'plain' },
    { code_challenge, code_challenge_method: 's256' },
    { code_challenge_method: 'S256' },
    { code_challenge: '', code_challenge_method: 'S256' },
    { code_challenge: code_challenge.slice(1), code_challenge_method: 'S256' },
    { code_challenge: `${code_challenge}A`, code_challenge_method: 'S256' },
    { code_challenge: `${code_challenge}=`, code_challenge_method: 'S256' },
    { code_challenge: `${code_challenge.slice(1)}+`, code_challenge_method: 'S256' },
    { code_challenge: `${code_challenge.slice(1)}\n`, code_challenge_method: 'S256' },
  ]
  for (const each of wrong) assertToldToCallback(await ask(each), 'invalid_request', JSON.stringify(each))
})

// A10
test('authorize is asked with GET: POST is a 405 that names what is allowed', async () => {
  const url = `${house.baseUrl}/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`
  const answer = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  assert.equal(answer.status, 405)
  assert.match(String(answer.headers.allow), /\bGET\b/)
  assert.equal(answer.location, undefined)
})

// A10
test('authorize has no CORS headers, for any origin', async () => {
  const sent = { origin: 'https://app.example.com', 'access-control-request-method': 'GET' }
  const url = `${house.baseUrl}/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`
  for (const method of ['GET', 'OPTIONS'] as const) {
    const { headers } = await send(url, { method, headers: sent })
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
    )
  }
})

// A10, A11
test('authorization requests, sound or not, by GET, HEAD or POST, leave nothing in the database but its line in the log of calls', async () => {
  const byTheWay =
    /^(audit_blocks|audit_unsealed|audit_heads|audit_anchor_keys|calls(_\d)?|webhook_counts|workers)$/
  const tables = [...(await dumpTables(house)).keys()].filter((name) => !byTheWay.test(name))
  const before = await dumpTables(house, tables)
  const url = `${house.baseUrl}/v1/oauth/authorize?client_id=${client.id}&scope=read&state=`
  const requests = Array.from({ length: 30 }, (_, index) => [
    send(url + index),
    send(url + index, { method: 'HEAD' }),
    send(url + index, { method: 'POST' }),
    ask({ scope: 'nope' }),
  ])
  await Promise.all(requests.flat())
  assert.deepEqual(await dumpTables(house, tables), before)
})

test('the redirect and the error page can be neither framed, stored nor leaked as a referrer', async () => {
  for (const answer of [await ask(), await ask({ scope: 'nope' }), await ask({ client_id: 'nobody' })]) {
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['referrer-policy'], 'no-referrer')
    assert.equal(answer.headers['x-frame-options'], 'DENY')
    assert.match(String(answer.headers['content-security-policy']), /frame-ancestors 'none'/)
  }
})

test('the sealed request of one environment or of another key cannot be opened', async () => {
  const { location } = await ask()
  const sealed = new URL(location!).searchParams.get('request')!
  const changed = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`
  for (const [origin, request] of [
    [house.baseUrl, changed],
    [house.baseUrl, 'AAAA'],
    [house.sandboxUrl, sealed],
  ]) {
    const answer = await send(`${origin}/login?request=${request}`, { headers: { accept: 'text/html' } })
    assert.equal(answer.status, 400)
  }
})
