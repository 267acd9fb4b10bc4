/** Refused calls: what was refused, why, and how to mend it; never a secret, and never somebody else's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listRefusedCalls } from '../../../src/partners/refused-calls.ts'
import { callJson } from '../../support/branch.ts'
import { Browser, postForm } from '../../support/browser.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { openPartner } from '../../support/portal.ts'
import { countRows } from '../../support/web.ts'

const house = await openHouse()
const own = await openPartner(house)

async function refusals(of = own): Promise<string> {
  await house.gateway.context.refusedCalls.flush()
  return (await of.browser.get(`${of.home}/refusals`)).text
}

const token = (fields: Record<string, string>, headers: Record<string, string>) =>
  postForm(`${house.baseUrl}/v1/oauth/accesstoken`, fields, headers)

test('a wrong secret is shown with its rule, its remedy and what was sent, without the secret', async () => {
  const secret = 'cslkABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw'
  await token(
    { grant_type: 'authorization_code', code: 'cslcSECRETCODE' },
    basic({ id: own.client.id, secret }),
  )
  const text = await refusals()
  assert.match(text, /<code>invalid_client<\/code> The client credentials are missing or wrong/)
  assert.match(text, /make a new one under Clients/)
  assert.match(text, /grant_type=authorization_code/)
  assert.match(text, /code=•••• \(14 characters\)/)
  assert.match(text, /no: the caller only said so/)
  assert.doesNotMatch(text, /cslkABC|cslcSECRET/)
})

test('refusals of proven callers, and of authorization requests, belong to the client', async () => {
  const partner = await openPartner(house)
  await callJson(`${house.baseUrl}/v2/webhooks`, 'POST', { url: 'http://x' }, basic(partner.client))
  await callJson(`${house.baseUrl}/v2/webhooks/999999`, 'GET', undefined, basic(partner.client))
  await token({ grant_type: 'authorization_code', code: 'x' }, basic(partner.client))
  const query = new URLSearchParams({ client_id: partner.client.id, scope: 'everything', state: 'private' })
  await new Browser(house.baseUrl).get(`/v1/oauth/authorize?${query}`)
  const text = await refusals(partner)
  for (const words of ['POST /v2/webhooks<', 'GET /v2/webhooks/:id<', 'invalid_grant', 'invalid_scope']) {
    assert.ok(text.includes(words), words)
  }
  assert.match(text, /scope=everything/)
  assert.doesNotMatch(text, /private/)
  assert.doesNotMatch(await refusals(), /everything/, 'nobody else sees it')
})

test('a secret in an odd place is not written down', async () => {
  const { db } = house.gateway.context
  const { secret } = own.client
  await callJson(
    `${house.baseUrl}/v2/webhooks`,
    'POST',
    { url: 'https://x.example', [secret]: 1 },
    basic(own.client),
  )
  await token({ grant_type: secret, redirect_uri: `https://app.example.com/?t=${secret}` }, basic(own.client))
  await callJson(`${house.baseUrl}/v2/events?after=${secret}`, 'GET', undefined, basic(own.client))
  await new Browser(house.baseUrl).get(
    `/v1/oauth/authorize?client_id=${own.client.id}&state=s&scope=${secret}`,
  )
  await house.gateway.context.refusedCalls.flush()
  assert.equal(await countRows(db, `refused_calls c WHERE c::text LIKE '%${secret.slice(4, 40)}%'`), 0)
  assert.ok((await countRows(db, `refused_calls WHERE branch_id = ${own.partner.branchId}`)) >= 4)
})

test('what is answered well, and what cannot be attributed, leaves nothing', async () => {
  const { db } = house.gateway.context
  await house.gateway.context.refusedCalls.flush()
  const count = await countRows(db, 'refused_calls')
  await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic(own.client))
  await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic({ id: 'A'.repeat(24), secret: 'x' }))
  await callJson(`${house.baseUrl}/v2/webhooks`)
  await callJson(`${house.baseUrl}/nowhere`)
  await house.gateway.context.refusedCalls.flush()
  assert.equal(await countRows(db, 'refused_calls'), count)
})

test('a flood by strangers is a bounded ring, and does not push out what the partner did itself', async () => {
  const { db, refusedCalls } = house.gateway.context
  const partner = await openPartner(house)
  await callJson(`${house.baseUrl}/v2/webhooks/424242`, 'GET', undefined, basic(partner.client))
  await refusedCalls.flush()
  for (let round = 0; round < 7; round++) {
    for (let n = 0; n < 25; n++) await token({}, basic({ id: partner.client.id, secret: `wrong ${n}` }))
    await refusedCalls.flush()
  }
  const calls = await listRefusedCalls(db, partner.partner.branchId, 'live', 1_000)
  assert.equal(calls.filter(({ isClaimed }) => isClaimed).length, 100)
  assert.equal(calls.filter(({ isClaimed }) => !isClaimed).length, 1)
})

test('half an emoji in a refused call takes no other record with it, and is kept without its half', async () => {
  const { db, refusedCalls } = house.gateway.context
  const [attacked, other] = [await openPartner(house), await openPartner(house)]
  await callJson(`${house.baseUrl}/v2/webhooks/434343`, 'GET', undefined, basic(other.client))
  const scope = `${'b '.repeat(99)}c😀`
  const query = new URLSearchParams({ client_id: attacked.client.id, scope, state: 'x' })
  await new Browser(house.baseUrl).get(`/v1/oauth/authorize?${query}`)
  await refusedCalls.flush()
  const [kept, theirs] = await Promise.all(
    [attacked, other].map(({ partner }) => listRefusedCalls(db, partner.branchId, 'live', 10)),
  )
  assert.deepEqual([kept!.length, theirs!.length], [1, 1])
  assert.ok(kept![0]!.sent.isWellFormed() && !kept![0]!.sent.includes('\uFFFD'))
})

const claim = {
  environment: 'live',
  branchId: undefined,
  isClaimed: true,
  method: 'GET',
  status: 401,
} as const
const refused = { route: '/v1/x', code: 'x', description: 'x', sent: 'x', requestId: 'x' }

test('a record that cannot be written is lost alone', async () => {
  const { db, refusedCalls, clock } = house.gateway.context
  const partner = await openPartner(house)
  const call = { ...claim, ...refused, at: clock.now(), clientId: partner.client.id }
  for (let n = 0; n < 10; n++)
    refusedCalls.record({ ...call, branchId: n === 4 ? 999_999 : undefined, caller: `192.0.2.${n}` })
  await refusedCalls.flush()
  assert.equal((await listRefusedCalls(db, partner.partner.branchId, 'live', 1_000)).length, 9)
})

test('one caller crowds out no other, neither in the second of a flood nor in what is kept', async () => {
  const { db, refusedCalls, clock } = house.gateway.context
  const partner = await openPartner(house)
  const call = { ...claim, ...refused, at: clock.now(), clientId: partner.client.id }
  const flood = () => {
    for (let n = 0; n < 2_000; n++)
      refusedCalls.record({ ...call, clientId: String(n).padStart(24, 'A'), caller: `198.51.100.${n % 60}` })
    for (let n = 0; n < 200; n++) refusedCalls.record({ ...call, caller: `203.0.113.${n % 2}` })
  }
  flood()
  refusedCalls.record({ ...call, caller: '192.0.2.1', requestId: 'of the partner' })
  refusedCalls.record({
    ...call,
    branchId: partner.partner.branchId,
    isClaimed: false,
    caller: 'own',
    requestId: 'proven',
  })
  for (let round = 0; round < 8; round++) {
    await refusedCalls.flush()
    flood()
  }
  // What is still gathered would be written while the list is read, and the ring trimmed after that.
  await refusedCalls.flush()
  const calls = await listRefusedCalls(db, partner.partner.branchId, 'live', 1_000)
  const ids = calls.map(({ requestId }) => requestId)
  assert.ok(ids.includes('of the partner') && ids.includes('proven'))
  assert.equal(calls.filter(({ isClaimed }) => isClaimed).length, 100)
})

test('a member of another partner sees none of it, nor does the other environment', async () => {
  const sandbox = await house.signIn(own.user, 'sandbox')
  assert.match((await sandbox.get(`${own.home}/refusals`)).text, /No call has failed\./)
})
