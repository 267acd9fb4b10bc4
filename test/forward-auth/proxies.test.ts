/** The files of ops/forward-auth, by the programs that they are for, before an API that says what it was sent. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { parseToken } from '../../src/crypto/token.ts'
import { postForm } from '../support/browser.ts'
import { openProxy } from '../support/forward-auth.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { skipWithout } from '../support/installed.ts'
import { keepOpen } from '../support/keep-open.ts'
import { hears, openHolder, openSecondNode, type RawAnswer, sendRaw } from '../support/oauth.ts'
import { findFreePorts } from '../support/ports.ts'
import {
  type Arrival,
  openApi,
  openProxyProgram,
  type ProxyName,
  proxyPrograms,
  type RunningProxy,
} from '../support/proxy-program.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { bearers } = house.gateway.context
const client = await house.makeClient()
const holder = await openHolder(house)
const service = await openProxy(house, { sees: ['client', 'accounts', 'sign-in'] })
const reading = (await holder.tokens(client, { scope: 'read' })).access_token
const trading = (await holder.tokens(client, { scope: 'read trade' })).access_token
const api = await keepOpen(openApi())

const names = Object.keys(proxyPrograms) as ProxyName[]
const skips = new Map(names.map((name) => [name, skipWithout(...proxyPrograms[name].version)]))
const running = new Map<ProxyName, RunningProxy>()
for (const name of names.filter((each) => !skips.get(each))) {
  const [port, away] = await findFreePorts(2)
  const node = Number(new URL(house.internalUrl).port)
  const given = { node, away: away!, port: port!, api: api.port, service: service.credential }
  running.set(name, await keepOpen(openProxyProgram(name, given)))
}

interface Sent {
  readonly token?: string
  readonly method?: string
  readonly target?: string
  /** Lines, as they are. */
  readonly more?: readonly string[]
  readonly body?: string
}

interface Passed {
  readonly answer: RawAnswer
  readonly arrived: readonly Arrival[]
}

/** What a client sends to the proxy, and what of it comes to the API. */
async function pass(
  name: ProxyName,
  { token, method = 'GET', target = '/quotes', more = [], body }: Sent,
): Promise<Passed> {
  const before = api.arrivals.length
  const head = [
    `${method} ${target} HTTP/1.1`,
    'Host: orders.example.com',
    ...(more.some((line) => /^connection:/i.test(line)) ? [] : ['Connection: close']),
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
    ...more,
  ]
  const answer = await sendRaw(running.get(name)!.url, `${head.join('\r\n')}\r\n\r\n${body ?? ''}`)
  return { answer, arrived: api.arrivals.slice(before) }
}

const words = [
  ...['Subject', 'Username', 'Customer', 'Client', 'Partner', 'Scope', 'Accounts', 'Grant', 'Auth-Time'],
  ...['Acr', 'Cnf', 'Expires', 'Assertion'],
]
const identityNames = words.map((word) => `x-countersign-${word.toLowerCase()}`)

/** Whatever the API could take for what a gateway says. */
function identityOf({ headers }: Arrival): Record<string, string> {
  const said = headers.filter(([name]) => /^x[^a-z0-9]*countersign/.test(name))
  for (const [header] of said) {
    assert.ok(identityNames.includes(header), header)
    assert.equal(said.filter(([each]) => each === header).length, 1, `${header} comes once`)
  }
  return Object.fromEntries(said)
}

const payloadOf = (assertion: string) =>
  JSON.parse(Buffer.from(assertion.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

const hashOf = (...parts: string[]) => hash('sha256', parts.join('\n'), 'base64url')

for (const name of names) {
  const skip = skips.get(name)!
  const titled = (title: string) => `${name}: ${title}`

  test(titled('it takes the file'), { skip }, () => {
    const { isTaken, complaints } = running.get(name)!
    assert.ok(isTaken, complaints)
    assert.doesNotMatch(complaints, /\[(emerg|alert|error|ALERT|WARNING)\]|deprecated/)
  })

  test(titled('a request that may pass comes to the API with who it is from'), { skip }, async () => {
    const body = '{"symbol":"ACME"}'
    const target = '/orders/7%2F8?dry=1&b=%20'
    const { answer, arrived } = await pass(name, { token: trading, method: 'POST', target, body })
    assert.equal(answer.status, 200, answer.body)
    assert.equal(arrived.length, 1)
    const [arrival] = arrived as [Arrival]
    assert.deepEqual([arrival.method, arrival.target, arrival.body], ['POST', target, body])
    const identity = identityOf(arrival)
    assert.equal(identity['x-countersign-subject'], holder.user.id)
    assert.equal(identity['x-countersign-client'], client.id)
    assert.equal(identity['x-countersign-scope'], 'read trade')
    assert.match(identity['x-countersign-auth-time']!, /^\d+$/)
    const payload = payloadOf(identity['x-countersign-assertion']!)
    const asked = hashOf('POST', 'orders.example.com', target)
    assert.deepEqual([payload.request_hash, payload.aud], [asked, service.id])
  })

  test(titled('who may not pass is told why, and nothing comes to the API'), { skip }, async () => {
    const cases: readonly [Sent, number, RegExp][] = [
      [{}, 401, /www-authenticate: Bearer/i],
      [{ token: 'x' }, 401, /www-authenticate: Bearer .*invalid_token/i],
      [{ token: reading, target: '/orders' }, 403, /./],
      [{ token: trading, target: '/elsewhere' }, 404, /./],
      [{ token: trading, target: '/' }, 404, /./],
    ]
    for (const [sent, status, head] of cases) {
      const { answer, arrived } = await pass(name, sent)
      assert.deepEqual([answer.status, arrived.length], [status, 0], JSON.stringify(sent))
      assert.match(answer.head, head)
    }
  })

  test(titled('nothing that a client sends by the names of the headers comes to the API'), {
    skip,
  }, async () => {
    const spellings = [...words, 'Service', 'Needs'].flatMap((word) => [
      `X-Countersign-${word}`,
      `x-countersign-${word.toLowerCase()}`,
      `X-COUNTERSIGN-${word.toUpperCase()}`,
      `X_Countersign_${word.replace('-', '_')}`,
      `X.Countersign.${word}`,
      `X-Countersign_${word}`,
      `X_Countersign-${word}`,
      `X-Countersign.${word}`,
    ])
    for (const spelled of spellings)
      for (const more of [[`${spelled}: evil`], [`${spelled}: evil`, `${spelled}: evil`]]) {
        const { answer, arrived } = await pass(name, { token: reading, more })
        const what = `${spelled} ${answer.status}`
        // A proxy may refuse what it takes for no header at all.
        assert.ok([200, 400].includes(answer.status), what)
        for (const arrival of arrived) {
          assert.equal(identityOf(arrival)['x-countersign-subject'], holder.user.id, what)
          for (const [, value] of arrival.headers) assert.ok(!value.includes('evil'), what)
        }
      }
    const { arrived } = await pass(name, { token: reading })
    for (const [, value] of arrived[0]!.headers)
      assert.ok(!value.includes(service.credential), 'the credential stays between the two')
  })

  test(titled('a client cannot have a header taken away'), { skip }, async () => {
    const listed = [...identityNames, 'x-countersign-service', 'authorization'].join(', ')
    const { answer, arrived } = await pass(name, { token: reading, more: [`Connection: close, ${listed}`] })
    if (answer.status !== 200) return assert.equal(arrived.length, 0)
    const identity = identityOf(arrived[0]!)
    assert.equal(identity['x-countersign-subject'], holder.user.id)
    assert.equal(identity['x-countersign-scope'], 'read')
  })

  test(titled('what a client says of the request, or asks for, changes nothing'), { skip }, async () => {
    const query = '?scope=read&max_age=999999&account=x&assertion=1&acr_values=x'
    const refused = await pass(name, { token: reading, target: `/orders${query}` })
    assert.deepEqual([refused.answer.status, refused.arrived.length], [403, 0])
    const allowed = await pass(name, { token: reading, target: `/quotes${query}` })
    assert.equal(allowed.answer.status, 200)
    assert.equal(allowed.arrived[0]!.target, `/quotes${query}`)
    assert.equal(identityOf(allowed.arrived[0]!)['x-countersign-assertion'] ?? '', '')
    const more = [
      ...['X-Forwarded-Method: GET', 'X-Forwarded-Host: evil.example.com', 'X-Forwarded-Uri: /quotes'],
      ...['X-Forwarded-Proto: ftp', 'X-Original-Method: GET', 'X-Original-URL: https://evil.example.com/'],
    ]
    const told = await pass(name, { token: trading, method: 'DELETE', target: '/orders/1', more })
    assert.equal(told.answer.status, 200)
    const { request_hash } = payloadOf(identityOf(told.arrived[0]!)['x-countersign-assertion']!)
    assert.equal(request_hash, hashOf('DELETE', 'orders.example.com', '/orders/1'))
  })

  test(titled('two tokens are none, and a request without a host is refused'), { skip }, async () => {
    const twice = await pass(name, { token: reading, more: [`Authorization: Bearer ${trading}`] })
    assert.ok([400, 401].includes(twice.answer.status), String(twice.answer.status))
    assert.equal(twice.arrived.length, 0)
    const before = api.arrivals.length
    const bytes = `GET /quotes HTTP/1.0\r\nAuthorization: Bearer ${reading}\r\n\r\n`
    const { head } = await sendRaw(running.get(name)!.url, bytes)
    assert.doesNotMatch(head, / 200 OK.*the API/s)
    assert.equal(api.arrivals.length, before)
  })

  test(titled('what was taken away at another node is refused with the next request'), { skip }, async () => {
    const another = await house.makeClient()
    const { access_token: token } = await holder.tokens(another, { scope: 'read' })
    assert.equal((await pass(name, { token })).answer.status, 200)
    const { tokenId } = (await bearers.find(parseToken(token)!))!
    const heard = hears(house.gateway, `access_token:${tokenId}`)
    await postForm(`${other.baseUrl}/v1/oauth/revoke`, { token }, basic(another))
    await heard
    const { answer, arrived } = await pass(name, { token })
    assert.deepEqual([answer.status, arrived.length], [401, 0])
  })
}
