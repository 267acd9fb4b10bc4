/**
 * How an attempt gets its connection: by name, by the address that answers first, and once more where a kept
 * one had died.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { openSender, type PostResult, type Sender } from '../../src/webhooks/outbound/attempt.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openDnsServer } from '../support/dns-server.ts'

const closers: (() => Promise<unknown> | unknown)[] = []
after(async () => {
  for (const close of closers.reverse()) await close()
})

const certificate = makeCertificate(['hooks.example.com'], new Date('2020-01-01'), new Date('2040-01-01'))
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** What a receiver does with the request that is the `number`-th of its connection. */
type Conduct = (socket: Socket, number: number) => void

interface BareReceiver {
  readonly port: number
  /** For each connection, how many requests came over it. */
  readonly requests: readonly number[]
}

/**
 * Speaks HTTP over bare sockets, so that a test decides what happens on the wire. A request of these tests is
 * one piece that ends with `}`.
 */
async function openBareReceiver(
  conduct: Conduct,
  { tls = false, host = '127.0.0.1' } = {},
): Promise<BareReceiver> {
  const requests: number[] = []
  const sockets = new Set<Socket>()
  const serve = (socket: Socket) => {
    const place = requests.push(0) - 1
    sockets.add(socket.on('error', () => {}))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (!text.endsWith('}')) return
      text = ''
      requests[place]!++
      conduct(socket, requests[place]!)
    })
  }
  const server: Server = tls ? createTlsServer(certificate, serve) : createTcpServer(serve)
  server.listen(0, host)
  await once(server, 'listening')
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, requests }
}

function openTestSender(dnsServers: readonly string[] = []): Sender {
  const policy = { allowLoopback: true, ports: [443] }
  const sender = openSender({ policy, dnsServers, certificateAuthority: certificate.cert })
  closers.push(() => sender.close())
  return sender
}

async function post(sender: Sender, url: string): Promise<PostResult> {
  const posted = await sender.post({ url, headers: { 'content-type': 'application/json' }, body: '{"n":1}' })
  // In the turn after its answer a connection may be used again.
  await nextTurn()
  return posted
}

const answerFirst =
  (then: (socket: Socket) => void): Conduct =>
  (socket, number) => {
    if (number === 1) socket.write(ok)
    else then(socket)
  }
const ends: [string, (socket: Socket) => void][] = [
  ['closed', (socket) => void socket.end()],
  ['reset', (socket) => void socket.resetAndDestroy()],
]

for (const [how, end] of ends) {
  test(`a kept connection that is ${how} as it is used again is no failure: the attempt is made on a new one`, async () => {
    const receiver = await openBareReceiver(answerFirst(end))
    const sender = openTestSender()
    const url = `http://127.0.0.1:${receiver.port}/`
    for (const attempt of [1, 2]) {
      const { outcome } = await post(sender, url)
      assert.deepEqual(outcome, { kind: 'accepted', status: 200, response: 'ok' }, `attempt ${attempt}`)
    }
    assert.deepEqual(receiver.requests, [2, 1])
  })

  test(`a new connection that is ${how} before an answer is a failure, and is not tried again at once`, async () => {
    const receiver = await openBareReceiver(end)
    const { outcome } = await post(openTestSender(), `http://127.0.0.1:${receiver.port}/`)
    assert.equal(outcome.kind === 'unreachable' && outcome.why, 'connection')
    assert.deepEqual(receiver.requests, [1])
  })
}

test('the same over TLS, where a new connection has heard bytes before any answer', async () => {
  const dns = await openDnsServer({ 'hooks.example.com': ['127.0.0.1'] })
  closers.push(dns.close)
  const kept = await openBareReceiver(
    answerFirst((socket) => void socket.destroy()),
    { tls: true },
  )
  const sender = openTestSender([dns.address])
  for (const attempt of [1, 2]) {
    const { outcome } = await post(sender, `https://hooks.example.com:${kept.port}/`)
    assert.equal(outcome.kind, 'accepted', `attempt ${attempt}: ${JSON.stringify(outcome)}`)
  }
  assert.deepEqual(kept.requests, [2, 1])
  const fresh = await openBareReceiver((socket) => void socket.destroy(), { tls: true })
  assert.equal((await post(sender, `https://hooks.example.com:${fresh.port}/`)).outcome.kind, 'unreachable')
  assert.deepEqual(fresh.requests, [1])
})

test('the second try is the last, and is made on no other kept connection', async () => {
  let isUp = true
  const receiver = await openBareReceiver((socket) => {
    if (isUp) socket.write(ok)
    else socket.end()
  })
  const sender = openTestSender()
  const url = `http://127.0.0.1:${receiver.port}/`
  await Promise.all([post(sender, url), post(sender, url), post(sender, url)])
  assert.deepEqual(receiver.requests, [1, 1, 1])
  isUp = false
  const { outcome } = await post(sender, url)
  assert.equal(outcome.kind === 'unreachable' && outcome.why, 'connection')
  assert.deepEqual([...receiver.requests].sort(), [1, 1, 1, 2])
})

test('an answer that has begun when its connection dies is not asked for again', async () => {
  const receiver = await openBareReceiver(
    answerFirst((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')),
  )
  const sender = openTestSender()
  const url = `http://127.0.0.1:${receiver.port}/`
  await post(sender, url)
  assert.equal((await post(sender, url)).outcome.kind, 'unreachable')
  assert.deepEqual(receiver.requests, [2])
})

for (const [silent, address] of [
  ['AAAA', '127.0.0.1'],
  ['A', '::1'],
] as const) {
  test(`a name server that drops questions for ${silent} holds up nobody who has an address`, async () => {
    const receiver = await openBareReceiver((socket) => void socket.write(ok), { host: address })
    const dns = await openDnsServer({ 'hooks.example.com': [address] })
    closers.push(dns.close)
    dns.fallSilent(silent)
    const { outcome, timing } = await post(
      openTestSender([dns.address]),
      `http://hooks.example.com:${receiver.port}/`,
    )
    assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome))
    // Whoever waits for the silent one waits six seconds.
    assert.ok(timing.totalMs < 4_000, `${timing.totalMs} ms`)
  })
}

for (const [dead, alive] of [
  ['127.0.0.9', '::1'],
  ['::1', '127.0.0.1'],
] as const) {
  test(`where ${dead} does not answer, ${alive} of the same name does`, async () => {
    const receiver = await openBareReceiver((socket) => void socket.write(ok), { host: alive })
    const dns = await openDnsServer({ 'hooks.example.com': [dead, alive] })
    closers.push(dns.close)
    const { outcome } = await post(
      openTestSender([dns.address]),
      `http://hooks.example.com:${receiver.port}/`,
    )
    assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome))
  })
}
