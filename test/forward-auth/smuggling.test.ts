/** Spec 4.11: what a client sends by the names of the proxy's headers changes nothing, or shuts the door. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type DoorName, doorNames, openProxy, type Passage } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'
import { openLogLines } from '../support/log-lines.ts'
import { openHolder } from '../support/oauth.ts'

const log = openLogLines()
const house = await openHouse({}, log.log)
const client = await house.makeClient()
const holder = await openHolder(house)
const proxy = await openProxy(house)
const reading = (await holder.tokens(client, { scope: 'read' })).access_token
const trading = (await holder.tokens(await house.makeClient(), { scope: 'trade' })).access_token

/** That it is refused for this cause, which is in the answer and in the log. */
async function assertRefused(door: DoorName, passage: Passage, cause: string, status = 403): Promise<void> {
  const what = `${door} ${JSON.stringify(passage)}`
  const { status: answered, headers, body } = await proxy.ask(door, { token: reading, ...passage })
  assert.equal(answered, status, `${what} ${body}`)
  for (const name of headers.keys()) assert.ok(!name.startsWith('x-countersign-'), what)
  const { error, error_description, request_id } = JSON.parse(body)
  assert.equal(error, cause, what)
  assert.ok(error_description.length > 20, what)
  const line = await log.find((each) => each.request_id === request_id && each.msg === 'request')
  assert.equal(line.refusal, cause, what)
}

/** By door: each header that tells a fact, its word, and what nobody can have asked for. */
const facts: Record<DoorName, Record<string, readonly [fact: string, ...malformed: string[]]>> = {
  forwarded: {
    'x-forwarded-method': ['method', 'get', 'GET, POST', 'GE T', '-', '1', 'GET;'],
    'x-forwarded-proto': ['proto', 'HTTPS', 'https, http', 'ftp'],
    'x-forwarded-host': [
      'host',
      'a.example, b.example',
      'a@b.example',
      'a.example/x',
      'a.example:',
      '..',
      '[',
      'ä',
    ],
    'x-forwarded-uri': ['path', 'orders', 'https://api.example.com/orders', '/a, /b', '/a b', '/ä', '*', '?'],
  },
  original: {
    'x-original-method': ['method', 'get', 'GET, POST', 'GET GET'],
    'x-original-url': [
      ...([
        'url',
        '/orders',
        'api.example.com/orders',
        'https://api.example.com',
        'ftp://a.example/',
      ] as const),
      ...['https://a.example/ https://b.example/', 'https://a.example?/x', 'HTTPS://a.example/'],
    ],
  },
  envoy: { host: ['host', 'a.example, b.example', 'a@b.example', 'a.example/x'] },
}

for (const door of doorNames) {
  for (const [name, [fact, ...malformed]] of Object.entries(facts[door]))
    test(`${door}: ${name} that is missing, doubled or odd is a refusal`, async () => {
      const instead = (...lines: string[]): Passage => ({ instead: { [name]: lines } })
      const written = writtenBy(door, name)
      if (name !== 'host') await assertRefused(door, instead(), `${fact}_missing`)
      await assertRefused(door, instead(`${name}:`), `${fact}_missing`)
      for (const other of [name, name.toUpperCase()])
        await assertRefused(door, instead(`${name}: ${written}`, `${other}: ${written}`), `${fact}_doubled`)
      for (const value of malformed)
        await assertRefused(door, instead(`${name}: ${value}`), `${fact}_malformed`)
    })

  test(`${door}: the proxy proves itself, once`, async () => {
    const service = 'x-countersign-service'
    const instead = (...lines: string[]): Passage => ({ instead: { [service]: lines } })
    await assertRefused(door, instead(), 'service_missing')
    await assertRefused(
      door,
      instead(`${service}: ${proxy.credential}`, `X-Countersign-Service: ${proxy.credential}`),
      'service_doubled',
    )
    await assertRefused(door, instead(`${service}: ${proxy.credential}, x`), 'service_unknown')
    await assertRefused(door, instead(`${service}: x`), 'service_malformed')
    await assertRefused(door, instead(`${service}: ${proxy.id}:x`), 'service_unknown')
    await assertRefused(door, instead(`x_countersign_service: ${proxy.credential}`), 'service_missing')
    const asClient = Buffer.from(proxy.credential).toString('base64')
    await assertRefused(
      door,
      { ...instead(), token: undefined, more: [`authorization: Basic ${asClient}`] },
      'service_missing',
    )
  })

  test(`${door}: the client's own query says nothing of what is needed`, async () => {
    const query = '?scope=read&account=NOBODYS&max_age=0&assertion=1&unknown=1&scope=market'
    const yes = await proxy.ask(door, { token: reading, target: `/orders${query}` })
    assert.equal(yes.status, 200, yes.body)
    assert.equal(yes.headers.get('x-countersign-assertion'), '')
    await assertRefused(door, { needs: 'scope=trade', target: '/orders?scope=read' }, 'insufficient_scope')
  })

  test(`${door}: what the client sends by other names of the same changes nothing`, async () => {
    const more = [
      ...[
        'x_forwarded_host: evil.example',
        'x.original.url: https://evil.example/',
        'x-forwarded-prefix: /evil',
      ],
      ...['x-original-uri: /evil', 'x-forwarded-for: 127.0.0.1', 'forwarded: host=evil.example;proto=http'],
      ...[
        'x-countersign-scope: trade',
        'X-Countersign-Subject: id-000000000000',
        'x-http-method-override: GET',
      ],
      ...(door === 'envoy' ? ['x-forwarded-host: evil.example'] : ['x-countersign-needs: scope=read']),
    ]
    const yes = await proxy.ask(door, { token: reading, more })
    assert.equal(yes.status, 200, yes.body)
    assert.equal(yes.headers.get('x-countersign-subject'), holder.user.id)
    assert.equal(yes.headers.get('x-countersign-scope'), 'read')
    await assertRefused(door, { needs: 'scope=trade', more }, 'insufficient_scope')
  })

  test(`${door}: a route that does not say exactly what it needs shuts the door`, async () => {
    const wrong: [needs: string, cause: string][] = [
      ['x=1&scope=read', 'parameter_unknown'],
      ['SCOPE=read', 'parameter_unknown'],
      ['__proto__=1&scope=read', 'parameter_unknown'],
      ['account=1', 'scope_missing'],
      ['scope=', 'scope_malformed'],
      ['scope=%20', 'scope_malformed'],
      ['scope=admin', 'scope_malformed'],
      ['scope=read%20admin', 'scope_malformed'],
      ['scope=read&scope=read', 'scope_doubled'],
      ['scope=trade&account=A&scope=read', 'scope_doubled'],
      ['scope=read&sc%6Fpe=trade', 'scope_doubled'],
      ['scope=read&account=', 'account_malformed'],
      ['scope=read&account=A&account=B', 'account_doubled'],
      ['scope=read&max_age=', 'max_age_malformed'],
      ['scope=read&max_age=-1', 'max_age_malformed'],
      ['scope=read&max_age=1e9', 'max_age_malformed'],
      ['scope=read&acr_values=', 'acr_values_malformed'],
      ['scope=read&acr_values=passkey', 'acr_values_malformed'],
      ['scope=read&assertion=true', 'assertion_malformed'],
    ]
    for (const [needs, cause] of wrong) await assertRefused(door, { needs }, cause)
  })

  test(`${door}: two bearers are a refusal, whichever comes first`, async () => {
    for (const lines of [
      [reading, trading],
      [trading, reading],
      [reading, reading],
    ]) {
      const instead = { authorization: lines.map((token) => `authorization: Bearer ${token}`) }
      await assertRefused(door, { instead }, 'invalid_token', 401)
    }
    const instead = { authorization: [`authorization: Bearer ${reading}, Bearer ${trading}`] }
    await assertRefused(door, { instead }, 'invalid_token', 401)
  })
}

/** What the proxy of these tests writes there. */
function writtenBy(door: DoorName, name: string): string {
  if (name.endsWith('method')) return 'POST'
  if (name.endsWith('proto')) return 'https'
  if (name.endsWith('url')) return 'https://api.example.com/orders?dry=1'
  return door === 'forwarded' && name.endsWith('uri') ? '/orders?dry=1' : 'api.example.com'
}

test('envoy: what the route needs comes in one header, which no client can lengthen', async () => {
  const instead = (...lines: string[]): Passage => ({ instead: { 'x-countersign-needs': lines } })
  const needs = 'x-countersign-needs'
  await assertRefused('envoy', instead(), 'needs_missing')
  await assertRefused('envoy', instead(`${needs}: scope=read`, `${needs}: scope=trade`), 'needs_doubled')
  for (const [client, route] of [
    ['scope=read', 'scope=trade'],
    ['scope=trade', 'scope=read'],
    ['scope=read&account=x', 'scope=trade'],
  ])
    await assertRefused('envoy', instead(`${needs}: ${client}, ${route}`), 'needs_doubled')
})

test('envoy: there is no path but behind the door, and it stays as it is', async () => {
  for (const target of [
    '/',
    '//',
    '/../x',
    '/%2e%2e/x',
    '/a?b=/forward-auth/original',
    `/${'long/'.repeat(500)}`,
  ]) {
    const answer = await proxy.ask('envoy', { token: reading, target })
    assert.equal(answer.status, 200, `${target} ${answer.body}`)
  }
  for (const target of ['', '?scope=read', '*', 'x'])
    assert.equal((await proxy.ask('envoy', { token: reading, target })).status >= 400, true, target)
})

test('a question that announces a body is the last of its connection: nothing is taken for its rest', async () => {
  const socket = connect({ port: Number(new URL(house.internalUrl).port), host: '127.0.0.1' }).setEncoding(
    'latin1',
  )
  const question = (more: string) =>
    [
      'GET /forward-auth/original?scope=trade HTTP/1.1',
      ...['host: x', `x-countersign-service: ${proxy.credential}`, `authorization: Bearer ${reading}`],
      ...['x-original-method: POST', 'x-original-url: https://a.example/', more, '', ''],
    ].join('\r\n')
  const hidden = question('x-a: b').replace('scope=trade', 'scope=read')
  socket.write(`${question('content-length: 4')}abcd${hidden}`)
  let text = ''
  for await (const chunk of socket) text += chunk
  assert.deepEqual(text.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 403'])
})
