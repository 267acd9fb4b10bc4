/** Whatever a receiver does, an attempt costs a bounded amount and is written down as it was. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type AttemptRow, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { findFreePort } from '../support/ports.ts'
import {
  accept,
  answer,
  type Behaviour,
  drip,
  flood,
  hang,
  openReceiver,
  reset,
  speak,
} from '../support/receiver.ts'

const kibi = 1024
const deadlineMs = 10_000
/** What the kernel's buffers may take in beyond what was read. */
const buffersBytes = 16 * kibi * kibi

const nameServer = await keepOpen(createSocket('udp4').bind(0, '127.0.0.1'))
await once(nameServer, 'listening')
const engine = await keepOpen(openEngine({ WEBHOOK_DNS_SERVERS: `127.0.0.1:${nameServer.address().port}` }))

async function firstAttempt(webhook: Webhook): Promise<AttemptRow> {
  await engine.publish({ entity: `transaction:${webhook.id}`, branchId: webhook.branchId })
  await eventually('an attempt', async () => (await engine.attempts(webhook)).length > 0)
  const [attempt] = await engine.attempts(webhook)
  // Each test registers its own; those of the earlier ones are of no more interest.
  await engine.call('DELETE', `/v2/webhooks/${webhook.id}`)
  return attempt!
}

async function attemptAt(path: string, behaviour: Behaviour): Promise<AttemptRow> {
  engine.receiver.on(path, behaviour)
  return firstAttempt(await engine.makeWebhook(path))
}

const unreachable = (why: string) => ({ outcome: 'unreachable', status: null, why, response: null })
const essence = ({ outcome, status, why, response }: AttemptRow) => ({ outcome, status, why, response })

test('an answer without end is cut off after 64 KiB, 8 KiB of it are kept, and its 200 counts', async () => {
  const private_ = await openReceiver()
  private_.on('/flood', flood)
  const attempt = await firstAttempt(await engine.makeWebhook(private_.url('/flood')))
  assert.equal(attempt.outcome, 'accepted')
  assert.equal(attempt.status, 200)
  assert.equal(attempt.response, 'x'.repeat(8 * kibi))
  await private_.until(() => private_.connections === 0, 'the end of the connection')
  assert.ok(private_.bytesWritten < buffersBytes, `${private_.bytesWritten} bytes were sent`)
  await private_.close()
})

test('an answer of 64 KiB is read to its end, and its connection is used again', async () => {
  const private_ = await openReceiver()
  private_.on('/long', answer(200, {}, 'y'.repeat(60 * kibi)))
  const webhook = await engine.makeWebhook(private_.url('/long'))
  await engine.publish({ entity: 'transaction:first' })
  await private_.count('/long', 1)
  await engine.idle()
  await engine.publish({ entity: 'transaction:second' })
  await private_.count('/long', 2)
  await engine.idle()
  assert.equal(private_.connections, 1)
  assert.deepEqual(
    (await engine.attempts(webhook)).map((attempt) => attempt.response?.length),
    [8 * kibi, 8 * kibi],
  )
  await engine.call('DELETE', `/v2/webhooks/${webhook.id}`)
  await private_.close()
})

/** What takes until the deadline is tried at once, each by a partner of its own. */
describe('a receiver that says nothing in time', { concurrency: true }, () => {
  const attemptOfItsOwn = async (target: string) => {
    const { branchId } = await engine.house.makePartner()
    return firstAttempt(await engine.makeWebhook(target, { branchId }))
  }
  for (const [name, behaviour] of [
    ['never answers', hang],
    ['drips its answer byte by byte', drip],
  ] as const) {
    test(`a receiver that ${name} costs ten seconds and is a time-out`, async () => {
      engine.receiver.on(`/${behaviour.name}`, behaviour)
      const attempt = await attemptOfItsOwn(`/${behaviour.name}`)
      assert.deepEqual(essence(attempt), unreachable('timeout'))
      assert.ok(attempt.duration_ms >= deadlineMs - 100 && attempt.duration_ms < 2 * deadlineMs)
    })
  }

  test('a name server that never answers is a failure of the name, within the deadline', async () => {
    const attempt = await attemptOfItsOwn('https://hooks.example.com/dead-dns')
    assert.ok(attempt.duration_ms < 2 * deadlineMs)
    assert.deepEqual(essence(attempt), unreachable('dns'))
  })
})

test('a connection that is reset is recorded as such', async () => {
  assert.deepEqual(essence(await attemptAt('/reset', reset)), unreachable('connection'))
})

test('a port where nobody listens is recorded as such', async () => {
  const webhook = await engine.makeWebhook(`http://127.0.0.1:${await findFreePort()}/nobody`)
  assert.deepEqual(essence(await firstAttempt(webhook)), unreachable('connection'))
})

test('https to a server that does not speak TLS is recorded as such', async () => {
  const webhook = await engine.makeWebhook(`https://127.0.0.1:${engine.receiver.port}/tls`)
  assert.deepEqual(essence(await firstAttempt(webhook)), unreachable('tls'))
})

for (const [name, text] of [
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['a broken status line', 'HTTP/1.1 two hundred\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ['a broken chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'h'.repeat(64 * kibi)}\r\n\r\n`],
] as const) {
  test(`a receiver that speaks ${name} is recorded as a fault of the protocol`, async () => {
    assert.deepEqual(
      essence(await attemptAt(`/${name.replaceAll(' ', '-')}`, speak(text))),
      unreachable('protocol'),
    )
  })
}

test('an answer that breaks off in the middle is no success', async () => {
  const half = speak('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
  const { outcome } = await attemptAt('/half', half)
  assert.equal(outcome, 'unreachable')
})

test('a redirect is a failure with its status, and is not followed', async () => {
  engine.receiver.on('/elsewhere', accept)
  const attempt = await attemptAt(
    '/redirect',
    answer(307, { location: engine.receiver.url('/elsewhere') }, 'over there'),
  )
  assert.deepEqual(essence(attempt), { outcome: 'refused', status: 307, why: null, response: 'over there' })
  assert.equal(engine.receiver.at('/elsewhere').length, 0)
})

for (const status of [200, 201, 204, 299]) {
  test(`${status} is a success`, async () => {
    const { outcome, status: recorded } = await attemptAt(`/${status}`, answer(status))
    assert.deepEqual([outcome, recorded], ['accepted', status])
  })
}

for (const status of [300, 400, 404, 429, 500, 599]) {
  test(`${status} is a failure`, async () => {
    const { outcome, status: recorded } = await attemptAt(`/${status}`, answer(status))
    assert.deepEqual([outcome, recorded], ['refused', status])
  })
}

test('what cannot be stored as text is still recorded', async () => {
  const attempt = await attemptAt('/binary', (_, response) => void response.end(Buffer.from([0, 255, 65, 0])))
  assert.equal(attempt.outcome, 'accepted')
  assert.match(attempt.response!, /A/)
})
