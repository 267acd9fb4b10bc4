/**
 * Why a webhook fails: what is kept of real failures, the cause that is read from it, and which of them a
 * webhook's pages are told of.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { minute } from '../../src/clock.ts'
import { readFailures } from '../../src/webhooks/health/failure.ts'
import { findCause } from '../../src/webhooks/health/likely-cause.ts'
import { type Outcome, openSender } from '../../src/webhooks/outbound/attempt.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { makeCertificate } from '../support/certificate.ts'
import { type DnsServer, openDnsServer } from '../support/dns-server.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { findFreePort } from '../support/ports.ts'
import { accept, answer, openReceiver, type Receiver, reset, speak } from '../support/receiver.ts'

describe('what is seen of a failure', () => {
  let dns: DnsServer
  let receiver: Receiver
  const closers: (() => unknown)[] = []
  before(async () => {
    dns = await openDnsServer()
    receiver = await openReceiver()
    dns.set('hooks.example.com', ['127.0.0.1'])
  })
  after(async () => {
    for (const close of closers) await close()
    await receiver.close()
    await dns.close()
  })

  async function listen(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(() => server.close())
    return (server.address() as AddressInfo).port
  }

  function certified(names: readonly string[], from: string, to: string) {
    const certificate = makeCertificate(names, new Date(from), new Date(to))
    return {
      certificate,
      port: listen(createTlsServer(certificate, (socket) => void socket.on('error', () => {}))),
    }
  }

  async function attempt(url: string, certificateAuthority?: string): Promise<Outcome> {
    const policy = { allowLoopback: true, ports: [443] }
    const sender = openSender({ policy, dnsServers: [dns.address], certificateAuthority })
    try {
      return (await sender.post({ url, headers: {}, body: '{}' })).outcome
    } finally {
      await sender.close()
    }
  }

  async function causeOf(url: string, certificateAuthority?: string) {
    const outcome = await attempt(url, certificateAuthority)
    assert.ok(outcome.kind !== 'accepted', `${url} accepted`)
    const signs = { status: null, why: null, response: null, detail: null, ...outcome }
    return findCause({ ...signs, outcome: outcome.kind })
  }

  test('a certificate for another name, one that has expired and one that signed itself are told apart', async () => {
    const other = certified(['other.example.com'], '2020-01-01', '2040-01-01')
    const named = await causeOf(`https://hooks.example.com:${await other.port}/`, other.certificate.cert)
    assert.equal(named.name, 'TLS name mismatch')
    assert.match(named.title, /It names other\.example\.com\./)
    const old = certified(['hooks.example.com'], '2020-01-01', '2021-01-01')
    const expired = await causeOf(`https://hooks.example.com:${await old.port}/`, old.certificate.cert)
    assert.equal(expired.name, 'certificate expired')
    const own = certified(['hooks.example.com'], '2020-01-01', '2040-01-01')
    assert.equal(
      (await causeOf(`https://hooks.example.com:${await own.port}/`)).name,
      'self-signed certificate',
    )
  })

  test('a port that speaks plain HTTP is a failed handshake', async () => {
    assert.equal((await causeOf(`https://hooks.example.com:${receiver.port}/`)).name, 'TLS handshake failed')
  })

  test('nobody who listens, a connection that is cut, and what is not HTTP are told apart', async () => {
    assert.equal(
      (await causeOf(`http://hooks.example.com:${await findFreePort()}/`)).name,
      'connection refused',
    )
    receiver.on('/reset', reset)
    assert.equal((await causeOf(receiver.url('/reset'))).name, 'connection reset')
    receiver.on('/words', speak('220 mail.example.com ESMTP\r\n'))
    assert.equal((await causeOf(receiver.url('/words'))).name, 'not HTTP')
  })

  test('a name that nobody knows is not in the DNS', async () => {
    assert.equal((await causeOf('https://nowhere.example.com/')).name, 'DNS name unknown')
  })

  test('a redirect names where it leads, and a page of a proxy who wrote it', async () => {
    receiver.on('/moved', answer(301, { location: 'https://www.example.com/hooks' }))
    assert.match(
      (await causeOf(receiver.url('/moved'))).title,
      /redirects to https:\/\/www\.example\.com\/hooks\./,
    )
    receiver.on(
      '/guarded',
      answer(403, { server: 'cloudflare', 'content-type': 'text/html' }, '<html>no bots</html>'),
    )
    const guarded = await causeOf(receiver.url('/guarded'))
    assert.equal(guarded.name, 'refused by a proxy')
    assert.match(guarded.title, /calls itself cloudflare/)
  })

  test('what a stranger writes into its headers and its certificate is cut, and breaks no line', async () => {
    receiver.on('/long', answer(403, { server: `x\t${'y'.repeat(4_000)}`, location: 'a'.repeat(4_000) }))
    const outcome = await attempt(receiver.url('/long'))
    const lines = outcome.kind === 'refused' ? outcome.detail!.split('\n') : []
    assert.deepEqual(
      lines.map((line) => line.split(':')[0]),
      ['server', 'location'],
    )
    assert.ok(lines.every((line) => line.length < 200))
    assert.match(lines[0]!, /^server: x y/)
  })
})

describe('what a webhook is told to fail by', () => {
  let engine: Engine
  let webhook: Webhook
  beforeEach(async () => {
    engine = await openEngine()
    webhook = await engine.makeWebhook('/hook')
  })
  afterEach(() => engine.close())

  const read = async () => (await readFailures(engine.db, [webhook])).get(webhook.id)

  test('the first failure stays while it lasts, the last one is the newest, and a success begins anew', async () => {
    assert.equal(await read(), undefined)
    engine.receiver.on('/hook', answer(500, { server: 'first' }, 'broken'))
    const [event] = await engine.publish({})
    await engine.receiver.count('/hook', 1)
    await engine.idle()
    const first = (await read())!
    assert.deepEqual(
      [first.last!.status, first.last!.detail, first.last!.response],
      [500, 'server: first', 'broken'],
    )
    assert.deepEqual(first.first, first.last)
    assert.equal(first.last!.at.getTime(), engine.house.clock.now().getTime())
    assert.ok(event)

    engine.receiver.on('/hook', answer(404, {}, 'nothing here'))
    await engine.advanceToNextLook()
    await engine.receiver.count('/hook', 2)
    await engine.idle()
    const second = (await read())!
    assert.deepEqual(second.first!.at, first.first!.at)
    assert.deepEqual([second.first!.status, second.last!.status, second.last!.number], [500, 404, 2])

    engine.receiver.on('/hook', accept)
    await engine.advanceToNextLook()
    await engine.receiver.count('/hook', 3)
    await engine.idle()
    assert.equal(await read(), undefined, 'a success ends it')

    engine.house.clock.advance(minute)
    engine.receiver.on('/hook', answer(410))
    await engine.publish({ entity: 'transaction:2' })
    await engine.receiver.count('/hook', 4)
    await engine.idle()
    const third = (await read())!
    assert.ok(third.first!.at > first.first!.at)
    assert.deepEqual([third.first!.status, third.last!.status], [410, 410])
    assert.deepEqual((await engine.sql('SELECT failing_since AS "failingSince" FROM cursors'))[0], {
      failingSince: third.first!.at,
    })
  })

  test('of many that fail together each webhook has its own first and last', async () => {
    const other = await engine.makeWebhook('/other')
    engine.receiver.on('/hook', answer(503))
    engine.receiver.on('/other', reset)
    await engine.publish(...entities(20))
    await engine.receiver.count('/hook', 5)
    await engine.receiver.count('/other', 5)
    await engine.idle()
    const failures = await readFailures(engine.db, [webhook, other])
    assert.equal(failures.get(webhook.id)!.last!.status, 503)
    assert.deepEqual(
      [failures.get(other.id)!.last!.why, failures.get(other.id)!.last!.detail],
      ['connection', 'ECONNRESET'],
    )
    const made = await engine.attempts(webhook)
    assert.equal(failures.get(webhook.id)!.first!.at.getTime(), made[0]!.at.getTime())
  })
})
