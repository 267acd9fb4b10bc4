/** A listener that asks for certificates (RFC 8705): what it hears on its connections, and how it closes. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type RequestOptions, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { day } from '../../src/clock.ts'
import { refuseOtherMethods } from '../../src/http/addresses.ts'
import { certificateOf, thumbprintOf } from '../../src/http/client-certificate.ts'
import { closeServer } from '../../src/http/server.ts'
import { openBareServer } from '../support/bare-server.ts'
import { issueCertificate } from '../support/certificate.ts'
import { keepOpen } from '../support/keep-open.ts'

const from = new Date(Date.now() - 2 * day)
const to = new Date(Date.now() + day)
const make = (name: string, end = to) => issueCertificate({ subject: [['CN', name]], from, to: end })
const ours = issueCertificate({ subject: [['CN', 'localhost']], altNames: ['localhost'], from, to })
const paths = ['/who', '/slow', '/known/:id']

async function openListener() {
  const app = await openBareServer({ tls: ours, mutual: { serves: (url) => paths.includes(url) } })
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  app.get('/who', (request) => ({ thumbprint: certificateOf(request)?.thumbprint ?? null }))
  app.get('/known/:id', () => ({}))
  app.get('/page', () => ({}))
  app.get('/slow', async () => {
    enter()
    await left
    return {}
  })
  refuseOtherMethods(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  app.mutualServer!.listen({ host: '127.0.0.1', port: 0 })
  await once(app.mutualServer!, 'listening')
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
  const ports = { usual: portOf(app.server), mutual: portOf(app.mutualServer!) }
  return { app, ports, entered, leave, close: () => app.close() }
}

const { ports } = await keepOpen(openListener())
const away = { host: '127.0.0.1', rejectUnauthorized: false } as const

async function ask(options: RequestOptions): Promise<{ status: number; body: Record<string, unknown> }> {
  const asked = request({ ...away, port: ports.mutual, path: '/who', agent: false, ...options }).end()
  const [answer] = await once(asked, 'response')
  return { status: answer.statusCode, body: JSON.parse(await text(answer)) }
}

const shown = ({ cert }: { cert: string }) => ({ thumbprint: thumbprintOf(new X509Certificate(cert).raw) })

test('it takes whatever certificate a client shows, and a client that shows none', async () => {
  const authority = issueCertificate({ subject: [['CN', 'Authority']], from, to, isAuthority: true })
  const issued = issueCertificate({ subject: [['CN', 'client']], from, to, issuer: authority, kind: 'rsa' })
  for (const own of [make('client'), make('ended', new Date(Date.now() - day)), issued])
    assert.deepEqual(await ask({ cert: own.cert, key: own.key }), { status: 200, body: shown(own) })
  assert.deepEqual(await ask({}), { status: 200, body: { thumbprint: null } })
})

test('the usual listener asks for none, and hears of none', async () => {
  const { cert, key } = make('client')
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
    assert.deepEqual((await ask({ cert, key, maxVersion, port: ports.usual })).body, { thumbprint: null })
})

test('each connection has its own certificate, however many requests come on it', async () => {
  const [one, other] = [make('one'), make('other')]
  const agents = [one, other].map(({ cert, key }) => new Agent({ cert, key, keepAlive: true, maxSockets: 1 }))
  for (let turn = 0; turn < 3; turn++) {
    const answers = await Promise.all(agents.map((agent) => ask({ agent })))
    assert.deepEqual(
      answers.map(({ body }) => body),
      [shown(one), shown(other)],
    )
  }
  for (const agent of agents) agent.destroy()
})

/** Asks on a connection of its own; answers its session, too. */
async function meet(options: ConnectionOptions) {
  const socket = connect({ ...away, port: ports.mutual, ...options })
  let session: Buffer | undefined
  socket.on('session', (given) => {
    session = given
  })
  await once(socket, 'secureConnect')
  const isReused = socket.isSessionReused()
  socket.write('GET /who HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n')
  const body: unknown = JSON.parse((await text(socket)).split('\r\n\r\n')[1]!)
  return { body, isReused, session: session! }
}

test('a session that is taken up again has the certificate that it began with, and no other', async () => {
  const [own, other] = [make('own'), make('other')]
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { session, body } = await meet({ cert: own.cert, key: own.key, maxVersion })
    assert.deepEqual(body, shown(own))
    for (const { cert, key } of [own, other]) {
      const again = await meet({ cert, key, maxVersion, session })
      assert.deepEqual([again.isReused, again.body], [true, shown(own)], maxVersion)
    }
    assert.deepEqual((await meet({ maxVersion })).body, { thumbprint: null })
  }
})

test('what it does not serve is a 404, whatever the method, and the usual listener serves it', async () => {
  for (const path of ['/page', '/known', '/nowhere', '/healthz'])
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, body } = await ask({ path, method, headers: { accept: 'text/html' } })
      assert.deepEqual([status, body.error], [404, 'not_found'], `${method} ${path}`)
    }
  assert.equal((await ask({ path: '/known/7' })).status, 200)
  assert.equal((await ask({ path: '/page', port: ports.usual })).status, 200)
})

test('it has the limits of the usual one', async () => {
  const large = await ask({ headers: { 'x-large': 'x'.repeat(20_000) } })
  assert.equal(large.status, 431)
  const socket = connect({ ...away, port: ports.mutual })
  socket.write('NONSENSE\r\n\r\n')
  assert.match(await text(socket), /^HTTP\/1\.1 400 /)
})

test('it closes with the usual one: what is under way is finished, idle connections are closed, nobody new is let in', async () => {
  const { app, ports: own, entered, leave } = await openListener()
  const idle = new Agent({ keepAlive: true, maxSockets: 1 })
  assert.equal((await ask({ port: own.mutual, agent: idle })).status, 200)
  const [socket] = Object.values(idle.freeSockets)[0]!
  const gone = once(socket!, 'close')
  const slow = ask({ port: own.mutual, path: '/slow' })
  await entered
  const closed = closeServer(app, 60_000)
  await gone
  await assert.rejects(ask({ port: own.mutual }), { code: 'ECONNREFUSED' })
  leave()
  assert.equal((await slow).status, 200)
  await closed
})

test('who dawdles on it when it closes is not waited for for ever', async () => {
  const { app, ports: own, entered } = await openListener()
  const slow = ask({ port: own.mutual, path: '/slow' })
  const refused = assert.rejects(slow, { code: 'ECONNRESET' })
  await entered
  await closeServer(app, 10)
  await refused
})
