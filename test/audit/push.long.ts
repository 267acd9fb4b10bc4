/** The audit log pushed to collectors that fail, and by nodes that do: all of it, at least once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealAll } from '../../src/audit/chain.ts'
import { openCollector } from '../../src/audit-push/open-collector.ts'
import { pushAudit } from '../../src/audit-push/push.ts'
import { day, minute } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { readConfig } from '../../src/settings/config.ts'
import { openHttpCollector, openSyslogReceiver } from '../support/audit-collectors.ts'
import {
  certificate,
  judge,
  seal,
  stateOf,
  textsOf,
  trusting,
  untilFailing,
  untilHeard,
  write,
} from '../support/audit-push.ts'
import { subjectsOf } from '../support/audit-stream.ts'
import { eventually } from '../support/eventually.ts'
import { openTestGateway } from '../support/gateway.ts'
import { openSecondNode } from '../support/oauth.ts'
import { type GatewayProcess, makeFolder, startGateway } from '../support/process.ts'

test('what a collector refuses, or does not answer, is sent again: nothing is left out', async (t) => {
  const collector = await openHttpCollector()
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  for (const answer of [500, 302, 404] as const) {
    collector.answer = answer
    await write(house, `client:${answer}`)
    const state = await untilFailing(house)
    assert.equal(state.failure, `HTTP ${answer}`)
    assert.ok(state.failingSince && state.unheardBlocks > 0)
    const { taken } = collector
    const before = taken.length
    collector.answer = 204
    await untilHeard(house)
    assert.ok(collector.taken.length > before)
    assert.equal((await stateOf(house)).failure, null)
  }
  assert.equal(collector.all.filter(({ path }) => path === '/elsewhere').length, 0)
  assert.equal(await judge(house, collector.lines()), 0)
})

test('a syslog receiver that breaks off, or ends too early, has heard nothing', async (t) => {
  const receiver = await openSyslogReceiver(certificate)
  const house = await openTestGateway({
    ...trusting,
    AUDIT_PUSH_URL: `syslog+tls://localhost:${receiver.port}`,
  })
  t.after(async () => {
    await house.close()
    await receiver.close()
  })
  for (const manner of ['break', 'end'] as const) {
    receiver.manner = manner
    await house.gateway.context.db.script(`INSERT INTO audit_entries (at, actor, action, subject, details)
      SELECT now(), 'operator:olga', 'client.updated', 'client:' || n, jsonb_build_object('note', repeat('x', 4000))
      FROM generate_series(1, 500) n`)
    const state = await untilFailing(house)
    assert.ok(state.unheardBlocks > 0, manner)
    receiver.manner = 'take'
    await untilHeard(house)
  }
  assert.equal(await judge(house, textsOf(receiver)), 0)
})

test('a collector that comes back hears what it missed, from where it was', async (t) => {
  let receiver = await openSyslogReceiver(certificate)
  const { port } = receiver
  const house = await openTestGateway({ ...trusting, AUDIT_PUSH_URL: `syslog+tls://localhost:${port}` })
  t.after(async () => {
    await house.close()
    await receiver.close()
  })
  await write(house, 'client:before')
  await untilHeard(house)
  const kept = textsOf(receiver)
  await receiver.close()
  await write(house, 'client:meanwhile')
  assert.match((await untilFailing(house)).failure!, /ECONNREFUSED/)
  receiver = await openSyslogReceiver({ ...certificate, port })
  await untilHeard(house)
  assert.deepEqual(subjectsOf(textsOf(receiver)).includes('client:before'), false)
  assert.equal(await judge(house, [...kept, ...textsOf(receiver)]), 0)
})

test('nothing is told to somebody else: a certificate that nobody vouches for is refused', async (t) => {
  const receiver = await openSyslogReceiver(certificate)
  const collector = await openHttpCollector({ tls: certificate })
  for (const url of [`syslog+tls://localhost:${receiver.port}`, collector.url]) {
    const house = await openTestGateway({ AUDIT_PUSH_URL: url })
    await write(house, 'client:1')
    assert.match((await untilFailing(house)).failure!, /SELF_SIGNED|UNABLE_TO|CERT/)
    await house.close()
  }
  assert.deepEqual([receiver.read.length, collector.all.length], [0, 0])
  t.after(() => Promise.all([receiver.close(), collector.close()]))
})

test('a gateway closes while its collector hangs, and leaves it to the next', async (t) => {
  const collector = await openHttpCollector()
  collector.answer = 'hang'
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  const other = await openSecondNode(house)
  await write(house, 'client:1')
  await seal(house)
  await eventually('it is asked', () => collector.all.length > 0)
  await other.close()
  const before = collector.all.length
  collector.answer = 200
  await untilHeard(house)
  assert.ok(collector.all.length >= before)
  await judge(house, collector.lines())
})

test('each address hears the log from its beginning, and goes on where it was when it is named again', async (t) => {
  const [one, another] = await Promise.all([openHttpCollector(), openHttpCollector()])
  const house = await openTestGateway({ AUDIT_PUSH_URL: one.url })
  t.after(async () => {
    await house.close()
    await Promise.all([one.close(), another.close()])
  })
  await write(house, 'client:1')
  await untilHeard(house)
  const settings = { ...house.settings, AUDIT_PUSH_URL: another.url }
  const moved = await openSecondNode({ ...house, settings })
  await eventually('the other hears it too', async () => (await stateOf(house, moved)).unheardBlocks === 0)
  await moved.close()
  await judge(house, another.lines())
  await judge(house, one.lines())
})

test('what was not heard is never removed, however old', async (t) => {
  const collector = await openHttpCollector()
  collector.answer = 503
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  await write(house, 'client:1')
  await untilFailing(house)
  house.clock.advance(30 * 365 * day)
  await removeDead(house.gateway.context)
  collector.answer = 200
  await untilHeard(house)
  assert.ok(subjectsOf(collector.lines()).includes('client:1'))
  await judge(house, collector.lines())
})

test('a node that is killed between the collector and its position costs blocks that come twice, and none', async (t) => {
  const collector = await openHttpCollector()
  const house = await openTestGateway({ AUDIT_PUSH_URL: collector.url, ROLES: 'api' })
  t.after(async () => {
    await house.close()
    await collector.close()
  })
  for (let entry = 0; entry < 5; entry++) await write(house, `client:${entry}`)
  await seal(house)
  const node = Promise.withResolvers<GatewayProcess>()
  const killed = collector.heardBeforeAnswer(async () => {
    const victim = await node.promise
    victim.kill('SIGKILL')
    await victim.ended
  })
  node.resolve(
    await startGateway({
      DATABASE_URL: house.databaseUrl,
      SECRET_KEY: house.settings.SECRET_KEY!,
      DATA_DIR: makeFolder(),
      AUDIT_PUSH_URL: collector.url,
    }),
  )
  await killed
  assert.equal((await stateOf(house)).position, 0, 'nothing was written down')
  const config = readConfig(house.settings).auditPush!
  const { db, vault, log } = house.gateway.context
  const clock = { now: () => new Date(Date.now() + 2 * minute) }
  await sealAll(db, clock.now(), 'wait')
  const closing = new AbortController().signal
  assert.ok(
    (await pushAudit({ db, vault, clock, log, closing, config, collector: openCollector(config, 'h') })) > 0,
  )
  assert.ok((await judge(house, collector.lines())) > 0, 'some came twice')
})
