/**
 * ops/nginx.conf, run as it is but for its addresses and certificates, before a gateway of two nodes of which
 * one is away.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { day, after as later } from '../../src/clock.ts'
import { openPublisher } from '../../src/webhooks/events/publisher.ts'
import { makeCertificate } from '../support/certificate.ts'
import { eventOf } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { skipWithout } from '../support/installed.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLogLines } from '../support/log-lines.ts'
import { findFreePorts } from '../support/ports.ts'
import { makeFolder } from '../support/process.ts'
import { openCore } from '../support/provisioning.ts'

const skip = skipWithout('nginx', '-v')
const sites = ['api.example.com', 'sandbox.example.com']
const insideName = 'countersign.inside.example.com'
const [live, sandbox, internal, away, publicPort, insidePort] = await findFreePorts(6)
const certificate = makeCertificate([...sites, insideName], later(new Date(), -day), later(new Date(), day))

/** What is the reader's own in the file, as it says at its head: a piece that is not there any more fails. */
function adapt(configuration: string, folder: string): string {
  const changes: readonly (readonly [of: string, to: string])[] = [
    ['server 10.0.0.11:8080', `server 127.0.0.1:${live}`],
    ['server 10.0.0.12:8080', `server 127.0.0.1:${away}`],
    ['server 10.0.0.11:8081', `server 127.0.0.1:${sandbox}`],
    ['server 10.0.0.12:8081', `server 127.0.0.1:${away}`],
    ['server 10.0.0.11:8082', `server 127.0.0.1:${internal}`],
    ['server 10.0.0.12:8082', `server 127.0.0.1:${away}`],
    ['listen 443 ', `listen 127.0.0.1:${publicPort} `],
    ['listen 10.0.0.10:8443 ', `listen 127.0.0.1:${insidePort} `],
    ['/etc/ssl/countersign/fullchain.pem', join(folder, 'cert.pem')],
    ['/etc/ssl/countersign/privkey.pem', join(folder, 'key.pem')],
    ['/etc/ssl/countersign/inside-fullchain.pem', join(folder, 'cert.pem')],
    ['/etc/ssl/countersign/inside-privkey.pem', join(folder, 'key.pem')],
  ]
  return changes.reduce((whole, [of, to]) => {
    assert.equal(whole.split(of).length, 2, `"${of}" is in the file once`)
    return whole.replace(of, to)
  }, configuration)
}

/** What a distribution has around it. */
function wrap(folder: string): string {
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  return `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log stderr notice; events {}
http { access_log off; ${kept.join(' ')} include ${folder}/countersign.conf; }`
}

interface Nginx {
  readonly complaints: string
  close(): Promise<void>
}

async function openNginx(): Promise<Nginx> {
  const folder = makeFolder()
  writeFileSync(join(folder, 'cert.pem'), certificate.cert)
  writeFileSync(join(folder, 'key.pem'), certificate.key)
  writeFileSync(join(folder, 'countersign.conf'), adapt(readFileSync('ops/nginx.conf', 'utf8'), folder))
  writeFileSync(join(folder, 'nginx.conf'), wrap(folder))
  const words = ['-e', 'stderr', '-c', join(folder, 'nginx.conf')]
  const { stderr: complaints } = spawnSync('nginx', [...words, '-t'], { encoding: 'utf8' })
  const child: ChildProcess = spawn('nginx', words, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  process.once('exit', () => child.kill('SIGKILL'))
  await eventually('nginx answers', () => {
    if (child.exitCode !== null) throw new Error(`nginx does not start: ${complaints}`)
    return ask(publicPort!, sites[0]!, '/healthz').catch(() => undefined)
  })
  return {
    complaints,
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** By its own name, as the certificate and the Host have it. */
function ask(
  port: number,
  host: string,
  path: string,
  more: RequestOptions = {},
  body?: string | Buffer,
): Promise<Answer> {
  return new Promise((done, failed) => {
    const to = {
      host: '127.0.0.1',
      port,
      path,
      servername: host,
      ca: certificate.cert,
      agent: false as const,
    }
    const asked = request({ ...to, ...more, headers: { host, ...more.headers } }, (answer) =>
      text(answer).then((read) => done({ status: answer.statusCode!, body: read }), failed),
    )
    asked.on('error', failed).end(body)
  })
}

const lines = openLogLines('info')
const house = await openHouse(
  {
    ...{
      PORT: String(live),
      SANDBOX_PORT: String(sandbox),
      INTERNAL_PORT: String(internal),
      TRUST_PROXY: '127.0.0.1',
      WEBHOOK_ALLOW_LOOPBACK: 'true',
    },
    ...{ BASE_URL: `https://${sites[0]}`, SANDBOX_URL: `https://${sites[1]}` },
  },
  lines.log,
)
const nginx = skip ? undefined : await keepOpen(openNginx())
const atPublic = (path: string, ...more: [RequestOptions?, (string | Buffer)?]) =>
  ask(publicPort!, sites[0]!, path, ...more)
const atInside = (path: string, ...more: [RequestOptions?, (string | Buffer)?]) =>
  ask(insidePort!, insideName, path, ...more)

test('nginx takes the file', { skip }, () => {
  assert.match(nginx!.complaints, /test is successful/)
  assert.doesNotMatch(nginx!.complaints, /\[(emerg|alert|crit|error)\]/)
})

test('each name leads to its site, over HTTP/2 and HTTP/1.1, whichever node is away', { skip }, async () => {
  for (const host of sites) {
    for (let turn = 0; turn < 4; turn++) {
      const { status, body } = await ask(publicPort!, host, '/.well-known/oauth-authorization-server')
      assert.deepEqual([status, JSON.parse(body).issuer], [200, `https://${host}`])
    }
  }
  const session = connect(`https://127.0.0.1:${publicPort}`, { ca: certificate.cert, servername: sites[0]! })
  const stream = session.request({ ':path': '/readyz', ':authority': sites[0]! })
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 200)
  assert.equal(session.alpnProtocol, 'h2')
  session.destroy()
})

test('a name that is none of the sites leads nowhere', { skip }, async () => {
  for (const host of ['elsewhere.example.com', '127.0.0.1'])
    assert.equal((await ask(publicPort!, sites[0]!, '/readyz', { headers: { host } })).status, 421, host)
})

test('the internal listener is not in front, however it is written, and the sites are not inside', {
  skip,
}, async () => {
  for (const path of [
    '/internal',
    '/internal/',
    '/internal/v1/events',
    '/admin/v1/partners',
    '//internal/v1/events',
    '/%69nternal/v1/events',
    '/x/../internal/v1/events',
  ])
    assert.equal((await atPublic(path, { method: 'POST' })).status, 404, path)
  assert.equal((await atInside('/internal/v1/events', { method: 'POST' })).status, 401)
  for (const path of ['/', '/login', '/v1/user/profile', '/console'])
    assert.equal((await atInside(path)).status, 404, path)
})

test('bodies are as long as the gateway takes them, and a file comes through as it is sent', {
  skip,
}, async () => {
  const post = (length: number, type = 'application/json') => ({
    method: 'POST',
    headers: { 'content-type': type, 'content-length': length },
  })
  assert.equal((await atPublic('/v2/webhooks', post(70_000), Buffer.alloc(70_000))).status, 413)
  const core = await openCore(house)
  const count = 20_000
  const record = (n: number) =>
    JSON.stringify({
      kind: 'customer',
      externalId: `C-${n}`,
      name: `Customer with a name of some length ${n}`,
      version: 1,
    })
  const file = Array.from({ length: count }, (_, n) => `${record(n)}\n`).join('')
  assert.ok(file.length > 2 * 1024 * 1024)
  const sent = post(file.length, 'application/x-ndjson')
  const answer = await atInside(
    '/internal/v1/imports',
    { ...sent, headers: { ...sent.headers, ...core.headers } },
    file,
  )
  assert.equal(answer.status, 201, answer.body)
  assert.equal(JSON.parse(answer.body).created, count)
})

test('a stream of events is passed on as it comes', { skip }, async (t) => {
  const partner = await house.makePartner()
  const client = await house.makeClient({ partner })
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const headers = { accept: 'text/event-stream', host: sites[0]!, ...basic(client) }
  const to = {
    host: '127.0.0.1',
    port: publicPort,
    servername: sites[0],
    ca: certificate.cert,
    agent: false as const,
  }
  const asked = request({ ...to, path: '/v2/events', headers, signal: leaving.signal }).on('error', () => {})
  asked.end()
  const [answer] = await once(asked, 'response')
  assert.equal(answer.statusCode, 200)
  let heard = ''
  answer.setEncoding('utf8').on('data', (part: string) => {
    heard += part
  })
  answer.on('error', () => {})
  const { db } = house.gateway.context
  await openPublisher(db).publish([eventOf(partner.branchId, { entity: 'transaction:1' })], house.clock.now())
  await eventually('the event has come', () => heard.includes('TRANSACTION'))
})

test('the address of a caller is the one that nginx sees, whatever the caller says', { skip }, async () => {
  await atPublic('/v1/user/profile', {
    headers: { 'x-forwarded-for': '203.0.113.9', 'x-request-id': 'forged-address' },
  })
  const line = await lines.find(({ request_id }) => request_id === 'forged-address')
  assert.equal(line.address, '127.0.0.1')
})
