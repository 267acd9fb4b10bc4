/**
 * RFC 9110, 9 and 15.5.6: every method that Node can read, at every address of each listener and of the metrics
 * server.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, METHODS, request } from 'node:http'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { apiRoutes } from '../../src/api/routes.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { assetUrl } from '../../src/web/frame/assets.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { isInternal, openHouse } from '../support/gateway.ts'
import { sendRaw } from '../support/oauth.ts'

const lines: string[] = []
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
const house = await openHouse(
  { METRICS_PORT: '0' },
  pino({ level: 'info' }, { write: (line) => lines.push(line) }),
)
after(() => agent.destroy())

interface RawResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Head = Record<string, string>

function ask(url: string, method: string, headers: Head = {}, body = ''): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const accept = {
      accept: 'application/json',
      ...(body !== '' && { 'content-length': String(body.length) }),
    }
    const sent = request(url, { method, agent, headers: { ...accept, ...headers } }, async (answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks).toString() })
    })
    sent.on('error', reject).end(body)
  })
}

/** A tunnel has no address; it has a test of its own. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

const usual = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const others = methods.filter((method) => !usual.includes(method))

/** What some address takes, at each; of the others three, by turns. */
function methodsAt(place: number): string[] {
  return [...usual, ...[0, 1, 2].map((n) => others[(3 * place + n) % others.length]!)]
}

/** Whatever stands in a table, and what is served beside them. */
function addressesOf(site: Site): Map<string, Set<string>> {
  const taken = new Map<string, Set<string>>()
  const pages = pageRoutes.filter(({ sites }) => sites.some((each) => each === site))
  const others = ['/healthz', '/readyz', ...(site === 'internal' ? [] : [assetUrl('countersign.css')])]
  for (const { method, path } of [
    ...apiRoutes.filter(
      ({ path, takesEveryMethod }) => !takesEveryMethod && isInternal(path) === (site === 'internal'),
    ),
    ...pages,
    ...others.map((path) => ({ method: 'GET', path })),
  ])
    taken.set(
      path,
      new Set([...(taken.get(path) ?? []), String(method), ...(method === 'GET' ? ['HEAD'] : [])]),
    )
  // They lead to the page that the form is on.
  for (const { path, heldBy } of pages)
    if (heldBy !== path) taken.set(path, new Set([...taken.get(path)!, 'GET', 'HEAD']))
  return taken
}

/** What a sender of each kind might bring along: nothing that is sent makes another answer of it. */
const heads: [Head, string][] = [
  [{}, ''],
  [{ 'content-type': 'text/xml' }, '<a/>'],
  [{ 'content-type': 'no type at all' }, 'x'],
]

type Site = Environment | 'internal'

for (const site of ['live', 'sandbox', 'internal'] as const) {
  const { baseUrl: live, sandboxUrl: sandbox, internalUrl: internal } = house
  const urlOf = (path: string) => ({ live, sandbox, internal })[site] + path.replaceAll(/:\w+/g, '1')

  test(`a method that an address of ${site} does not take is a 405 with Allow, whichever it is`, async () => {
    for (const [place, [path, allowed]] of [...addressesOf(site)].entries())
      for (const method of methodsAt(place).filter((each) => !allowed.has(each))) {
        const [headers, body] = heads[(place + methods.indexOf(method)) % heads.length]!
        const answer = await ask(urlOf(path), method, headers, body)
        assert.equal(answer.status, 405, `${method} ${path}: ${answer.body}`)
        assert.deepEqual(new Set(String(answer.headers.allow).split(', ')), allowed, `${method} ${path}`)
        if (method !== 'HEAD')
          assert.equal(JSON.parse(answer.body).error, 'invalid_request', `${method} ${path}`)
      }
  })

  test(`where ${site} has no address every method is a 404, whatever comes with it`, async () => {
    const elsewhere = pageRoutes
      .filter(({ sites }) => !sites.some((each) => each === site))
      .map(({ path }) => path)
    const nowhere = ['/nowhere', '/v1', '/v2/webhooks/1/nothing', '/assets/x/countersign.css']
    for (const path of [...nowhere, ...elsewhere.slice(0, 3)])
      for (const method of methods)
        for (const [headers, body] of heads) {
          const answer = await ask(urlOf(path), method, headers, body)
          assert.equal(answer.status, 404, `${method} ${path}: ${answer.body}`)
          if (method !== 'HEAD') assert.equal(JSON.parse(answer.body).error, 'not_found', `${method} ${path}`)
        }
  })
}

test('a person who sends a method that a page does not take gets a page, and an OAuth endpoint answers as RFC 6749 does', async () => {
  for (const method of ['QUERY', 'TRACE', 'PROPFIND']) {
    const page = await ask(`${house.baseUrl}/login`, method, { accept: 'text/html' })
    assert.match(String(page.headers['content-type']), /^text\/html/)
    const answer = await ask(`${house.baseUrl}/v1/oauth/accesstoken`, method)
    assert.deepEqual(Object.keys(JSON.parse(answer.body)).sort(), ['error', 'error_description'])
  }
})

test('the metrics server takes GET and HEAD at its one address, and knows no other', async () => {
  const url = house.gateway.metricsUrl!
  for (const method of methods) {
    const answer = await ask(url, method)
    const isTaken = method === 'GET' || method === 'HEAD'
    assert.equal(answer.status, isTaken ? 200 : 405, method)
    if (!isTaken) assert.equal(answer.headers.allow, 'GET, HEAD', method)
    assert.equal((await ask(new URL('/other', url).href, method)).status, 404, method)
  }
  assert.equal((await ask(`${url}?name=x`, 'GET')).status, 200)
})

/** Sends this, and is gone with the first byte of the answer, without a farewell. */
async function tearDown(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname })
  socket.write(bytes + 'x'.repeat(100_000))
  await once(socket, 'readable')
  socket.resetAndDestroy()
  await once(socket, 'close')
}

test('a tunnel is not opened: CONNECT is a 404, and its connection ends', async () => {
  const servers = [
    house.baseUrl,
    house.sandboxUrl,
    house.internalUrl,
    new URL(house.gateway.metricsUrl!).origin,
  ]
  for (const url of servers) {
    const answer = await sendRaw(
      url,
      'CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: 169.254.169.254:80\r\n\r\n',
    )
    assert.equal(answer.status, 404, url)
    await tearDown(url, 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n')
  }
  assert.equal((await ask(`${house.baseUrl}/healthz`, 'GET')).status, 200)
})

test('a wish for another protocol is not granted: the request is answered as it is', async () => {
  for (const upgrade of ['websocket', 'h2c', 'TLS/1.0']) {
    const head = `host: x\r\nconnection: upgrade, close\r\nupgrade: ${upgrade}\r\nhttp2-settings: AAMAAABkAAQAAP__`
    assert.equal(
      (await sendRaw(house.baseUrl, `GET /healthz HTTP/1.1\r\n${head}\r\n\r\n`)).status,
      200,
      upgrade,
    )
    assert.equal(
      (await sendRaw(house.baseUrl, `POST /healthz HTTP/1.1\r\n${head}\r\n\r\n`)).status,
      405,
      upgrade,
    )
  }
})

test('none of it is an error of ours: nothing of the kind is in the log', () => {
  assert.ok(lines.length > 1_000)
  const failures = lines.filter((line) => (JSON.parse(line) as { level: number }).level >= 40)
  assert.deepEqual(failures, [])
})

test('a method that was refused is named as it was sent, in the answer and in the log', async () => {
  for (const [path, method] of [
    ['/v1/user/profile', 'PROPFIND'],
    ['/nowhere', 'MKCOL'],
    ['/v1/%', 'REPORT'],
    ['/v1/user/profile', 'TRACE'],
  ] as const) {
    const requestId = `named-${method}`
    const { status, body } = await ask(house.baseUrl + path, method, { 'x-request-id': requestId })
    if (status === 405)
      assert.match(JSON.parse(body).error_description, new RegExp(`^${method} is not a method`))
    const line = lines.map((each) => JSON.parse(each)).find((each) => each.request_id === requestId)
    assert.deepEqual([line?.method, line?.route], [method, status === 405 ? path : 'none'])
  }
})
