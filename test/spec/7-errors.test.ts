/** Spec 7: one shape for machines, a page for people, and nothing of the inside in either. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { apiRoutes } from '../../src/api/routes.ts'
import { createService } from '../../src/services/service.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { openAdminProgram } from '../support/administration.ts'
import { type Answer, formOf, postForm, type SentRequest, send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { assertOAuthError, assertProblem, sendRaw } from '../support/oauth.ts'
import { anyText } from '../support/text.ts'

const house = await openHouse()
const client = await house.makeClient()
const token = await house.makeToken(await house.makeUser())
const { db } = house.gateway.context
const made = await createService(db, 'Ledger', 'live', house.act())
const program = await openAdminProgram(house)
const service = basic({ id: made.service.id, secret: made.secret.text })

const form = 'application/x-www-form-urlencoded'
const routes = [
  ...apiRoutes.filter(({ takesEveryMethod }) => !takesEveryMethod),
  ...pageRoutes.filter(({ sites }) => sites.includes('live')),
]
const paths = [...new Set(routes.map(({ path }) => path))]

test('an address that does not exist is a 404 in the one shape', async () => {
  for (const path of [
    '/nowhere',
    '/v1',
    '/v1/oauth',
    '/v1/oauth/',
    '/v1/user/profile/',
    '/V1/user/profile',
  ]) {
    const answer = await send(house.baseUrl + path, { headers: { authorization: `Bearer ${token}` } })
    assertProblem(answer, 404, 'not_found')
  }
})

test('a person who opens an address that does not exist gets a page', async () => {
  const answer = await send(`${house.baseUrl}/nowhere`, {
    headers: { accept: 'text/html,application/xhtml+xml' },
  })
  assert.equal(answer.status, 404)
  assert.match(String(answer.headers['content-type']), /^text\/html/)
  assert.match(String(answer.headers['content-security-policy']), /default-src 'none'/)
})

const isPage = (path: string) => routes.some((row) => row.path === path && row.method === 'GET')

test('a method that an address does not take is a 405 whose Allow names those that it takes', async () => {
  for (const path of paths) {
    const rows = routes.filter((route) => route.path === path)
    const declared = rows.map(({ method }) => String(method))
    // The address of a form leads to its page, which has an address of its own.
    const leads = !declared.includes('GET') && rows.some((row) => 'heldBy' in row && isPage(row.heldBy))
    const taken = leads ? ['GET', ...declared] : declared
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      if (taken.includes(method)) continue
      const answer = await send(house.at(path), { method, headers: { accept: 'application/json' } })
      assert.equal(answer.status, 405, `${method} ${path}`)
      const allowed = String(answer.headers.allow).split(', ')
      assert.deepEqual(allowed.filter((each) => each !== 'HEAD').sort(), taken.sort())
      assert.equal(allowed.includes('HEAD'), taken.includes('GET'))
    }
  }
})

test('HEAD and OPTIONS are methods too: where they are not taken, the answer is a 405 with Allow', async () => {
  for (const path of ['/v1/oauth/accesstoken', '/v1/oauth/revoke']) {
    for (const method of ['HEAD', 'OPTIONS'] as const) {
      const answer = await send(house.baseUrl + path, { method })
      assert.equal(answer.status, 405, `${method} ${path}`)
      assert.match(String(answer.headers.allow), /\bPOST\b/)
    }
  }
})

test('no Accept header fails a call: a 406 does not exist', async () => {
  const odd = [
    'text/html',
    'image/png',
    '*/*;q=0',
    'application/json;q=0',
    'nonsense',
    '',
    ';;,',
    'a'.repeat(4_000),
  ]
  for (const accept of odd) {
    const headers = { accept, authorization: `Bearer ${token}` }
    assert.equal((await send(`${house.baseUrl}/v1/user/profile`, { headers })).status, 200)
    assert.equal(
      (await send(`${house.baseUrl}/.well-known/oauth-authorization-server`, { headers })).status,
      200,
    )
    assert.equal(
      (await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: 'x' }, { ...basic(client), accept }))
        .status,
      200,
    )
  }
})

test('errors of the OAuth endpoints are JSON of exactly two members, also for a browser', async () => {
  const accept = 'text/html'
  const url = `${house.baseUrl}/v1/oauth/accesstoken`
  assertOAuthError(await postForm(url, {}, { accept }), 'invalid_client')
  assertOAuthError(await postForm(url, {}, { accept, ...basic(client) }), 'invalid_request')
  assertOAuthError(await send(url, { headers: { accept } }), 'invalid_request', 405)
  assertOAuthError(
    await postForm(url, { x: 'x'.repeat(9_000) }, { accept, ...basic(client) }),
    'invalid_request',
    413,
  )
  const headers = { 'content-type': 'text/plain', ...basic(client) }
  assertOAuthError(await send(url, { method: 'POST', headers, body: 'x' }), 'invalid_request', 415)
})

test('every answer has a request id, and the id of the caller is kept when it is plain', async () => {
  const url = `${house.baseUrl}/nowhere`
  const [one, other] = [await send(url), await send(url)]
  assert.match(String(one.headers['x-request-id']), /^[\w-]{8,}$/)
  assert.notEqual(one.headers['x-request-id'], other.headers['x-request-id'])
  const kept = await send(url, { headers: { 'x-request-id': 'caller-7.a_B' } })
  assert.equal(kept.json().request_id, 'caller-7.a_B')
  for (const id of ['has space', '<b>', 'x'.repeat(65), '']) {
    const answer = await send(url, { headers: { 'x-request-id': id } })
    assert.notEqual(answer.headers['x-request-id'], id)
    assertProblem(answer, 404, 'not_found')
  }
})

test('nothing is sniffed: every answer says so', async () => {
  for (const path of ['/nowhere', '/login', '/openapi.json', '/v1/user/profile']) {
    assert.equal((await send(house.baseUrl + path)).headers['x-content-type-options'], 'nosniff')
  }
})

test('an address that cannot be decoded is a 400 in the one shape', async () => {
  for (const path of ['/%', '/%zz', '/v1/%c3%28', '/%ff']) {
    const answer = await sendRaw(
      house.baseUrl,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    )
    assert.ok(answer.status === 400 || answer.status === 404, `${path}: ${answer.status}`)
    const body = JSON.parse(answer.body) as Record<string, unknown>
    assert.deepEqual(
      Object.keys(body).sort(),
      ['error', 'error_description', 'request_id'],
      `${path}: ${answer.body}`,
    )
  }
})

test('what is not HTTP is a 400 that tells nothing of the inside', async () => {
  const wrong = [
    'hello\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'FOO / HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET / HTTP/1.1\r\nconnection: close\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n',
    'POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n',
  ]
  for (const bytes of wrong) {
    const answer = await sendRaw(house.baseUrl, bytes)
    assert.equal(answer.status, 400, JSON.stringify(bytes))
    assert.ok(!/HPE_|node:|\bat \b/.test(answer.body), answer.body)
  }
})

test('a body that is too large is a 413 and a body of another type a 415, on pages too', async () => {
  const url = `${house.baseUrl}/login`
  const large = await postForm(url, { username: 'x'.repeat(70_000) }, { accept: 'application/json' })
  assertProblem(large, 413, 'invalid_request')
  const headers = { accept: 'application/json', 'content-type': 'text/plain' }
  assertProblem(await send(url, { method: 'POST', headers, body: 'x' }), 415, 'invalid_request')
})

const lines = 'application/x-ndjson'
/** Files of records, packed or not. */
const takesLines = (path: string) => path.startsWith('/internal/v1/imports')

/**
 * Every endpoint and page that may be sent a body, and the one type that it takes; a few forms bring files
 * along.
 */
const takers = routes
  .filter(({ method }) => method !== 'GET')
  .map(({ method, path, errors, ...more }) => ({
    method: String(method),
    path: path.replaceAll(/:\w+/g, '1'),
    takesFiles: 'definition' in more && (more.definition?.takesFiles ?? 0) > 0,
    takesLines: takesLines(path),
    type: takesLines(path) ? lines : errors === 'oauth' || errors === 'page' ? form : 'application/json',
  }))

function sendBody(
  { method, path, type }: (typeof takers)[number],
  headers: Record<string, string>,
  body: string,
) {
  const all = { 'content-type': type, ...authority(path), ...headers }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...['host: x', 'connection: close', 'accept: application/json', `content-length: ${body.length}`],
    ...lines.map((line) => line.join(': ')),
  ]
  return sendRaw(new URL(house.at(path)).origin, `${head.join('\r\n')}\r\n\r\n${body}`)
}

test('a body of another type, or of none, is a 415 at every endpoint', async () => {
  const others = ['text/plain', 'text/xml', 'multipart/form-data; boundary=x', 'nonsense', '']
  for (const taker of takers) {
    const other = taker.type === form ? 'application/json' : form
    const wrong = others.filter((each) => !(taker.takesFiles && each.startsWith('multipart')))
    for (const [type, body] of [...wrong.map((each) => [each, 'x=y'] as const), [other, 'null'] as const]) {
      const answer = await sendBody(taker, { 'content-type': type }, body)
      assert.equal(answer.status, 415, `${taker.method} ${taker.path} ${type}: ${answer.body}`)
    }
  }
})

test('a body in an encoding that is not read is a 415 that says so, at every endpoint', async () => {
  const packed = gzipSync('{}').toString('latin1')
  for (const taker of takers) {
    const what = `${taker.method} ${taker.path}`
    const encodings = [
      'br',
      'deflate',
      'zstd',
      'identity, gzip',
      'nonsense',
      ...(taker.takesLines ? [] : ['gzip']),
    ]
    for (const encoding of encodings) {
      const answer = await sendBody(taker, { 'content-encoding': encoding }, packed)
      assert.equal(answer.status, 415, `${what} ${encoding}: ${answer.body}`)
      assert.match(
        answer.head,
        taker.takesLines ? /\r\naccept-encoding: gzip, identity\r\n/i : /\r\naccept-encoding: identity\r\n/i,
      )
    }
    for (const charset of ['utf-16', 'UTF-16LE', 'shift_jis', '"utf-32"']) {
      const answer = await sendBody(taker, { 'content-type': `${taker.type}; charset=${charset}` }, '{}')
      assert.equal(answer.status, 415, `${what} ${charset}: ${answer.body}`)
    }
    const fine: Record<string, string>[] = [
      { 'content-encoding': 'identity' },
      { 'content-type': `${taker.type}; charset="UTF-8"` },
    ]
    for (const headers of fine) {
      const answer = await sendBody(taker, headers, taker.type === form ? 'x=y' : '{}')
      assert.notEqual(answer.status, 415, `${what} ${JSON.stringify(headers)}: ${answer.body}`)
    }
  }
})

/** Where the head alone tells who calls, a stranger's body is not looked at. */
const authority = (path: string) =>
  path.startsWith('/internal') ? service : path.startsWith('/admin') ? program.headers : basic(client)

test('JSON that is not UTF-8 is a 400: no letter is guessed', async () => {
  const headers = `authorization: ${basic(client).authorization}\r\ncontent-type: application/json`
  const body = '{"url":"https://caf\xe9.example/"}'
  const head = `POST /v2/webhooks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}`
  for (const sent of [
    `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    `${head}\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ]) {
    const answer = await sendRaw(house.baseUrl, sent)
    assert.equal(answer.status, 400, answer.body)
    assert.match(answer.body, /UTF-8/)
  }
})

test('a head that is too large is a 431: a page for people, the one shape for programs, however far it is too large', async () => {
  const sizes = [17_000, 24_000, 40_000, 200_000]
  for (const size of sizes) {
    const cookie = `cookie: ${'c'.repeat(size)}`
    const query = `/login?state=${'s'.repeat(size)}`
    for (const [path, header] of [
      ['/login', cookie],
      [query, 'x-other: y'],
    ] as const) {
      const ask = (accept: string) =>
        sendRaw(
          house.baseUrl,
          `GET ${path} HTTP/1.1\r\nhost: x\r\n${accept}\r\n${header}\r\nconnection: close\r\n\r\n`,
        )
      const machine = await ask('accept: application/json')
      assert.equal(machine.status, 431, `${size} ${path.slice(0, 20)}`)
      assert.equal((JSON.parse(machine.body) as { error: string }).error, 'invalid_request')
      // Of a head far too large only its last part is known: there a person may get JSON, and never anything
      // else.
      const person = await ask('Accept: text/html,application/xhtml+xml')
      assert.equal(person.status, 431)
      if (size < 32_000) assert.match(person.head, /content-type: text\/html/i)
      assert.match(person.body, /too large/)
    }
  }
})

test('an error never repeats a secret that was sent', async () => {
  const { secret } = client
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
  const answers = [
    await send(`${house.baseUrl}/v1/user/profile`, { headers }),
    await send(`${house.baseUrl}/${secret}?access_token=${secret}`, { headers }),
    await send(`${house.baseUrl}/v1/oauth/authorize?client_id=${secret}`, { headers }),
    await postForm(
      `${house.baseUrl}/v1/oauth/accesstoken?client_secret=${secret}`,
      { code: secret },
      basic(client),
    ),
    await postForm(
      `${house.baseUrl}/v1/oauth/accesstoken`,
      { grant_type: secret, code: secret },
      basic(client),
    ),
    await postForm(`${house.baseUrl}/v1/oauth/accesstoken`, { client_id: secret, client_secret: secret }),
    await postForm(`${house.baseUrl}/login`, { username: secret, password: secret, csrf: secret }, headers),
  ]
  for (const answer of answers) {
    assert.ok(answer.status >= 400)
    assert.ok(!(answer.text + JSON.stringify(answer.headers)).includes(secret), answer.text)
  }
})

/** RFC 6749, 4.1.2.1 and 5.2; RFC 6750, 3. */
const describing = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

test('an error_description has no quotation mark, no backslash and nothing beyond ASCII, in a body, a redirect or a challenge', async () => {
  const odd = 'Größe "a\\b" …“€”'
  const bearerOf = (text: string) => ({ authorization: `Bearer ${text}` })
  const json = { 'content-type': 'application/json', ...basic(client) }
  const answers = [
    await send(`${house.baseUrl}/v1/user/profile`),
    await send(`${house.baseUrl}/v1/user/profile`, { headers: bearerOf('"\\') }),
    await send(`${house.baseUrl}/v2/webhooks`),
    await send(`${house.baseUrl}/v2/webhooks`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ [odd]: odd }),
    }),
    await postForm(`${house.baseUrl}/v1/oauth/accesstoken`, { grant_type: odd, [odd]: odd }, basic(client)),
    await postForm(`${house.baseUrl}/v1/oauth/refreshtoken`, { grant_type: odd }),
    await send(`${house.baseUrl}/v1/oauth/authorize?${formOf({ client_id: odd })}`, {
      headers: { accept: 'application/json' },
    }),
  ]
  for (const answer of answers) {
    assert.match(String(answer.json().error_description), describing)
    const challenge = String(answer.headers['www-authenticate'] ?? '')
    const told = /error_description="(.*?)"(,|$)/.exec(challenge)?.[1]
    if (told !== undefined) assert.match(told, describing)
  }
  const query = formOf({ client_id: client.id, scope: `read ${odd}`, state: 'st' })
  const { location } = await send(`${house.baseUrl}/v1/oauth/authorize?${query}`)
  assert.match(new URL(location!).searchParams.get('error_description')!, describing)
})

/** Text in which the characters that break parsers are frequent. */
const trouble = fc.constantFrom(
  '\0',
  '%',
  '%00',
  '\r\n',
  "'",
  '"',
  '\\',
  '😀',
  '\ud7ff',
  '__proto__',
  ' ',
  '{}',
  '-1',
)
const nasty = fc.oneof(
  anyText({ maxLength: 40 }),
  fc.constant('\0'),
  fc.array(trouble, { maxLength: 6 }).map((parts) => parts.join('')),
)
const names = fc.constantFrom(
  ...[
    'client_id',
    'client_secret',
    'grant_type',
    'code',
    'redirect_uri',
    'code_verifier',
    'refresh_token',
    'scope',
  ],
  ...[
    'token',
    'token_type_hint',
    'state',
    'response_type',
    'code_challenge',
    'code_challenge_method',
    '__proto__',
  ],
)
const fields = fc.array(fc.tuple(fc.oneof({ arbitrary: names, weight: 9 }, nasty), nasty), { maxLength: 5 })

test('no form, query or credential of any content is answered with a 500', async () => {
  const posts = ['accesstoken', 'refreshtoken', 'revoke', 'introspect']
  const request = fc.record({
    path: fc.constantFrom(...posts),
    sent: fields,
    known: fc.boolean(),
    who: nasty,
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ path, sent, known, who }) => {
      const type = { 'content-type': form }
      const own = known ? basic(client) : { authorization: `Basic ${Buffer.from(who).toString('base64')}` }
      const grant = path === 'refreshtoken' ? 'refresh_token' : 'authorization_code'
      const usual = known ? { grant_type: grant, code: client.secret.replace('cslk', 'cslc') } : {}
      const body = `${formOf(usual)}&${new URLSearchParams(sent)}`
      const options: SentRequest = { method: 'POST', headers: { ...type, ...own }, body }
      assertNotOurFault(await send(`${house.baseUrl}/v1/oauth/${path}`, options))
      const query = new URLSearchParams([
        ...(known ? [['client_id', client.id] as [string, string]] : []),
        ...sent,
      ])
      assertNotOurFault(await send(`${house.baseUrl}/v1/oauth/authorize?${query}`))
    }),
    { numRuns: 150 },
  )
})

function assertNotOurFault(answer: Answer): void {
  assert.ok(answer.status < 500, `${answer.status} ${answer.text}`)
}
