import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { createService, revokeService } from '../../src/services/service.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { ask } from '../support/ask.ts'
import {
  achProfile,
  application,
  type BranchProgram,
  callJson,
  faultsOf,
  type Headers,
  openBranch,
  type ProblemAnswer,
  transaction,
} from '../support/branch.ts'
import type { Answer } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { sendRaw } from '../support/oauth.ts'
import { openReceiver } from '../support/receiver.ts'

interface LogBody {
  readonly sequence: number
  readonly eventId: string
  readonly kind: string
  readonly action: string
  readonly entity: string
  readonly simulated: boolean
  readonly body: string
}

const path = '/internal/v1/events'
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const ledger = (await makeService()).headers
const branch = await openBranch(house)

async function makeService(environment: Environment = 'live') {
  const { service, secret } = await createService(
    house.gateway.context.db,
    'ledger',
    environment,
    house.act(),
  )
  return { service, headers: basic({ id: service.id, secret: secret.text }) }
}

function publish(body: unknown, headers: Headers = {}): Promise<Answer> {
  return callJson(house.internalUrl + path, 'POST', body, { ...ledger, ...headers })
}

/**
 * The branch's log once the dispatcher has been there: a test webhook is answered when it, and so all before
 * it, is numbered.
 */
async function readLog(program: BranchProgram): Promise<LogBody[]> {
  await program.call('POST', '/v2/webhooks/achprofile', achProfile({ clearingAccount: 'fence' }))
  const events: LogBody[] = []
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0
    const page = (await program.call('GET', `/v2/events?limit=100&after=${after}`)).json<{
      events: LogBody[]
    }>()
    events.push(...page.events)
    if (page.events.length < 100) return events.filter(({ body }) => !body.includes('"fence"'))
  }
}

const idsOf = (answer: Answer) => answer.json<{ eventIds: string[] }>().eventIds

test('a service publishes an event, and the webhooks that subscribe to its kind get it', async () => {
  const program = await openBranch(house)
  await program.register(`${receiver.url('/hooks')}/transactions`, { kinds: ['TRANSACTION'] })
  await program.register(`${receiver.url('/hooks')}/applications`, { kinds: ['APPLICATION'] })
  const event = transaction({ branchId: program.branchId })
  const answer = await publish({ events: [event] })
  assert.equal(answer.status, 202)
  const [eventId] = idsOf(answer)
  assert.match(eventId!, /^evt_[0-9a-f]{32}$/)
  const [logged] = await readLog(program)
  assert.deepEqual(
    [logged!.eventId, logged!.kind, logged!.action, logged!.entity, logged!.simulated],
    [eventId, 'TRANSACTION', 'SUBMITTED', `transaction:${event.transactionId}`, false],
  )
  const fence = await program.fire(application())
  assert.deepEqual(
    fence.deliveries.map(({ state }) => state),
    ['delivered', 'delivered'],
  )
  // Events of different entities do not wait for each other: this one, and the two that came after it.
  await receiver.count('/hooks/transactions', 3)
  const found = receiver.received.filter(({ headers }) => headers['webhook-id'] === eventId)
  assert.deepEqual(
    found.map((each) => each.path),
    ['/hooks/transactions'],
  )
  assert.deepEqual(JSON.parse(found[0]!.body), event)
})

test('only a living service may publish', async () => {
  const { db } = house.gateway.context
  const revoked = await makeService()
  const member = await house.makeUser()
  await addMember(db, await getPartner(db, String(branch.branchId)), member, house.act())
  const token = await house.makeToken(member)
  const body = { events: [transaction({ branchId: branch.branchId })] }
  assert.equal((await publish(body, revoked.headers)).status, 202)
  await revokeService(db, revoked.service.id, house.act())
  const wrong: Headers[] = [
    { authorization: '' },
    { authorization: 'Basic !!' },
    { authorization: `Bearer ${token}` },
    basic({ id: token, secret: '' }),
    branch.credentials,
    revoked.headers,
    basic({ id: revoked.service.id, secret: '' }),
  ]
  for (const headers of wrong) {
    for (const each of [body, { rubbish: true }]) {
      const answer = await publish(each, headers)
      assert.equal(answer.status, 401, `${JSON.stringify(headers)} ${answer.text}`)
      assert.match(String(answer.headers['www-authenticate']), /^Basic /)
    }
  }
})

test("an event of one environment stays out of the other's log", async () => {
  const program = await openBranch(house)
  const sandboxService = await makeService('sandbox')
  const event = transaction({ branchId: program.branchId })
  assert.equal(
    (await callJson(house.internalUrl + path, 'POST', { events: [event] }, sandboxService.headers)).status,
    202,
  )
  assert.deepEqual(await readLog(program), [])
})

test('a thousand events are published at once, in order and without a gap; a thousand and one are refused', async () => {
  const program = await openBranch(house)
  const events = Array.from({ length: 1_000 }, (_, place) =>
    transaction({ branchId: program.branchId, transactionId: place + 1 }),
  )
  const refused = await publish({ events: [...events, transaction()] })
  assert.equal(refused.status, 400)
  assert.match(faultsOf(refused).events!, /1000/)
  const answer = await publish({ events })
  assert.equal(answer.status, 202, answer.text)
  const log = await readLog(program)
  assert.deepEqual(
    log.map(({ eventId }) => eventId),
    idsOf(answer),
  )
  assert.deepEqual(
    log.map(({ sequence, entity }) => [entity, sequence - log[0]!.sequence]),
    events.map(({ transactionId }, place) => [`transaction:${transactionId}`, place]),
  )
})

test('a fault names the index and the field of the bad event, and no event of the batch is published', async () => {
  const program = await openBranch(house)
  const { branchId } = program
  const cases: [bad: unknown, field: string | RegExp][] = [
    [transaction({ branchId, amount: -1 }), 'events.2.amount'],
    [transaction({ branchId, action: 'DONE' }), 'events.2.action'],
    [application({ branchId, email: 'nobody' }), 'events.2.email'],
    [achProfile({ branchId, profileId: 0 }), 'events.2.profileId'],
    [achProfile({ branchId, colour: 'red' }), 'events.2.colour'],
    [{ ...transaction({ branchId }), direction: undefined }, 'events.2.direction'],
    [transaction({ branchId, type: 'AUTHORIZATION' }), 'events.2.type'],
    [transaction({ branchId, type: 'OTHER' }), 'events.2.type'],
    [{ ...transaction({ branchId }), type: undefined }, 'events.2.type'],
    [transaction({ branchId, type: 5 }), 'events.2.type'],
    [{}, 'events.2.type'],
    [null, /^events\.2/],
    [5, /^events\.2/],
    [[], /^events\.2/],
    [transaction({ branchId: 999_999 }), 'events.2.branchId'],
    [transaction({ branchId: 2 ** 31 }), 'events.2.branchId'],
    [transaction({ branchId: Number.MAX_SAFE_INTEGER }), 'events.2.branchId'],
    [transaction({ branchId: 2 ** 53 }), 'events.2.branchId'],
  ]
  for (const [bad, field] of cases) {
    const good = () => transaction({ branchId })
    const answer = await publish({ events: [good(), good(), bad, good()] })
    assert.equal(answer.status, 400, `${JSON.stringify(bad)}: ${answer.text}`)
    const names = Object.keys(faultsOf(answer))
    assert.ok(names.length > 0)
    for (const name of names) {
      if (typeof field === 'string') assert.equal(name, field, answer.text)
      else assert.match(name, field)
    }
  }
  assert.deepEqual(await readLog(program), [])
})

test('an amount of a batch that no number can be, or that is below zero by however little, is refused by its place', async () => {
  const program = await openBranch(house)
  const { branchId } = program
  const write = (amount: string) =>
    JSON.stringify(transaction({ branchId, amount: 0 })).replace('"amount":0', `"amount":${amount}`)
  for (const [amount, problem] of [
    ['1e400', 'is too large: at most 1.7976931348623157e+308'],
    ['-1e-400', 'must be >= 0'],
  ] as const) {
    const answer = await publish(
      `{"events":[${write('1')},${JSON.stringify(application({ branchId }))},${write(amount)}]}`,
    )
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(faultsOf(answer), { 'events.2.amount': problem })
  }
  assert.deepEqual(await readLog(program), [])
})

test('the faults of several events are reported at once', async () => {
  const { branchId } = branch
  const events = [
    transaction({ branchId, amount: 'x' }),
    transaction({ branchId }),
    application({ branchId, action: 'x' }),
  ]
  const answer = await publish({ events })
  assert.deepEqual(Object.keys(faultsOf(answer)).sort(), ['events.0.amount', 'events.2.action'])
})

test('a lone event with an unknown branch is refused, however large its number', async () => {
  for (const branchId of [999_999, 2 ** 31, 3_000_000_000, Number.MAX_SAFE_INTEGER]) {
    const answer = await publish({ events: [transaction({ branchId })] })
    assert.equal(answer.status, 400, `${branchId}: ${answer.text}`)
    assert.deepEqual(Object.keys(faultsOf(answer)), ['events.0.branchId'])
  }
})

test('a body that is no list of events is 400', async () => {
  const bodies: unknown[] = [
    {},
    [],
    { events: [] },
    { events: {} },
    { events: null },
    { events: [], more: 1 },
    '',
    '{',
  ]
  for (const body of bodies) assert.equal((await publish(body)).status, 400, JSON.stringify(body))
})

test('the digits of every amount in a batch reach the log as they were sent', async () => {
  const program = await openBranch(house)
  const amounts = ['500.10', '12345678901234567890', '1e3', '0.0']
  const texts = amounts.map((amount) =>
    JSON.stringify(transaction({ branchId: program.branchId, amount: 0 })).replace(
      '"amount":0',
      `"amount":${amount}`,
    ),
  )
  assert.equal((await publish(`{"events":[${texts.join(', ')}]}`)).status, 202)
  assert.equal((await publish(`{"events":[${texts[0]}]}`)).status, 202)
  const log = await readLog(program)
  assert.deepEqual(
    log.map(({ body }) => /"amount":([^,]*)/.exec(body)![1]),
    [...amounts, amounts[0]],
  )
})

test('the same idempotency key again publishes nothing and is answered the same', async () => {
  const program = await openBranch(house)
  const events = [transaction({ branchId: program.branchId }), transaction({ branchId: program.branchId })]
  const key = { 'idempotency-key': 'order 1' }
  const first = await publish({ events }, key)
  const second = await publish({ events }, key)
  assert.deepEqual([first.status, second.status], [202, 202])
  assert.deepEqual(idsOf(second), idsOf(first))
  assert.deepEqual(
    (await readLog(program)).map(({ eventId }) => eventId),
    idsOf(first),
  )
})

test('the same idempotency key with another body is 409 and publishes nothing', async () => {
  const program = await openBranch(house)
  const event = transaction({ branchId: program.branchId, amount: 1 })
  const key = { 'idempotency-key': 'order 2' }
  assert.equal((await publish({ events: [event] }, key)).status, 202)
  for (const events of [[{ ...event, amount: 2 }], [event, event], [{ ...event, action: 'COMPLETED' }]]) {
    const answer = await publish({ events }, key)
    assert.equal(answer.status, 409)
    assert.equal(answer.json<ProblemAnswer>().error, 'conflict')
  }
  const text = JSON.stringify({ events: [event] }).replace('"amount":1', '"amount":1.00')
  assert.equal((await publish(text, key)).status, 409, 'other digits are another body')
  assert.equal((await readLog(program)).length, 1)
})

test('of twenty parallel requests with one idempotency key one publishes, and all are answered the same', async () => {
  const program = await openBranch(house)
  const events = [transaction({ branchId: program.branchId }), application({ branchId: program.branchId })]
  const key = { 'idempotency-key': 'order 3' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => publish({ events }, key)))
  for (const answer of answers) {
    assert.equal(answer.status, 202, answer.text)
    assert.deepEqual(idsOf(answer), idsOf(answers[0]!))
  }
  assert.equal((await readLog(program)).length, 2)
})

test('of parallel requests with one idempotency key and different bodies one wins and the others are 409', async () => {
  const program = await openBranch(house)
  const key = { 'idempotency-key': 'order 4' }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => publish({ events: [transaction({ branchId: program.branchId })] }, key)),
  )
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [202, ...Array(9).fill(409)])
  assert.equal((await readLog(program)).length, 1)
})

test('a request that failed does not use up its idempotency key', async () => {
  const program = await openBranch(house)
  const key = { 'idempotency-key': 'order 5' }
  assert.equal((await publish({ events: [transaction({ branchId: 999_999 })] }, key)).status, 400)
  assert.equal((await publish({ events: [transaction({ branchId: program.branchId })] }, key)).status, 202)
})

test('every service has idempotency keys of its own, of 1 to 200 characters', async () => {
  const program = await openBranch(house)
  const other = await makeService()
  const event = () => ({ events: [transaction({ branchId: program.branchId })] })
  const key = { 'idempotency-key': 'k'.repeat(200) }
  assert.equal((await publish(event(), key)).status, 202)
  assert.equal((await publish(event(), { ...key, ...other.headers })).status, 202)
  for (const bad of ['', 'k'.repeat(201)])
    assert.equal((await publish(event(), { 'idempotency-key': bad })).status, 400, `${bad.length} characters`)
})

test('405, 413 and 415 are told apart', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
    const answer = await callJson(house.internalUrl + path, method, undefined, ledger)
    assert.equal(answer.status, 405)
    assert.equal(answer.headers.allow, 'POST')
  }
  assert.equal((await publish(`{"events":["${'x'.repeat(2 * 1024 * 1024)}"]}`)).status, 413)
  assert.equal((await publish('{"events":[]}', { 'content-type': 'text/plain' })).status, 415)
})

test("a stranger's two megabytes of faults are refused without being judged", async () => {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json`
  // The rest of them never comes: who waited for it would not answer.
  const answer = await sendRaw(house.internalUrl, `${head}\r\ncontent-length: 2000000\r\n\r\n{"events":[0,0,`)
  assert.equal(answer.status, 401)
})

test("a service's two megabytes of faults are answered with a body of a sane size", async () => {
  const answer = await publish(`{"events":[${'0,'.repeat(1_000_000)}0]}`)
  assert.equal(answer.status, 400)
  assert.ok(answer.text.length < 1024 * 1024, `${answer.text.length} characters`)
})

const publishEvent = 'SELECT publish_event($1, $2, $3, $4, $5, $6) AS uid'

test("publish_event joins the brokerage's own transaction: it commits with it, and vanishes with it", async () => {
  const { db } = house.gateway.context
  const program = await openBranch(house)
  await program.register(`${receiver.url('/hooks')}/sql`)
  // Byte for byte: the space and the digits stay.
  const bodyOf = (action: string) =>
    `{"transactionId": 42, "clearingAccount": "Zürich", "type": "TRANSACTION", "action": "${action}", "branchId": ${program.branchId}, "email": "a@example.com", "amount": 500.10, "direction": "DEPOSIT"}`
  const body = bodyOf('COMPLETED')
  const values = (action: string) => ['live', program.branchId, 'TRANSACTION', action, '42', bodyOf(action)]
  const givenUp = db.transaction(async (sql) => {
    await ask(sql, publishEvent, values('APPROVED'))
    throw new Error('the transfer failed')
  })
  await assert.rejects(givenUp, /the transfer failed/)
  const [row] = await db.transaction((sql) => ask<{ uid: string }>(sql, publishEvent, values('COMPLETED')))
  const log = await readLog(program)
  assert.deepEqual(
    log.map(({ sequence, action, entity, simulated }) => [sequence, action, entity, simulated]),
    [[1, 'COMPLETED', 'transaction:42', false]],
  )
  assert.equal(log[0]!.body, body)
  assert.equal(log[0]!.eventId, `evt_${row!.uid.replaceAll('-', '')}`)
  await program.fire(transaction({ transactionId: 42 }))
  await receiver.count('/hooks/sql', 3)
  const received = receiver.received.filter((each) => each.headers['webhook-id'] === log[0]!.eventId)
  assert.deepEqual(
    received.map((each) => each.body),
    [body],
  )
})
