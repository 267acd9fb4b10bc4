/** The audit log pushed to a collector: all of it, in order, by one node at a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import {
  type HttpCollector,
  openHttpCollector,
  openSyslogReceiver,
  parseMessage,
} from '../support/audit-collectors.ts'
import {
  certificate,
  file,
  judge,
  openPush,
  ownCertificate,
  seal,
  stateOf,
  textsOf,
  trusting,
  untilHeard,
  write,
} from '../support/audit-push.ts'
import { subjectsOf } from '../support/audit-stream.ts'
import { eventually } from '../support/eventually.ts'
import { openTestGateway } from '../support/gateway.ts'
import { openSecondNode } from '../support/oauth.ts'

test('an HTTP collector hears the whole log in order, once, whichever of two nodes pushes', async (t) => {
  const collector = await openHttpCollector({ tls: { ...certificate, clients: ownCertificate.cert } })
  const house = await openTestGateway({
    ...trusting,
    AUDIT_PUSH_URL: `${collector.url}?channel=7`,
    AUDIT_PUSH_AUTHORIZATION_FILE: file('authorization', 'Splunk a-token\n'),
    AUDIT_PUSH_CERT_FILE: file('own.pem', ownCertificate.cert),
    AUDIT_PUSH_KEY_FILE: file('own.key', ownCertificate.key),
  })
  const other = await openSecondNode(house)
  t.after(async () => {
    await other.close()
    await house.close()
    await collector.close()
  })
  for (let entry = 0; entry < 40; entry++) {
    await write(house, `client:${entry}`)
    if (entry % 4 === 0) await seal(house)
  }
  await untilHeard(house)
  const lines = collector.lines()
  assert.equal(await judge(house, lines), 0, 'nothing came twice')
  assert.deepEqual(
    subjectsOf(lines).filter((subject) => subject.startsWith('client:')),
    Array.from({ length: 40 }, (_, entry) => `client:${entry}`),
  )
  const [{ headers, path }] = collector.taken as [HttpCollector['taken'][number]]
  assert.deepEqual(
    [path, headers.authorization, headers['content-type']],
    ['/in?channel=7', 'Splunk a-token', 'application/x-ndjson'],
  )
  const keys = collector.taken.map((request) => String(request.headers['idempotency-key']))
  assert.equal(new Set(keys).size, keys.length)
  for (const key of keys) assert.match(key, /^\d+-\d+:[0-9a-f]{64}$/)
  const state = await stateOf(house)
  assert.deepEqual([state.unheardMs, state.failure, state.failingSince], [0, null, null])
})

test('a syslog receiver hears the same, behind fields that it can sort by', async (t) => {
  const receiver = await openSyslogReceiver({ ...certificate, clients: ownCertificate.cert })
  const house = await openTestGateway({
    ...trusting,
    AUDIT_PUSH_URL_FILE: file('url', `syslog+tls://localhost:${receiver.port}\n`),
    AUDIT_PUSH_CERT_FILE: file('own.pem', ownCertificate.cert),
    AUDIT_PUSH_KEY_FILE: file('own.key', ownCertificate.key),
  })
  const other = await openSecondNode(house)
  t.after(async () => {
    await other.close()
    await house.close()
    await receiver.close()
  })
  for (const subject of ['client:1', 'client:"2"', 'client:3]']) await write(house, subject)
  await untilHeard(house)
  assert.equal(await judge(house, textsOf(receiver)), 0)
  const found = receiver.messages.map(parseMessage).find(({ fields }) => fields.subject === 'client:3]')!
  assert.deepEqual([found.name, found.host, found.app], ['client.updated', '127.0.0.1', 'countersign'])
  assert.match(found.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('after each failure it waits longer, and no node asks meanwhile', async (t) => {
  const collector = await openHttpCollector()
  collector.answer = 503
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url, ROLES: 'api' })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  await write(house, 'client:1')
  await seal(house)
  const push = openPush(house)
  for (const [count, waitMs] of [1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 60_000].entries()) {
    assert.equal(await push(), 0)
    assert.equal(collector.all.length, count + 1)
    house.clock.advance(waitMs - 1)
    await push()
    assert.equal(collector.all.length, count + 1, `not before ${waitMs} ms`)
    house.clock.advance(1)
  }
  collector.answer = 200
  assert.ok((await push()) > 0)
})

test('of several who push at once one has it in hand; who has lost it moves nothing', async (t) => {
  const collector = await openHttpCollector()
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url, ROLES: 'api' })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  await write(house, 'client:1')
  await seal(house)
  collector.answer = 'hang'
  const leave = new AbortController()
  const first = openPush(house, leave.signal)()
  await eventually('it is asked', () => collector.all.length === 1)
  const next = openPush(house)
  assert.equal(await next(), 0)
  assert.equal(collector.all.length, 1, 'another has it in hand')
  // Its lease runs out while it stands still.
  house.clock.advance(2 * minute)
  collector.answer = 200
  assert.ok((await next()) > 0)
  const heard = (await stateOf(house)).position
  leave.abort()
  assert.equal(await first, 0)
  assert.deepEqual([(await stateOf(house)).position, (await stateOf(house)).failure], [heard, null])
})
