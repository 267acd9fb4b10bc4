import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { setClientStatus } from '../../src/partners/client.ts'
import { addMember, getPartner, removeMember, setPartnerStatus } from '../../src/partners/partner.ts'
import { createService } from '../../src/services/service.ts'
import { ask } from '../support/ask.ts'
import {
  achProfile,
  application,
  callJson,
  type FiredEvent,
  faultsOf,
  openBranch,
  type ProblemAnswer,
  pathOf,
  transaction,
} from '../support/branch.ts'
import { type Answer, send } from '../support/browser.ts'
import { findBrokenPromises } from '../support/delivery-promises.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { answer as answerWith, gate, openReceiver } from '../support/receiver.ts'
import { anyText, codePoint } from '../support/text.ts'

const transactionPath = '/v2/webhooks/transaction'
const makers = { transaction, application, achProfile }

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const branch = await openBranch(house)

function assertProblem(answer: Answer, status: number, error = 'invalid_request'): ProblemAnswer {
  assert.equal(answer.status, status, answer.text)
  const body = answer.json<ProblemAnswer>()
  assert.equal(body.error, error)
  assert.match(body.error_description, /\S/)
  assert.equal(body.request_id, answer.headers['x-request-id'])
  return body
}

test('a test webhook is accepted with 202, its event id and a delivery for each URL', async () => {
  const program = await openBranch(house)
  const id = await program.register(receiver.url('/hooks'))
  const answer = await program.call('POST', transactionPath, transaction())
  assert.equal(answer.status, 202)
  const { eventId, deliveries } = answer.json<FiredEvent>()
  assert.match(eventId, /^evt_[0-9a-f]{32}$/)
  assert.equal(deliveries.length, 1)
  const { id: deliveryId, webhookId, url, state } = deliveries[0]!
  assert.equal(deliveryId, `${id}-1`)
  assert.deepEqual([webhookId, url], [id, receiver.url('/hooks')])
  assert.ok(['waiting', 'delivered'].includes(state))
})

test('a branch without webhooks gets 202 and no deliveries', async () => {
  const program = await openBranch(house)
  const { eventId, deliveries } = await program.fire()
  assert.match(eventId, /^evt_/)
  assert.deepEqual(deliveries, [])
})

test('with Prefer: wait the answer has the outcome at each URL', async () => {
  const [good, bad] = [await openReceiver(), await openReceiver()]
  bad.otherwise = answerWith(503)
  const program = await openBranch(house)
  const [goodId, badId] = [
    await program.register(good.url('/hooks')),
    await program.register(bad.url('/hooks')),
  ]
  const answer = await program.call('POST', transactionPath, transaction(), {
    prefer: 'respond-async, wait=10',
  })
  assert.equal(answer.status, 202)
  assert.equal(answer.headers['preference-applied'], 'wait=10')
  const outcomes = answer
    .json<FiredEvent>()
    .deliveries.map(({ webhookId, state, attempt }) => [webhookId, state, attempt?.outcome, attempt?.status])
  assert.deepEqual(outcomes, [
    [goodId, 'delivered', 'accepted', 200],
    [badId, 'waiting', 'refused', 503],
  ])
  await Promise.all([good.close(), bad.close()])
})

test('with Prefer: wait a URL that nobody answers at is unreachable, and that is said', async () => {
  const gone = await openReceiver()
  const url = gone.url('/hooks')
  await gone.close()
  const program = await openBranch(house)
  await program.register(url)
  const { deliveries } = await program.fire()
  assert.equal(deliveries[0]!.state, 'waiting')
  assert.equal(deliveries[0]!.attempt?.outcome, 'unreachable')
  assert.equal(deliveries[0]!.attempt?.why, 'connection')
})

test('a branch waits for twenty outcomes at once; beyond that the preference is ignored, and nobody else notices', async () => {
  const program = await openBranch(house)
  const stuck = await openReceiver()
  const held = gate()
  stuck.otherwise = held.behaviour
  await program.register(stuck.url('/hooks'))
  const fire = () => program.call('POST', transactionPath, transaction(), { prefer: 'wait=30' })
  const waiting = Array.from({ length: 20 }, fire)
  await eventually('twenty that wait', async () => {
    const leave = await house.gateway.context.waits.take(`live:${program.branchId}`)
    leave?.()
    return leave === undefined
  })
  const beyond = await fire()
  assert.deepEqual([beyond.status, beyond.headers['preference-applied']], [202, undefined])
  held.open()
  for (const answer of await Promise.all(waiting))
    assert.equal(answer.headers['preference-applied'], 'wait=30')
  await stuck.close()
})

test('every registered URL of the branch gets it, whatever its kinds', async () => {
  const program = await openBranch(house)
  const ids = [
    await program.register(`${receiver.url('/hooks')}/all`),
    await program.register(`${receiver.url('/hooks')}/one`, { kinds: ['ACH_PROFILE'] }),
    await program.register(`${receiver.url('/hooks')}/two`, { kinds: ['AUTHORIZATION', 'APPLICATION'] }),
  ]
  for (const payload of [transaction(), application(), achProfile()]) {
    const { eventId, deliveries } = await program.fire(payload)
    assert.deepEqual(
      deliveries.map(({ webhookId, state }) => [webhookId, state]),
      ids.map((id) => [id, 'delivered']),
    )
    const paths = receiver.received
      .filter(({ headers }) => headers['webhook-id'] === eventId)
      .map(({ path }) => path)
    assert.deepEqual(paths.sort(), ['/hooks/all', '/hooks/one', '/hooks/two'])
  }
})

test('no other branch gets it, nor the same branch in the other environment', async () => {
  const stranger = await openBranch(house)
  const partner = await getPartner(house.gateway.context.db, String(branch.branchId))
  const sandboxClient = await house.makeClient({ partner, environment: 'sandbox' })
  const sandbox = await openBranch(house, { environment: 'sandbox', client: sandboxClient })
  const own = await branch.register(`${receiver.url('/hooks')}/own`)
  await stranger.register(`${receiver.url('/hooks')}/stranger`)
  const sandboxId = await sandbox.register(`${receiver.url('/hooks')}/sandbox`)
  const live = await branch.fire()
  assert.deepEqual(
    live.deliveries.map(({ webhookId }) => webhookId),
    [own],
  )
  const tried = await sandbox.fire()
  assert.deepEqual(
    tried.deliveries.map(({ webhookId }) => webhookId),
    [sandboxId],
  )
  const seen = receiver.received.filter(({ headers }) => headers['webhook-id'] === live.eventId)
  assert.deepEqual(
    seen.map(({ path }) => path),
    ['/hooks/own'],
  )
})

test('a paused webhook gets its delivery when it is resumed', async () => {
  const program = await openBranch(house)
  const id = await program.register(`${receiver.url('/hooks')}/paused`)
  assert.equal((await program.call('POST', `/v2/webhooks/${id}/pause`)).status, 200)
  const { eventId, deliveries } = (
    await program.call('POST', transactionPath, transaction({ transactionId: 9 }))
  ).json<FiredEvent>()
  assert.equal(deliveries[0]!.state, 'waiting')
  assert.equal((await program.call('POST', `/v2/webhooks/${id}/resume`)).status, 200)
  // The same entity, so it comes after.
  const fence = await program.fire(transaction({ transactionId: 9 }))
  const seen = receiver.received.filter(({ path }) => path === '/hooks/paused')
  assert.deepEqual(
    seen.map(({ headers }) => headers['webhook-id']),
    [eventId, fence.eventId],
  )
})

for (const [name, make] of Object.entries(makers)) {
  test(`the receiver of a test ${name} gets exactly the fields that were sent, as JSON`, async () => {
    const program = await openBranch(house)
    await program.register(`${receiver.url('/hooks')}/exact`)
    const payload = make({ branchId: 424242 })
    const { eventId } = await program.fire(payload)
    const received = receiver.received.find(({ headers }) => headers['webhook-id'] === eventId)!
    assert.equal(received.headers['content-type'], 'application/json')
    assert.equal(received.headers['x-webhook-attempt'], '1')
    assert.match(received.headers['user-agent'] ?? '', /^Countersign/)
    assert.deepEqual(JSON.parse(received.body), payload)
  })
}

const actions = {
  transaction: ['SUBMITTED', 'APPROVED', 'COMPLETED'],
  application: [
    'SUBMITTED',
    'PENDING',
    'APPROVED',
    'REJECTED',
    'VERIFIED',
    'COMPLETED',
    'CANCELED',
    'AUTHORIZED',
  ],
  achProfile: ['SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'CANCELED', 'MICRODEPOSITS_POSTED'],
}

test('every documented action and direction is accepted', async () => {
  const program = await openBranch(house)
  for (const [name, words] of Object.entries(actions)) {
    for (const action of words) {
      const payload = makers[name as keyof typeof makers]({ action })
      assert.equal((await program.call('POST', pathOf(payload), payload)).status, 202, `${name} ${action}`)
    }
  }
  for (const direction of ['DEPOSIT', 'WITHDRAWAL'])
    assert.equal((await program.call('POST', transactionPath, transaction({ direction }))).status, 202)
})

test('the digits of an amount reach the receiver as they were sent', async () => {
  const program = await openBranch(house)
  await program.register(`${receiver.url('/hooks')}/amounts`)
  const amounts = [
    '500.10',
    '0',
    '0.00',
    '12345678901234567890',
    '0.12345678901234567890',
    '1e3',
    '1E+3',
    '25e-1',
  ]
  for (const amount of amounts) {
    const text = JSON.stringify(transaction({ amount: 0 })).replace('"amount":0', `"amount": ${amount} `)
    const answer = await program.call('POST', transactionPath, text, { prefer: 'wait=20' })
    assert.equal(answer.status, 202, answer.text)
    const { eventId } = answer.json<FiredEvent>()
    const received = receiver.received.find(({ headers }) => headers['webhook-id'] === eventId)!
    assert.ok(received.body.includes(`"amount":${amount},`), received.body)
  }
})

const withAmount = (amount: string, change: Record<string, unknown> = {}) =>
  JSON.stringify(transaction({ ...change, amount: 0 })).replace('"amount":0', `"amount":${amount}`)

test('an amount beyond what a number can be, or below zero by however little, is refused in words about it', async () => {
  const program = await openBranch(house)
  const tooLarge = 'is too large: at most 1.7976931348623157e+308'
  const tooSmall = 'is too small: at least -1.7976931348623157e+308'
  for (const [amount, problem] of [
    ['1e400', tooLarge],
    ['9'.repeat(400), tooLarge],
    ['-1e400', tooSmall],
    ['-1e-400', 'must be >= 0'],
    [`-0.${'0'.repeat(400)}1`, 'must be >= 0'],
  ] as const) {
    const answer = await program.call('POST', transactionPath, withAmount(amount))
    assertProblem(answer, 400)
    assert.deepEqual(faultsOf(answer), { amount: problem }, amount)
  }
  const { events } = (await program.call('GET', '/v2/events')).json<{ events: unknown[] }>()
  assert.deepEqual(events, [])
})

test('an amount of nothing, or of next to nothing, keeps its digits', async () => {
  const program = await openBranch(house)
  const amounts = ['0e400', '-0', '-0.00', '1e-400', '1.7976931348623157e308']
  for (const amount of amounts)
    assert.equal((await program.call('POST', transactionPath, withAmount(amount))).status, 202, amount)
  const { events } = (await program.call('GET', '/v2/events')).json<{ events: { body: string }[] }>()
  assert.deepEqual(
    events.map(({ body }) => /"amount":([^,]*)/.exec(body)![1]),
    amounts,
  )
})

test('of an amount that is written twice the last one counts, for the check and for the receiver', async () => {
  const program = await openBranch(house)
  await program.register(`${receiver.url('/hooks')}/twice`)
  const text = JSON.stringify(transaction({ amount: 0 })).replace('"amount":0', '"amount":7.70,"amount":8.80')
  const { eventId } = (
    await program.call('POST', transactionPath, text, { prefer: 'wait=20' })
  ).json<FiredEvent>()
  const received = receiver.received.find(({ headers }) => headers['webhook-id'] === eventId)!
  assert.match(received.body, /"amount":8\.80,/)
})

for (const [name, make] of Object.entries(makers)) {
  test(`every field of a test ${name} is required`, async () => {
    for (const field of Object.keys(make())) {
      const { [field]: _left, ...rest } = make()
      const answer = await branch.call('POST', pathOf(make()), rest)
      assertProblem(answer, 400)
      assert.deepEqual(faultsOf(answer), { [field]: 'is missing' })
    }
  })
}

const notIds = ['0', '-1', '1.5', '9007199254740992', '1e300', '"5"', 'null', 'true', '[]', '{}']
const notTexts = ['""', '5', 'null', 'true', '[]', '{}', `"${'x'.repeat(101)}"`]
const notEmails = [
  '""',
  '"a"',
  '"a@b"',
  '"@example.com"',
  '"a b@example.com"',
  '"a@@example.com"',
  'null',
  '5',
  '["a@example.com"]',
]
const badValues: [maker: keyof typeof makers, field: string, values: string[]][] = [
  ['transaction', 'transactionId', notIds],
  ['transaction', 'branchId', notIds],
  ['transaction', 'clearingAccount', notTexts],
  [
    'transaction',
    'type',
    ['"transaction"', '"APPLICATION"', '"ACH_PROFILE"', '"AUTHORIZATION"', '""', 'null', '1'],
  ],
  ['transaction', 'action', ['"submitted"', '"PENDING"', '"SUBMITTED "', '""', 'null', '0']],
  ['transaction', 'direction', ['"deposit"', '"TRANSFER"', '""', 'null', '1']],
  ['transaction', 'email', notEmails],
  ['transaction', 'amount', ['-0.01', '-1', '"500.10"', 'null', 'true', '[]', '{}', '[5]']],
  ['application', 'applicationId', notIds],
  ['application', 'branchId', notIds],
  ['application', 'clearingAccount', ['5', 'true', '[]', '{}', `"${'x'.repeat(101)}"`]],
  ['application', 'type', ['"TRANSACTION"', '"application"', 'null']],
  ['application', 'action', ['"MICRODEPOSITS_POSTED"', '"Approved"', 'null']],
  ['application', 'email', notEmails],
  ['achProfile', 'profileId', notIds],
  ['achProfile', 'branchId', notIds],
  ['achProfile', 'clearingAccount', notTexts],
  ['achProfile', 'type', ['"ACHPROFILE"', '"TRANSACTION"', 'null']],
  ['achProfile', 'action', ['"COMPLETED"', '"AUTHORIZED"', 'null']],
]

for (const [name, field, values] of badValues) {
  test(`a bad ${field} of a test ${name} is refused with a sentence about it alone`, async () => {
    for (const value of values) {
      const payload = makers[name]()
      const text = JSON.stringify({ ...payload, [field]: '?' }).replace(
        `"${field}":"?"`,
        `"${field}":${value}`,
      )
      const answer = await branch.call('POST', pathOf(payload), text)
      const body = assertProblem(answer, 400)
      const faults = faultsOf(answer)
      assert.deepEqual(Object.keys(faults), [field], `${value}: ${answer.text}`)
      assert.match(faults[field]!, /^(must|is) /, `${value}: ${answer.text}`)
      assert.ok(body.error_description.includes(field))
    }
  })
}

test('all faults are reported at once', async () => {
  const answer = await branch.call('POST', transactionPath, {
    clearingAccount: 5,
    type: 'APPLICATION',
    action: 'DONE',
    branchId: 0,
    email: 'nobody',
    amount: -1,
    direction: 'UP',
    colour: 'red',
  })
  assertProblem(answer, 400)
  assert.deepEqual(Object.keys(faultsOf(answer)).sort(), [
    'action',
    'amount',
    'branchId',
    'clearingAccount',
    'colour',
    'direction',
    'email',
    'transactionId',
    'type',
  ])
})

test('unknown fields are refused, on every kind', async () => {
  for (const make of Object.values(makers)) {
    const answer = await branch.call('POST', pathOf(make()), make({ note: 'hello' }))
    assertProblem(answer, 400)
    assert.deepEqual(faultsOf(answer), { note: 'is not a field of this request' })
  }
  const ach = await branch.call('POST', '/v2/webhooks/achprofile', achProfile({ email: 'test@example.com' }))
  assert.deepEqual(faultsOf(ach), { email: 'is not a field of this request' })
  const text = JSON.stringify(transaction()).replace('{', '{"__proto__":{"admin":true},')
  assertProblem(await branch.call('POST', transactionPath, text), 400)
})

test('what is not a JSON object is refused', async () => {
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '5',
    '"x"',
    'true',
    `[${JSON.stringify(transaction())}]`,
    '{"a":1}}',
    '\0',
  ]) {
    assertProblem(await branch.call('POST', transactionPath, text), 400)
  }
  assertProblem(await branch.call('POST', transactionPath), 400)
  assertProblem(await branch.call('POST', transactionPath, '['.repeat(60_000)), 400)
  const deep = JSON.stringify(transaction()).replace('"1234"', `${'['.repeat(20_000)}${']'.repeat(20_000)}`)
  assertProblem(await branch.call('POST', transactionPath, deep), 400)
})

test('a byte order mark before the JSON is no reason to fail inside', async () => {
  const answer = await branch.call('POST', transactionPath, `\uFEFF${JSON.stringify(transaction())}`)
  assert.ok([202, 400].includes(answer.status), answer.text)
})

test('an e-mail address made to keep the checker busy is refused at once', async () => {
  const started = process.threadCpuUsage()
  const answer = await branch.call(
    'POST',
    transactionPath,
    transaction({ email: `a@${'.'.repeat(60_000)}@` }),
  )
  assertProblem(answer, 400)
  // Its own time, whatever else the machine does.
  const { user, system } = process.threadCpuUsage(started)
  assert.ok(user + system < 1_000_000, `took ${Math.round((user + system) / 1000)} ms`)
})

test('the caller is known by client credentials, or by a personal token of a member, as Bearer or as Basic user name', async () => {
  const { db } = house.gateway.context
  const partner = await getPartner(db, String(branch.branchId))
  const member = await house.makeUser()
  await addMember(db, partner, member, house.act())
  const token = await house.makeToken(member)
  const ways = [
    basic(branch.client),
    { authorization: `Bearer ${token}` },
    { authorization: `bearer ${token}` },
    basic({ id: token, secret: '' }),
  ]
  const id = await branch.register(`${receiver.url('/hooks')}/ways`)
  for (const headers of ways) {
    const answer = await callJson(`${house.baseUrl}${transactionPath}`, 'POST', transaction(), headers)
    assert.equal(answer.status, 202, JSON.stringify(headers))
    assert.ok(answer.json<FiredEvent>().deliveries.some(({ webhookId }) => webhookId === id))
  }
})

test('credentials that are missing, wrong or of the other environment are 401 with a challenge, before the body is judged', async () => {
  const { db } = house.gateway.context
  const member = await house.makeUser()
  await addMember(db, await getPartner(db, String(branch.branchId)), member, house.act())
  const sandboxToken = await house.makeToken(member, 'sandbox')
  const sandboxClient = await house.makeClient({ environment: 'sandbox' })
  const { service, secret } = await createService(db, 'ledger', 'live', house.act())
  const code = await house.makeCode(branch.client)
  const access = (await house.exchange(branch.client, code)).json<{ access_token: string }>().access_token
  const wrong: Record<string, string>[] = [
    {},
    { authorization: '' },
    { authorization: 'Basic' },
    { authorization: 'Basic !!!' },
    { authorization: `Basic ${Buffer.from('no colon').toString('base64')}` },
    { authorization: 'Digest username="x"' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer nonsense' },
    { authorization: `Bearer ${branch.client.secret}` },
    { authorization: `Bearer ${access}` },
    { authorization: `Bearer ${sandboxToken}` },
    basic({ id: sandboxToken, secret: '' }),
    basic({ id: branch.client.id, secret: '' }),
    basic({ id: branch.client.id, secret: 'wrong' }),
    basic({ id: branch.client.id, secret: branch.client.secret.slice(0, -1) }),
    basic({ id: 'nobody', secret: branch.client.secret }),
    basic({ id: '', secret: '' }),
    basic(sandboxClient),
    basic({ id: service.id, secret: secret.text }),
  ]
  for (const headers of wrong) {
    for (const body of [transaction(), { rubbish: true }]) {
      const answer = await callJson(`${house.baseUrl}${transactionPath}`, 'POST', body, headers)
      assert.equal(answer.status, 401, `${JSON.stringify(headers)}: ${answer.text}`)
      assert.match(String(answer.headers['www-authenticate']), /^(Basic|Bearer) /)
      const { error, fields } = answer.json<ProblemAnswer>()
      assert.ok(['unauthorized', 'invalid_token'].includes(error))
      assert.equal(fields, undefined)
    }
  }
  const answer = await callJson(`${house.baseUrl}${transactionPath}`, 'POST', transaction(), {
    authorization: `Bearer ${sandboxToken}`,
  })
  assert.match(answer.json<ProblemAnswer>().error_description, /sandbox/)
})

test('the token of a user who is not, or no longer, a member is 403', async () => {
  const { db } = house.gateway.context
  const user = await house.makeUser()
  const headers = { authorization: `Bearer ${await house.makeToken(user)}` }
  const fire = () => callJson(house.baseUrl + transactionPath, 'POST', transaction(), headers)
  assertProblem(await fire(), 403, 'forbidden')
  const partner = await getPartner(db, String(branch.branchId))
  await addMember(db, partner, user, house.act())
  assert.equal((await fire()).status, 202)
  await addMember(db, partner, await house.makeUser(), house.act())
  await removeMember(db, partner, user, house.act())
  assertProblem(await fire(), 403, 'forbidden')
})

test('a suspended client and a suspended partner are 403', async () => {
  const { db } = house.gateway.context
  const [first, second] = [await openBranch(house), await openBranch(house)]
  const act = house.act()
  await setClientStatus(db, first.client, 'suspended', act)
  const partner = await getPartner(db, String(second.branchId))
  const member = await house.makeUser()
  await addMember(db, partner, member, act)
  const bearer = { authorization: `Bearer ${await house.makeToken(member)}` }
  await setPartnerStatus(db, partner, 'suspended', 'test', act)
  assertProblem(await first.call('POST', transactionPath, transaction()), 403, 'forbidden')
  assertProblem(await second.call('POST', transactionPath, transaction()), 403, 'forbidden')
  assertProblem(
    await callJson(house.baseUrl + transactionPath, 'POST', transaction(), bearer),
    403,
    'forbidden',
  )
})

test('a path that does not exist is 404', async () => {
  for (const path of [
    '/v2/webhooks/transaction/',
    '/v2/webhooks/transactions/1',
    '/v2/webhook',
    '/v2/Webhooks/transaction',
  ])
    assertProblem(await branch.call('POST', path, transaction()), 404, 'not_found')
})

test('another method is 405 with Allow', async () => {
  for (const path of Object.values(makers).map((make) => pathOf(make()))) {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await branch.call(method, path)
      assertProblem(answer, 405)
      assert.equal(answer.headers.allow, 'POST')
    }
  }
})

test('a body over 64 KiB is 413', async () => {
  const answer = await branch.call(
    'POST',
    transactionPath,
    transaction({ clearingAccount: 'x'.repeat(65_536) }),
  )
  assertProblem(answer, 413)
})

test('only JSON is taken: anything else is 415', async () => {
  const body = JSON.stringify(transaction())
  const types = [
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
  ]
  for (const type of types) {
    const answer = await branch.call('POST', transactionPath, body, { 'content-type': type })
    assertProblem(answer, 415)
  }
  const url = encodeURIComponent('https://app.example.com/hooks')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const program = await openBranch(house)
  assertProblem(await program.call('POST', '/v2/webhooks', `url=${url}`, form), 415)
  const untyped = await send(house.baseUrl + transactionPath, {
    method: 'POST',
    headers: branch.credentials,
    body,
  })
  assertProblem(untyped, 415)
  const answer = await branch.call('POST', transactionPath, body, {
    'content-type': 'application/json; charset=utf-8',
  })
  assert.equal(answer.status, 202)
})

const anything = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) },
  fc.constantFrom<unknown>(
    0,
    -0,
    1e21,
    2 ** 53,
    2 ** 31,
    3_000_000_000,
    '',
    '\0',
    '\uD800',
    [],
    {},
    null,
    'x'.repeat(5_000),
  ),
)

/** A good body in which some fields are replaced, dropped or added, or no JSON at all. */
function bodyLike(good: () => Record<string, unknown>): fc.Arbitrary<string> {
  const names = [...Object.keys(good()), 'secret', 'kinds', 'events', 'constructor', 'toString']
  const mutated = fc
    .tuple(
      fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 2 }),
      fc.subarray(Object.keys(good()), { maxLength: 1 }),
    )
    .map(([change, dropped]) => {
      const body: Record<string, unknown> = { ...good(), ...change }
      for (const name of dropped) delete body[name]
      return JSON.stringify(body)
    })
  return fc.oneof({ weight: 5, arbitrary: mutated }, fc.json({ stringUnit: codePoint }), anyText())
}

test('a thousand random bodies never make an endpoint fail inside', { timeout: 120_000 }, async (t) => {
  // No worker: nothing that is registered here is ever dialled.
  const calm = await openTestGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true', ROLES: 'api' })
  t.after(() => calm.close())
  const program = await openBranch(calm)
  const { service, secret } = await createService(calm.gateway.context.db, 'ledger', 'live', calm.act())
  const asService = basic({ id: service.id, secret: secret.text })
  const event = () => transaction({ branchId: program.branchId })
  const endpoints: [path: string, bodies: fc.Arbitrary<string>, headers: Record<string, string>][] = [
    [transactionPath, bodyLike(transaction), program.credentials],
    ['/v2/webhooks/application', bodyLike(application), program.credentials],
    ['/v2/webhooks', bodyLike(() => ({ url: 'https://app.example.com/hooks' })), program.credentials],
    ['/internal/v1/events', bodyLike(() => ({ events: [event()] })), asService],
    ['/internal/v1/events', bodyLike(event).map((text) => `{"events":[${text}]}`), asService],
  ]
  const seen = new Set<number>()
  for (const [path, bodies, headers] of endpoints) {
    const sent = fc.asyncProperty(fc.array(bodies, { minLength: 20, maxLength: 20 }), async (texts) => {
      await Promise.all(
        texts.map(async (text) => {
          const answer = await callJson(calm.at(path), 'POST', text, headers)
          seen.add(answer.status)
          assert.ok(answer.status < 500, `${path} ${text}: ${answer.status} ${answer.text}`)
          assert.ok(
            [201, 202, 400, 409].includes(answer.status),
            `${path} ${text}: ${answer.status} ${answer.text}`,
          )
          if (answer.status === 400) assertProblem(answer, 400)
        }),
      )
    })
    await fc.assert(sent, { numRuns: 10 })
  }
  assert.ok(seen.has(202) && seen.has(400))
})

test('with webhookId it goes to that webhook alone, and has its place in the log of the branch', async () => {
  const program = await openBranch(house)
  await program.register(receiver.url('/aimed-not'))
  const id = await program.register(receiver.url('/aimed'), { kinds: ['AUTHORIZATION'] })
  house.clock.advance(2 * 60_000)
  const path = `${transactionPath}?webhookId=${id}`
  const answer = await program.call('POST', path, transaction(), { prefer: 'wait=20' })
  assert.equal(answer.status, 202, answer.text)
  const { eventId, deliveries } = answer.json<FiredEvent>()
  assert.deepEqual(
    deliveries.map(({ webhookId, state }) => [webhookId, state]),
    [[id, 'delivered']],
  )
  assert.equal(receiver.at('/aimed')[0]!.headers['x-webhook-test'], 'true')
  assert.equal(receiver.at('/aimed-not').length, 0)
  const log = await program.call('GET', '/v2/events?after=0')
  assert.deepEqual(
    log
      .json<{ events: { sequence: number; eventId: string }[] }>()
      .events.map((event) => [event.sequence, event.eventId]),
    [[1, eventId]],
  )
  // Leases count by the clock, which was moved: until the worker has said that it is there, it is missed.
  const { db } = house.gateway.context
  const seen = 'SELECT FROM workers WHERE seen_at >= $1'
  await eventually('the worker is there', async () => (await ask(db, seen, [house.clock.now()])).length > 0)
  assert.deepEqual(await findBrokenPromises(db, house.clock.now()), [])
  const again = await program.call('POST', `/v2/deliveries/${deliveries[0]!.id}/redeliver`, {})
  assert.equal(again.status, 202, 'it can be sent again as any other')
  await receiver.count('/aimed', 2)
})

test('a webhookId of another branch, of the other environment, or of one that is deleted is a 404, and nothing is sent', async () => {
  const program = await openBranch(house)
  const other = await openBranch(house)
  const own = await program.register(receiver.url('/own-aim'))
  const theirs = await other.register(receiver.url('/their-aim'))
  const deleted = await program.register(receiver.url('/deleted-aim'))
  assert.equal((await program.call('DELETE', `/v2/webhooks/${deleted}`)).status, 204)
  for (const id of [theirs, deleted, Number.MAX_SAFE_INTEGER])
    assertProblem(
      await program.call('POST', `${transactionPath}?webhookId=${id}`, transaction()),
      404,
      'not_found',
    )
  for (const id of ['0', 'x', '', `${own}.5`])
    assertProblem(await program.call('POST', `${transactionPath}?webhookId=${id}`, transaction()), 400)
  assert.equal(
    (await program.call('GET', '/v2/events?after=0')).json<{ events: unknown[] }>().events.length,
    0,
  )
  assert.equal(receiver.at('/their-aim').length, 0)
})
