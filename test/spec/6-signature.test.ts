import assert from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { day, hour, second } from '../../src/clock.ts'
import { addSecret, listSecrets, revokeSecret, rotateSecret } from '../../src/partners/client-secret.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { printSignatures, SignaturesOfEvents } from '../../src/webhooks/outbound/signature.ts'
import { ask } from '../support/ask.ts'
import {
  achProfile,
  application,
  type BranchProgram,
  callJson,
  openBranch,
  transaction,
} from '../support/branch.ts'
import { openHouse } from '../support/gateway.ts'
import { answer, openReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
// The package checks timestamps against the time of day.
house.clock.advance(Date.now() - house.clock.now().getTime())

let receiver: Receiver
let branch: BranchProgram
beforeEach(async () => {
  receiver = await openReceiver()
  branch = await openBranch(house)
})
afterEach(() => receiver.close())

/** Spec 6, rules 1 and 2, with Node alone. */
function isGenuine({ bytes, headers }: ReceivedRequest, secret: string): boolean {
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(bytes).digest('hex')
  const signature = headers['x-webhook-signature'] ?? ''
  return (
    signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  )
}

/** The Standard Webhooks scheme, with Node alone: true when one of the signatures is the secret's. */
function isStandard({ bytes, headers }: ReceivedRequest, secret: string): boolean {
  const base = Buffer.concat([
    Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`),
    bytes,
  ])
  const expected = `v1,${createHmac('sha256', secret).update(base).digest('base64')}`
  return headers['webhook-signature']!.split(' ').includes(expected)
}

function verifyByPackage({ bytes, headers }: ReceivedRequest, secret: string): unknown {
  return new StandardWebhook(Buffer.from(secret), { format: 'raw' }).verify(bytes, headers)
}

async function fireAndSee(payload = transaction()): Promise<ReceivedRequest> {
  const { eventId, deliveries } = await branch.fire(payload)
  assert.deepEqual(
    deliveries.map(({ state }) => state),
    ['delivered'],
  )
  return receiver.received.find(({ headers }) => headers['webhook-id'] === eventId)!
}

/** Which of these secrets sign `x-webhook-signature`, and which are in `webhook-signature`. */
function signersOf(
  received: ReceivedRequest,
  secrets: Record<string, string>,
): { hex: string[]; standard: string[] } {
  const names = Object.keys(secrets)
  return {
    hex: names.filter((name) => isGenuine(received, secrets[name]!)),
    standard: names.filter((name) => isStandard(received, secrets[name]!)),
  }
}

const golden = {
  secret: 'my_webhook_secret',
  body: '{"applicationId": 5,"clearingAccount": "1234","action": "SUBMITTED","email": "test@example.com"}',
  signature: '617b9e5b2fb70b0107cb1f59a7d13b096576de5702306c57c63315787e47a145',
}

test('the golden vector: these 96 bytes under this key have this signature', () => {
  assert.equal(Buffer.byteLength(golden.body), 96)
  const headers = printSignatures(
    { id: 'evt_1', body: golden.body, sentAt: new Date(1_700_000_000_999) },
    { current: golden.secret, all: [golden.secret] },
  )
  assert.equal(headers['x-webhook-signature'], golden.signature)
  assert.equal(headers['webhook-timestamp'], '1700000000')
})

test('signatures that are remembered for an event are those of its second and of the secrets of the moment', () => {
  const signatures = new SignaturesOfEvents()
  const event = {}
  const at = (sentAt: number, body = golden.body) => ({ id: 'evt_1', body, sentAt: new Date(sentAt) })
  const turns = [
    [at(1_700_000_000_000), ['one']],
    [at(1_700_000_000_999), ['one']],
    [at(1_700_000_001_000), ['one']],
    [at(1_700_000_001_000), ['two']],
    [at(1_700_000_001_000), ['two', 'one']],
    [at(1_700_000_001_000), ['one', 'two']],
    [at(1_700_000_001_000), ['one']],
  ] as const
  for (const [message, all] of turns) {
    const secrets = { current: all[0], all }
    assert.deepEqual(signatures.print(event, message, secrets), printSignatures(message, secrets))
  }
  const other = at(1_700_000_001_000, '{}')
  const secrets = { current: 'one', all: ['one'] }
  assert.deepEqual(signatures.print({}, other, secrets), printSignatures(other, secrets))
})

test('text beyond ASCII is signed as the UTF-8 bytes that are sent, with the UTF-8 bytes of the secret', async () => {
  const secret = 'Schlüßel für Haken 🔑'
  await branch.register(receiver.url('/hooks'), { secret })
  const received = await fireAndSee(transaction({ clearingAccount: 'Zürich ✓ 🏦' }))
  assert.equal(JSON.parse(received.body).clearingAccount, 'Zürich ✓ 🏦')
  assert.ok(isGenuine(received, secret))
  assert.ok(isStandard(received, secret))
  assert.equal(Number(received.headers['content-length']), received.bytes.length)
})

/** As a partner does who hands the secret over as it is. */
const verifyAsIs = ({ bytes, headers }: ReceivedRequest, secret: string) =>
  new StandardWebhook(secret).verify(bytes, headers)

for (const [what, secret] of [
  ['padded', `whsec_${Buffer.alloc(32, 'key').toString('base64')}`],
  ['of a length that needs no padding', `whsec_${Buffer.alloc(24, '\xff').toString('base64')}`],
  ['without the padding it needs', `whsec_${Buffer.alloc(32, 'key').toString('base64').replaceAll('=', '')}`],
] as const) {
  test(`a secret of whsec_ and base64, ${what}, works as text and as Standard Webhooks libraries read it`, async () => {
    await branch.register(receiver.url('/hooks'), { secret })
    const payload = transaction()
    const received = await fireAndSee(payload)
    assert.ok(isGenuine(received, secret), 'x-webhook-signature is keyed by the whole text')
    assert.ok(isStandard(received, secret))
    assert.deepEqual(verifyByPackage(received, secret), payload)
    assert.deepEqual(verifyAsIs(received, secret), payload)
    const forged = { ...received, bytes: Buffer.from(received.body.replace('DEPOSIT', 'WITHDRAWAL')) }
    assert.throws(() => verifyAsIs(forged, secret), /No matching signature/)
  })
}

test('a secret of whsec_ and something that is no base64 is one key, the whole text: no library reads it otherwise', async () => {
  for (const secret of [
    'whsec_no base64!',
    'whsec_url-safe_base64_',
    'whsec_Schlüssel',
    'whsec_====',
    'whsec_AA===',
  ]) {
    const id = await branch.register(receiver.url('/hooks'), { secret })
    const received = await fireAndSee()
    assert.ok(isGenuine(received, secret))
    assert.equal(received.headers['webhook-signature']!.split(' ').length, 1, secret)
    assert.ok(verifyByPackage(received, secret))
    assert.throws(() => verifyAsIs(received, secret), secret)
    await branch.call('DELETE', `/v2/webhooks/${id}`)
  }
})

test('a secret beyond ASCII verifies as its UTF-8 bytes, and the package refuses it as text', async () => {
  const secret = 'Schlüßel für Haken'
  await branch.register(receiver.url('/hooks'), { secret })
  const received = await fireAndSee()
  assert.ok(verifyByPackage(received, secret))
  assert.throws(() => verifyAsIs(received, secret), /incorrect characters/)
  const asText = new StandardWebhook(secret, { format: 'raw' })
  assert.throws(() => asText.verify(received.bytes, received.headers), /No matching signature/)
})

test('a secret without whsec_ is never taken for base64, although libraries that are handed it as text do so', async () => {
  const secret = Buffer.alloc(24, 'key').toString('base64')
  await branch.register(receiver.url('/hooks'), { secret })
  const received = await fireAndSee()
  assert.ok(verifyByPackage(received, secret))
  assert.throws(() => verifyAsIs(received, secret), /No matching signature/)
})

test('while secrets of whsec_ are being replaced both verify, either way', async () => {
  const [old, young] = ['old', 'new'].map((word) => `whsec_${Buffer.alloc(32, word).toString('base64')}`) as [
    string,
    string,
  ]
  const id = await branch.register(receiver.url('/hooks'), { secret: old })
  assert.equal((await rotate(id, young)).status, 204)
  const received = await fireAndSee()
  for (const secret of [old, young]) {
    assert.ok(isStandard(received, secret))
    assert.ok(verifyAsIs(received, secret))
  }
  assert.ok(isGenuine(received, young))
  assert.equal(received.headers['webhook-signature']!.split(' ').length, 4)
})

test('by default the client secret of the client that registered the webhook signs', async () => {
  const partner = await getPartner(house.gateway.context.db, String(branch.branchId))
  const second = await openBranch(house, { client: await house.makeClient({ partner }) })
  await second.register(receiver.url('/hooks'))
  const received = await fireAndSee()
  assert.match(received.headers['x-webhook-signature']!, /^[0-9a-f]{64}$/)
  assert.ok(isGenuine(received, second.client.secret))
  assert.ok(!isGenuine(received, branch.client.secret))
})

test('a webhook that a member registers with a personal token is signed with the secret of the oldest active client of the branch', async () => {
  const { db } = house.gateway.context
  const member = await house.makeUser()
  const partner = await getPartner(db, String(branch.branchId))
  await addMember(db, partner, member, house.act())
  house.clock.advance(second)
  const newer = await house.makeClient({ partner })
  const headers = { authorization: `Bearer ${await house.makeToken(member)}` }
  const answer = await callJson(
    `${house.baseUrl}/v2/webhooks`,
    'POST',
    { url: receiver.url('/hooks') },
    headers,
  )
  assert.equal(answer.status, 201)
  const received = await fireAndSee()
  assert.ok(isGenuine(received, branch.client.secret))
  assert.ok(!isGenuine(received, newer.secret))
})

test('a custom secret signs in place of the client secret, in both schemes', async () => {
  await branch.register(receiver.url('/hooks'), { secret: 'my_webhook_secret' })
  const signers = signersOf(await fireAndSee(), { custom: 'my_webhook_secret', client: branch.client.secret })
  assert.deepEqual(signers, { hex: ['custom'], standard: ['custom'] })
})

test('independent verifiers accept every delivery of every kind and refuse it with one byte changed', async () => {
  await branch.register(receiver.url('/hooks'))
  const { secret } = branch.client
  for (const payload of [transaction(), application(), achProfile()]) {
    const received = await fireAndSee(payload)
    assert.ok(isGenuine(received, secret))
    assert.ok(isStandard(received, secret))
    assert.deepEqual(verifyByPackage(received, secret), payload)
    for (const place of [0, received.bytes.length >> 1, received.bytes.length - 1]) {
      const bytes = Buffer.from(received.bytes)
      bytes[place] = bytes[place]! ^ 1
      const forged = { ...received, bytes }
      assert.ok(!isGenuine(forged, secret))
      assert.ok(!isStandard(forged, secret))
      assert.throws(() => verifyByPackage(forged, secret), /No matching signature/)
    }
    const moved = { ...received, headers: { ...received.headers, 'webhook-id': 'evt_other' } }
    assert.throws(() => verifyByPackage(moved, secret), /No matching signature/)
    assert.throws(() => verifyByPackage(received, 'another secret'), /No matching signature/)
  }
})

test('a retry has the same webhook-id and body, the next attempt number, and a fresh timestamp', async () => {
  const webhookId = await branch.register(receiver.url('/hooks'))
  receiver.otherwise = answer(500)
  const { eventId } = await branch.fire(transaction({ transactionId: 1 }))
  receiver.otherwise = answer(200)
  house.clock.advance(10 * second)
  const [first, again] = await receiver.wait(2)
  assert.equal(again!.headers['webhook-id'], eventId)
  assert.equal(first!.headers['webhook-id'], eventId)
  assert.ok(first!.bytes.equals(again!.bytes))
  assert.deepEqual(
    [first, again].map((each) => each!.headers['x-webhook-attempt']),
    ['1', '2'],
  )
  assert.equal(Number(again!.headers['webhook-timestamp']) - Number(first!.headers['webhook-timestamp']), 10)
  assert.deepEqual(verifyByPackage(again!, branch.client.secret), JSON.parse(first!.body))
  assert.ok(webhookId > 0)
})

const rotate = (id: number, secret: string, switchAt?: number) =>
  branch.call('POST', `/v2/webhooks/${id}/secret`, { secret, ...(switchAt !== undefined && { switchAt }) })

test('a secret that is rotated at once signs from then on; for a day both are in webhook-signature', async () => {
  const secrets = { old: 'the old secret', new: 'the new secret' }
  const id = await branch.register(receiver.url('/hooks'), { secret: secrets.old })
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old'] })
  const answer = await rotate(id, secrets.new)
  assert.equal(answer.status, 204)
  assert.equal(answer.text, '')
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
  house.clock.advance(day - second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
  house.clock.advance(second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['new'] })
})

test('a secret that is changed by update signs at once', async () => {
  const secrets = { old: 'the old secret', new: 'the new secret' }
  const id = await branch.register(receiver.url('/hooks'), { secret: secrets.old })
  await fireAndSee()
  assert.equal((await branch.call('PATCH', `/v2/webhooks/${id}`, { secret: secrets.new })).status, 200)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
})

test('a secret that is rotated at a named moment signs from that moment; both are in webhook-signature before and a day after', async () => {
  const secrets = { old: 'the old secret', new: 'the new secret' }
  const id = await branch.register(receiver.url('/hooks'), { secret: secrets.old })
  const switchAt = house.clock.now().getTime() + 7 * day
  assert.equal((await rotate(id, secrets.new, switchAt)).status, 204)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old', 'new'] })
  house.clock.advance(7 * day - second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old', 'new'] })
  house.clock.advance(second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
  house.clock.advance(day)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['new'] })
})

test('until the named moment of its first custom secret a webhook is signed with the client secret', async () => {
  const secrets = { client: branch.client.secret, custom: 'a custom secret' }
  const id = await branch.register(receiver.url('/hooks'))
  assert.equal((await rotate(id, secrets.custom, house.clock.now().getTime() + hour)).status, 204)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), {
    hex: ['client'],
    standard: ['client', 'custom'],
  })
  house.clock.advance(hour)
  assert.deepEqual(signersOf(await fireAndSee(), secrets).hex, ['custom'])
})

test('a webhook that moves from the client secret to its own has both in webhook-signature for a day', async () => {
  const secrets = { client: branch.client.secret, custom: 'a custom secret' }
  const id = await branch.register(receiver.url('/hooks'))
  assert.equal((await rotate(id, secrets.custom)).status, 204)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), {
    hex: ['custom'],
    standard: ['client', 'custom'],
  })
  house.clock.advance(day)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['custom'], standard: ['custom'] })
})

test('a later rotation replaces one that was planned', async () => {
  const secrets = { old: 'the old secret', planned: 'the planned secret', new: 'the new secret' }
  const id = await branch.register(receiver.url('/hooks'), { secret: secrets.old })
  const start = house.clock.now().getTime()
  assert.equal((await rotate(id, secrets.planned, start + 3 * day)).status, 204)
  assert.equal((await rotate(id, secrets.new)).status, 204)
  assert.deepEqual(signersOf(await fireAndSee(), secrets).hex, ['new'])
  house.clock.advance(3 * day)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['new'] })
})

test('the moment must lie between now and seven days on, and the secret must have 8 to 200 characters', async () => {
  const id = await branch.register(receiver.url('/hooks'), { secret: 'the old secret' })
  const now = house.clock.now().getTime()
  const moments = [
    now - 1,
    now + 7 * day + 1,
    0,
    -1,
    8.64e15 + 1,
    Number.MAX_SAFE_INTEGER,
    1e300,
    1.5,
    'soon',
    null,
  ]
  for (const switchAt of moments) {
    const answer = await branch.call('POST', `/v2/webhooks/${id}/secret`, {
      secret: 'the new secret',
      switchAt,
    })
    assert.equal(answer.status, 400, `${switchAt}: ${answer.status} ${answer.text}`)
    assert.match(answer.text, /switchAt/)
  }
  for (const secret of ['', 'seven77', 'x'.repeat(201), 5, null, ['the new secret']]) {
    const answer = await branch.call('POST', `/v2/webhooks/${id}/secret`, { secret })
    assert.equal(answer.status, 400, `${secret}: ${answer.text}`)
    assert.match(answer.text, /secret/)
  }
  for (const body of [{}, { secret: 'the new secret', extra: 1 }])
    assert.equal((await branch.call('POST', `/v2/webhooks/${id}/secret`, body)).status, 400)
  assert.ok(isGenuine(await fireAndSee(), 'the old secret'))
})

test('a rotated client secret signs at once; both are in webhook-signature while both live', async () => {
  const { db, vault } = house.gateway.context
  await branch.register(receiver.url('/hooks'))
  await fireAndSee()
  const rotated = await rotateSecret(db, vault, branch.client, { overlapMs: hour }, house.act())
  const secrets = { old: branch.client.secret, new: rotated.secret.text }
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
  house.clock.advance(hour - second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
  const [old] = await listSecrets(db, branch.client.id, house.clock.now())
  await revokeSecret(db, branch.client, old!.id, house.act())
  // The old credentials are gone, so the test hook is called with the new ones.
  branch = await openBranch(house, { client: { ...branch.client, secret: secrets.new } })
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['new'] })
})

test('a client secret that is rotated at a named moment signs from then on; until then the old one does, and both are in webhook-signature', async () => {
  const { db, vault } = house.gateway.context
  await branch.register(receiver.url('/hooks'))
  const act = house.act()
  const rotation = { overlapMs: 2 * hour, switchAt: new Date(act.at.getTime() + hour) }
  const rotated = await rotateSecret(db, vault, branch.client, rotation, act)
  const secrets = { old: branch.client.secret, new: rotated.secret.text }
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old', 'new'] })
  house.clock.advance(hour - second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old', 'new'] })
  house.clock.advance(second)
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['old', 'new'] })
})

test('a new client secret signs before its moment when the old one is revoked: there is no other', async () => {
  const { db, vault } = house.gateway.context
  await branch.register(receiver.url('/hooks'))
  const act = house.act()
  const rotation = { overlapMs: hour, switchAt: new Date(act.at.getTime() + hour) }
  const rotated = await rotateSecret(db, vault, branch.client, rotation, act)
  const secrets = { old: branch.client.secret, new: rotated.secret.text }
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['old'], standard: ['old', 'new'] })
  const [old] = await listSecrets(db, branch.client.id, act.at)
  await revokeSecret(db, branch.client, old!.id, act)
  branch = await openBranch(house, { client: { ...branch.client, secret: secrets.new } })
  assert.deepEqual(signersOf(await fireAndSee(), secrets), { hex: ['new'], standard: ['new'] })
})

test('the moment at which a client secret begins to sign lies between now and the end of the old one, seven days on at most', async () => {
  const { db, vault } = house.gateway.context
  const act = house.act()
  for (const [overlapMs, switchMs] of [
    [hour, -1],
    [hour, hour + 1],
    [0, 1],
    [30 * day, 7 * day + 1],
  ] as const) {
    const rotation = { overlapMs, switchAt: new Date(act.at.getTime() + switchMs) }
    await assert.rejects(
      rotateSecret(db, vault, branch.client, rotation, act),
      /switchAt must lie between now and/,
    )
  }
  assert.equal((await listSecrets(db, branch.client.id, act.at)).length, 1)
})

test('a webhook whose client was left without a secret signs again as soon as the client has one', async () => {
  const { db, vault } = house.gateway.context
  const act = house.act()
  await branch.register(receiver.url('/hooks'))
  const member = await house.makeUser()
  await addMember(db, await getPartner(db, String(branch.branchId)), member, act)
  const headers = { authorization: `Bearer ${await house.makeToken(member)}`, prefer: 'wait=20' }
  const fire = () => callJson(`${house.baseUrl}/v2/webhooks/transaction`, 'POST', transaction(), headers)
  for (const each of await listSecrets(db, branch.client.id, house.clock.now()))
    await revokeSecret(db, branch.client, each.id, act)
  assert.match((await fire()).text, /"why":"no-secret"/)
  const { secret } = await db.transaction((sql) => addSecret(sql, vault, branch.client, act))
  assert.match((await fire()).text, /"state":"delivered"/)
  assert.ok(isGenuine((await receiver.wait(1))[0]!, secret.text))
})

test('no endpoint ever returns a secret, and the database holds none in the clear', async () => {
  const secrets = ['a custom secret to look for', 'another secret to look for', branch.client.secret]
  const created = await branch.call('POST', '/v2/webhooks', {
    url: receiver.url('/hooks'),
    secret: secrets[0],
  })
  const { id } = created.json<{ id: number }>()
  const fired = await branch.fire()
  const calls: Parameters<BranchProgram['call']>[] = [
    ['PATCH', `/v2/webhooks/${id}`, { secret: secrets[1] }],
    ['PUT', `/v2/webhooks/${id}`, { url: receiver.url('/hooks'), secret: secrets[0] }],
    ['POST', `/v2/webhooks/${id}/secret`, { secret: secrets[1] }],
    ['POST', `/v2/webhooks/${id}/secret`, { secret: secrets[1], switchAt: 1 }],
    ['POST', '/v2/webhooks', { url: 'nonsense', secret: secrets[1] }],
    ['GET', '/v2/webhooks'],
    ['GET', `/v2/webhooks/${id}`],
    ['POST', `/v2/webhooks/${id}/pause`],
    ['POST', `/v2/webhooks/${id}/resume`],
    ['GET', `/v2/webhooks/${id}/deliveries`],
    ['GET', `/v2/deliveries/${fired.deliveries[0]!.id}`],
    ['POST', `/v2/deliveries/${fired.deliveries[0]!.id}/redeliver`],
    ['POST', `/v2/webhooks/${id}/replays`, { failed: true }],
    ['GET', '/v2/events'],
    ['GET', '/openapi.json'],
    ['DELETE', `/v2/webhooks/${id}`],
  ]
  const answers = [created]
  for (const call of calls) answers.push(await branch.call(...call))
  for (const { text, headers } of answers) {
    const all = text + JSON.stringify(headers)
    for (const secret of secrets) assert.ok(!all.includes(secret), all)
  }
  const { db } = house.gateway.context
  for (const table of [
    'webhooks',
    'webhook_secrets',
    'client_secrets',
    'audit_entries',
    'log',
    'outcomes',
    'answers',
  ]) {
    const rows = await ask(
      db,
      `SELECT t::text AS row, encode(convert_to(t::text, 'UTF8'), 'escape') FROM ${table} t`,
    )
    for (const secret of secrets) {
      assert.ok(!JSON.stringify(rows).includes(secret), `${table} holds a secret`)
      assert.ok(
        !JSON.stringify(rows).includes(Buffer.from(secret).toString('hex')),
        `${table} holds a secret in hex`,
      )
    }
  }
})
