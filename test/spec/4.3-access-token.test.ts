import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import { openTestGateway, type TestClient, type TestGateway, type TokenBody } from '../support/gateway.ts'

let house: TestGateway
let client: TestClient
before(async () => {
  house = await openTestGateway()
  client = await house.makeClient()
})
after(() => house.close())

test('a code is exchanged for an access token that reads the profile', async () => {
  const answer = await house.exchange(client, await house.makeCode(client, { scope: 'trade,read' }))
  assert.equal(answer.status, 200)
  const body = answer.json()
  assert.deepEqual(Object.keys(body).sort(), [
    'access_token',
    'expires_in',
    'issued_at',
    'refresh_token',
    'scope',
    'status',
    'token_type',
  ])
  assert.equal(body.token_type, 'Bearer')
  assert.equal(body.expires_in, 86_400)
  assert.equal(body.scope, 'read trade')
  assert.equal(body.status, 'approved')
  assert.match(String(body.issued_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const profile = await house.profile((body as unknown as TokenBody).access_token)
  assert.equal(profile.status, 200)
})

test('a code is good at 599 seconds and dead at 600', async () => {
  const early = await house.makeCode(client)
  const late = await house.makeCode(client)
  house.clock.advance(10 * minute - second)
  assert.equal((await house.exchange(client, early)).status, 200)
  house.clock.advance(second)
  const answer = await house.exchange(client, late)
  assert.equal(answer.status, 400)
  assert.equal(answer.json().error, 'invalid_grant')
})

test('of 50 parallel exchanges of one code exactly one succeeds', async () => {
  const code = await house.makeCode(client)
  const answers = await Promise.all(Array.from({ length: 50 }, () => house.exchange(client, code)))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  assert.ok(answers.every((answer) => answer.status === 200 || answer.json().error === 'invalid_grant'))
})
