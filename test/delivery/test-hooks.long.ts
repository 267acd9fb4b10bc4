/** What did not happen holds up nothing that did, costs a bounded amount, and is told apart on the wire. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import { getPartner } from '../../src/partners/partner.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { openPartner } from '../support/portal.ts'
import { accept, fail } from '../support/receiver.ts'

const path = '/v2/webhooks/transaction'
let engine: Engine
beforeEach(async () => {
  engine = await openEngine({ TEST_HOOKS_PER_MINUTE: '3' })
})
afterEach(() => engine.close())

const simulate = (id: number) => engine.call('POST', path, transaction({ transactionId: id }))

test('a simulation that fails never holds up the real entity of the same id, nor the other way round', async () => {
  await engine.makeWebhook('/hook')
  engine.receiver.on('/hook', (request, response, socket) =>
    (request.headers['x-webhook-test'] === 'true' ? fail : accept)(request, response, socket),
  )
  await simulate(42)
  await engine.receiver.count('/hook', 1)
  await engine.publish({ entity: 'transaction:42' }, { entity: 'transaction:42', action: 'COMPLETED' })
  await engine.receiver.count('/hook', 3)
  engine.receiver.on('/hook', (request, response, socket) =>
    (request.headers['x-webhook-test'] === 'true' ? accept : fail)(request, response, socket),
  )
  await engine.publish({ entity: 'transaction:43' })
  await engine.receiver.count('/hook', 4)
  await simulate(43)
  await engine.receiver.count('/hook', 5)
})

test('a simulation says on the wire that it is one, and what happened says nothing', async () => {
  await engine.makeWebhook('/hook')
  await simulate(1)
  await engine.receiver.count('/hook', 1)
  await engine.publish({ entity: 'transaction:1' })
  await engine.receiver.count('/hook', 2)
  assert.deepEqual(
    engine.receiver.at('/hook').map((request) => request.headers['x-webhook-test']),
    ['true', undefined],
  )
})

test('a branch sends so many test hooks a minute, of all kinds together; then 429 with Retry-After until the next', async () => {
  await engine.makeWebhook('/hook')
  engine.house.clock.advance(minute - (engine.house.clock.now().getTime() % minute))
  for (const id of [1, 2, 3]) assert.equal((await simulate(id)).status, 202)
  engine.house.clock.advance(20 * second)
  const refused = await simulate(4)
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '40')
  assert.match(refused.text, /"error":"too_many_requests"/)
  assert.equal(
    (await (await openBranch(engine.house)).call('POST', path, transaction())).status,
    202,
    'others may',
  )
  const partner = await getPartner(engine.db, String(engine.branchId))
  const client = await engine.house.makeClient({ partner, environment: 'sandbox' })
  const sandbox = await openBranch(engine.house, { environment: 'sandbox', client })
  assert.equal((await sandbox.call('POST', path, transaction())).status, 202, 'the sandbox counts for itself')
  engine.house.clock.advance(40 * second)
  assert.equal((await simulate(5)).status, 202)
  await engine.receiver.count('/hook', 4)
})

test('the portal counts with the interface', async () => {
  const { browser, home, program } = await openPartner(engine.house)
  await program.register(engine.receiver.url('/portal'))
  const fields = { ...transaction(), branchId: '7', amount: '5', action: 'SUBMITTED', direction: 'DEPOSIT' }
  const send = async (transactionId: string) =>
    browser.submit(await browser.get(`${home}/test`), `${home}/test/send`, { ...fields, transactionId })
  assert.deepEqual([(await send('1')).status, (await send('2')).status], [303, 303])
  assert.equal((await program.call('POST', path, transaction())).status, 202)
  const refused = await send('3')
  assert.equal(refused.status, 429)
  assert.match(refused.text, /as many test events as it may in a minute/)
  assert.match(String(refused.headers['retry-after']), /^\d+$/)
})

test('a body that is refused is no test hook', async () => {
  for (let turn = 0; turn < 5; turn++) assert.equal((await engine.call('POST', path, {})).status, 400)
  assert.equal((await simulate(1)).status, 202)
})

test('while somebody else is at the part, a test hook is answered in time, without its deliveries', async () => {
  await engine.makeWebhook('/hook')
  await engine.idle()
  await engine.db.transaction(async (sql) => {
    await sql.script(`SELECT FROM parts WHERE part = ${partOf(engine.branchId)} FOR NO KEY UPDATE`)
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    const answer = await simulate(1)
    assert.equal(answer.status, 202)
    assert.deepEqual(answer.json<{ deliveries: unknown[] }>().deliveries, [])
  })
  await engine.receiver.count('/hook', 1)
})
