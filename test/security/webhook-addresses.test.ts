/**
 * A webhook never reaches the inside, whatever its URL says and whatever its name turns into. Nothing here
 * leaves loopback.
 */
import assert from 'node:assert/strict'
import type { AddressInfo, LookupFunction } from 'node:net'
import { createServer, type Server } from 'node:net'
import { test } from 'node:test'
import { openResolver } from '../../src/network/resolver.ts'
import { type Outcome, openSender, type SenderOptions } from '../../src/webhooks/outbound/attempt.ts'
import { faultsOf, openBranch } from '../support/branch.ts'
import { openDnsServer } from '../support/dns-server.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { answer, openReceiver, type Receiver } from '../support/receiver.ts'

const strict = { allowLoopback: false, ports: [443, 8443] }

/** One address of each kind that must never be reached. */
const forbidden: [kind: string, address: string][] = [
  ['loopback', '127.0.0.1'],
  ['loopback, far end', '127.255.255.254'],
  ['loopback of IPv6', '::1'],
  ['unspecified', '0.0.0.0'],
  ['unspecified of IPv6', '::'],
  ['private, class A', '10.0.0.1'],
  ['private, class B', '172.16.0.1'],
  ['private, class C', '192.168.1.1'],
  ['link-local', '169.254.1.1'],
  ['link-local of IPv6', 'fe80::1'],
  ['unique-local', 'fd12:3456::1'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['benchmark', '198.18.0.1'],
  ['benchmark of IPv6', '2001:2::1'],
  ['documentation 1', '192.0.2.1'],
  ['documentation 2', '198.51.100.1'],
  ['documentation 3', '203.0.113.1'],
  ['documentation of IPv6', '2001:db8::1'],
  ['multicast', '224.0.0.1'],
  ['multicast of IPv6', 'ff02::1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['cloud metadata', '169.254.169.254'],
  ['cloud metadata of IPv6', 'fd00:ec2::254'],
  ['cloud metadata, 100.100', '100.100.100.200'],
  ['cloud metadata, 192.0.0', '192.0.0.192'],
  ['cloud metadata, 168.63', '168.63.129.16'],
  ['mapped loopback', '::ffff:127.0.0.1'],
  ['mapped private', '::ffff:a00:1'],
  ['mapped metadata', '::ffff:169.254.169.254'],
  ['mapped 168.63', '::ffff:168.63.129.16'],
  ['compat', '::a00:1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64 to metadata', '64:ff9b::a9fe:a9fe'],
  ['local NAT64', '64:ff9b:1::7f00:1'],
  ['6to4', '2002:7f00:1::1'],
  ['6to4 to private', '2002:a00:1::1'],
  ['Teredo', '2001:0:7f00:1::1'],
]

const notations = [
  '2130706433',
  '017700000001',
  '0x7f000001',
  '0177.0.0.1',
  '0x7f.0.0.1',
  '127.1',
  '127.0.1',
  '0',
  '0x0',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '0xA83F8110',
  '168.63.33040',
  '10.1',
  '192.168.257',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
]

const dns = await keepOpen(openDnsServer())
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'false', WEBHOOK_DNS_SERVERS: dns.address })
const branch = await openBranch(house)
const trap = await keepOpen(openTrap())

/** A port on loopback that counts who connects. */
interface Trap {
  readonly port: number
  readonly visits: () => number
  close(): Promise<void>
}

async function openTrap(): Promise<Trap> {
  let visits = 0
  const server: Server = createServer((socket) => {
    visits++
    socket.destroy()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    port: (server.address() as AddressInfo).port,
    visits: () => visits,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}

const hostOf = (address: string) => (address.includes(':') ? `[${address}]` : address)

/** One attempt with a sender of its own, so that nothing is remembered. */
async function attempt(url: string, options: Partial<SenderOptions> = {}): Promise<Outcome> {
  const sender = openSender({
    policy: strict,
    dnsServers: [dns.address],
    certificateAuthority: undefined,
    ...options,
  })
  try {
    return (await sender.post({ url, headers: { 'content-type': 'application/json' }, body: '{}' })).outcome
  } finally {
    await sender.close()
  }
}

const refusedBeforeDialling: Outcome = { kind: 'unreachable', why: 'forbidden-address' }

for (const [kind, address] of forbidden) {
  test(`${kind} (${address}) is refused when it is registered, when it is dialled, and when a name leads to it`, async () => {
    const host = hostOf(address)
    const answer = await branch.call('POST', '/v2/webhooks', { url: `https://${host}/hooks` })
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(Object.keys(faultsOf(answer)), ['url'])
    for (const scheme of ['http', 'https'])
      assert.deepEqual(await attempt(`${scheme}://${host}:${trap.port}/hooks`), refusedBeforeDialling)
    dns.set('hooks.example.com', [address])
    for (const scheme of ['http', 'https'])
      assert.deepEqual(await attempt(`${scheme}://hooks.example.com:${trap.port}/`), refusedBeforeDialling)
    assert.equal(trap.visits(), 0)
  })
}

test('decimal, octal, hexadecimal and short notations are refused when registered and when dialled', async () => {
  for (const host of notations) {
    const answer = await branch.call('POST', '/v2/webhooks', { url: `https://${host}/hooks` })
    assert.equal(answer.status, 400, `${host}: ${answer.text}`)
    assert.deepEqual(await attempt(`http://${host}:${trap.port}/`), refusedBeforeDialling, host)
  }
  assert.equal(trap.visits(), 0)
})

test('localhost, its subdomains and a trailing dot are refused when registered and when dialled', async () => {
  for (const host of [
    'localhost',
    'LocalHost',
    'localhost.',
    'foo.localhost',
    'foo.localhost.',
    'a.b.localhost',
  ]) {
    const answer = await branch.call('POST', '/v2/webhooks', { url: `https://${host}/hooks` })
    assert.equal(answer.status, 400, `${host}: ${answer.text}`)
    dns.set(host.toLowerCase().replace(/\.$/, ''), ['127.0.0.1'])
    assert.deepEqual(await attempt(`http://${host}:${trap.port}/`), refusedBeforeDialling, host)
  }
  assert.equal(trap.visits(), 0)
})

test('of a name with public and forbidden addresses only the public ones are dialled', async () => {
  dns.set('mixed.example.com', [
    '10.0.0.1',
    '203.0.113.9',
    '8.8.8.8',
    '::1',
    '2606:4700:4700::1111',
    '168.63.129.16',
  ])
  const { lookup } = openResolver(strict, [dns.address])
  assert.deepEqual((await resolve(lookup, true)).sort(), ['2606:4700:4700::1111', '8.8.8.8'])
  assert.deepEqual(await resolve(lookup, false), ['8.8.8.8'])

  function resolve(look: LookupFunction, all: boolean): Promise<string[]> {
    return new Promise((found, failed) =>
      look('mixed.example.com', { all }, (error, address) => {
        if (error) failed(error)
        else found([address].flat().map((each) => (typeof each === 'string' ? each : each.address)))
      }),
    )
  }
})

test('a name that changes its address after it was registered is refused at the new one', async () => {
  dns.set('rebind.example.com', ['8.8.8.8'])
  const id = await branch.register('https://rebind.example.com/hooks')
  dns.set('rebind.example.com', ['127.0.0.1', '::1', '169.254.169.254'])
  const { deliveries } = await branch.fire()
  const mine = deliveries.find(({ webhookId }) => webhookId === id)!
  assert.equal(mine.state, 'waiting')
  assert.deepEqual([mine.attempt?.outcome, mine.attempt?.why], ['unreachable', 'forbidden-address'])
  assert.ok(dns.asked.includes('rebind.example.com'), 'the name was asked for when it was dialled')
  await branch.call('DELETE', `/v2/webhooks/${id}`)
})

test('a name that changes its address between two attempts is judged anew', async () => {
  const receiver = await openReceiver()
  const policy = { ...strict, allowLoopback: true }
  const url = `http://turning.example.com:${receiver.port}/`
  dns.set('turning.example.com', ['127.0.0.1'])
  assert.equal((await attempt(url, { policy })).kind, 'accepted')
  dns.set('turning.example.com', ['10.0.0.1'])
  assert.deepEqual(await attempt(url, { policy }), refusedBeforeDialling)
  assert.deepEqual(await attempt(url), refusedBeforeDialling)
  assert.equal(receiver.received.length, 1)
  await receiver.close()
})

test('the address that was judged is the address that is dialled: the name is not asked for again', async () => {
  const receiver = await openReceiver()
  dns.set('once.example.com', ['127.0.0.1'])
  const before = dns.asked.length
  const outcome = await attempt(`http://once.example.com:${receiver.port}/`, {
    policy: { ...strict, allowLoopback: true },
  })
  assert.equal(outcome.kind, 'accepted')
  assert.deepEqual(dns.asked.slice(before), ['once.example.com', 'once.example.com'], 'one A and one AAAA')
  assert.equal(receiver.received[0]!.headers.host, `once.example.com:${receiver.port}`)
  await receiver.close()
})

test('a name that does not exist is a DNS failure', async () => {
  assert.deepEqual(await attempt('https://nowhere.example.com/'), {
    kind: 'unreachable',
    why: 'dns',
    detail: 'ENOTFOUND',
  })
})

test('a redirect is a failure and is not followed', async () => {
  const target = await openReceiver()
  const receiver = await openReceiver()
  const policy = { ...strict, allowLoopback: true }
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.otherwise = answer(status, { location: target.url('/hooks') })
    const outcome = await attempt(receiver.url('/hooks'), { policy })
    assert.equal(outcome.kind, 'refused')
    assert.equal(outcome.kind === 'refused' && outcome.status, status)
  }
  receiver.otherwise = answer(307, { location: 'http://169.254.169.254/latest/meta-data/' })
  assert.equal((await attempt(receiver.url('/hooks'), { policy })).kind, 'refused')
  assert.equal(target.received.length, 0)
  await Promise.all([target.close(), receiver.close()])
})

test('proxies of the environment are not used', async () => {
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']
  const before = names.map((name) => process.env[name])
  const receiver: Receiver = await openReceiver()
  for (const name of names) process.env[name] = `http://127.0.0.1:${trap.port}`
  const outcome = await attempt(receiver.url('/hooks'), { policy: { ...strict, allowLoopback: true } })
  for (const [place, name] of names.entries()) {
    if (before[place] === undefined) delete process.env[name]
    else process.env[name] = before[place]
  }
  assert.equal(outcome.kind, 'accepted')
  assert.equal(trap.visits(), 0)
  await receiver.close()
})

test('ports off the list, credentials and plain http are refused when registered', async () => {
  const urls = [
    'https://app.example.com:22/',
    'https://app.example.com:80/',
    'https://app.example.com:6379/',
    'https://app.example.com:65535/',
    'https://user:password@app.example.com/',
    'https://user@app.example.com/',
    'http://app.example.com/',
    'http://127.0.0.1/',
    'http://localhost:3000/',
    'http://[::1]:3000/',
  ]
  for (const url of urls) {
    const answer = await branch.call('POST', '/v2/webhooks', { url })
    assert.equal(answer.status, 400, url)
    assert.deepEqual(Object.keys(faultsOf(answer)), ['url'])
  }
  for (const url of ['https://app.example.com/', 'https://app.example.com:8443/']) {
    const id = await branch.register(url)
    await branch.call('DELETE', `/v2/webhooks/${id}`)
  }
})

test('WEBHOOK_PORTS decides which ports may be used', async () => {
  const other = await openTestGateway({
    ROLES: 'api',
    WEBHOOK_ALLOW_LOOPBACK: 'false',
    WEBHOOK_PORTS: '9443',
  })
  const program = await openBranch(other)
  assert.equal((await program.call('POST', '/v2/webhooks', { url: 'https://app.example.com/' })).status, 400)
  assert.equal(
    (await program.call('POST', '/v2/webhooks', { url: 'https://app.example.com:9443/' })).status,
    201,
  )
  await other.close()
})

test('an update cannot bring in what a registration refuses', async () => {
  const id = await branch.register('https://app.example.com/')
  for (const method of ['PUT', 'PATCH'] as const) {
    for (const url of [
      'https://127.0.0.1/',
      'https://2130706433/',
      'http://app.example.com/',
      'https://localhost./',
    ])
      assert.equal((await branch.call(method, `/v2/webhooks/${id}`, { url })).status, 400, url)
  }
  await branch.call('DELETE', `/v2/webhooks/${id}`)
})

test('a sandbox is no exception: loopback is for callbacks there, and for webhooks only in development', async () => {
  const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'false' })
  for (const environment of ['live', 'sandbox'] as const) {
    const program = await openBranch(house, { environment })
    for (const url of [
      'http://localhost:3000/hooks',
      'http://127.0.0.1/hooks',
      'https://localhost/hooks',
      'https://[::1]/',
    ])
      assert.equal((await program.call('POST', '/v2/webhooks', { url })).status, 400, `${environment} ${url}`)
  }
  await house.makeClient({ environment: 'sandbox', callbackUrl: 'http://localhost:3000/callback' })
})
