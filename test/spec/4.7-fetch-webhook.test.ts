import assert from 'node:assert/strict'
import { test } from 'node:test'
import { second } from '../../src/clock.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { createApiToken } from '../../src/users/api-token.ts'
import { callJson, openBranch, type ProblemAnswer } from '../support/branch.ts'
import { basic, openHouse } from '../support/gateway.ts'

const house = await openHouse({ ROLES: 'api' })
const branch = await openBranch(house)
const stranger = await openBranch(house)

test('a webhook has exactly id, createdAt, updatedAt and url, the times in epoch milliseconds', async () => {
  const createdAt = house.clock.now().getTime()
  const url = 'https://app.example.com/hooks?a=1&b=%20'
  const id = await branch.register(url, { secret: 'a secret of its own', kinds: ['TRANSACTION'] })
  const answer = await branch.call('GET', `/v2/webhooks/${id}`)
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.deepEqual(answer.json(), { id, createdAt, updatedAt: createdAt, url })
  house.clock.advance(second)
  await branch.call('PATCH', `/v2/webhooks/${id}`, { url: 'https://app.example.com/other' })
  const updated = (await branch.call('GET', `/v2/webhooks/${id}`)).json()
  assert.deepEqual(updated, {
    id,
    createdAt,
    updatedAt: createdAt + second,
    url: 'https://app.example.com/other',
  })
})

test("a member's personal token fetches it too, as Bearer and as Basic user name", async () => {
  const id = await branch.register('https://app.example.com/hooks')
  const { db } = house.gateway.context
  const member = await house.makeUser()
  await addMember(db, await getPartner(db, String(branch.branchId)), member, house.act())
  const token = await house.makeToken(member)
  for (const headers of [{ authorization: `Bearer ${token}` }, basic({ id: token, secret: '' })]) {
    const answer = await callJson(`${house.baseUrl}/v2/webhooks/${id}`, 'GET', undefined, headers)
    assert.equal(answer.status, 200)
    assert.equal(answer.json<{ id: number }>().id, id)
  }
})

test("another branch's webhook, the other environment's, a deleted and an unknown one are the same 404", async () => {
  const foreign = await stranger.register('https://app.example.com/foreign')
  const deleted = await branch.register('https://app.example.com/deleted')
  assert.equal((await branch.call('DELETE', `/v2/webhooks/${deleted}`)).status, 204)
  const partner = await getPartner(house.gateway.context.db, String(branch.branchId))
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  const sandboxed = await (await openBranch(house, { environment: 'sandbox', client })).register(
    'https://a.example.com/',
  )
  const unknown = 999_999_999_999_999
  const answers = await Promise.all(
    [foreign, deleted, sandboxed, unknown].map(async (id) => {
      const answer = await branch.call('GET', `/v2/webhooks/${id}`)
      const { request_id: _, error_description, ...body } = answer.json<ProblemAnswer>()
      return { status: answer.status, ...body, description: error_description.replace(String(id), 'N') }
    }),
  )
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.equal(answers[0]!.status, 404)
  assert.equal(answers[0]!.error, 'not_found')
})

test('an id that is not a positive integer is 400 and says so', async () => {
  for (const id of ['abc', '0', '-1', '1.5', '1e3', '01', '%201', '1%00', '0x10', '٣', 'null']) {
    const answer = await branch.call(
      'GET',
      `/v2/webhooks/${encodeURI(decodeURIComponent(id)).replace('\0', '%00')}`,
    )
    assert.equal(answer.status, 400, `${id}: ${answer.text}`)
    assert.equal(answer.json<ProblemAnswer>().fields?.[0]?.field, 'id')
  }
})

test('a stranger gets 401 for an id that exists, one that does not and one that cannot', async () => {
  const id = await branch.register('https://app.example.com/hooks')
  for (const path of [id, 999_999, 'abc']) {
    const answer = await callJson(`${house.baseUrl}/v2/webhooks/${path}`)
    assert.equal(answer.status, 401)
    assert.match(String(answer.headers['www-authenticate']), /^Basic /)
  }
})

test('POST to one webhook is 405 with the methods it takes', async () => {
  const answer = await branch.call('POST', '/v2/webhooks/1', {})
  assert.equal(answer.status, 405)
  assert.deepEqual(String(answer.headers.allow).split(', ').sort(), ['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT'])
})

test("a member's token of fewer scopes fetches with read, and changes nothing without write", async () => {
  const id = await branch.register('https://app.example.com/fewer')
  const { db } = house.gateway.context
  const member = await house.makeUser()
  await addMember(db, await getPartner(db, String(branch.branchId)), member, house.act())
  const told: Record<string, number[]> = {}
  for (const scopes of [['read'], ['read', 'write'], ['market', 'trade', 'stream']] as const) {
    const draft = { environment: 'live', name: 'fewer', scopes } as const
    const { token } = await createApiToken(db, member, draft, house.act())
    const headers = { authorization: `Bearer ${token.text}` }
    const ask = (method: 'GET' | 'PATCH', body?: object) =>
      callJson(`${house.baseUrl}/v2/webhooks/${id}`, method, body, headers)
    const url = 'https://app.example.com/changed'
    told[scopes.join(' ')] = [(await ask('GET')).status, (await ask('PATCH', { url })).status]
  }
  assert.deepEqual(told, { read: [200, 403], 'read write': [200, 200], 'market trade stream': [403, 403] })
})
