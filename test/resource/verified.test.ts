/** What the gateway says of a token, and what @countersign/resource makes of it: accounts, resources, sign-ins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../resource/src/index.ts'
import { minute } from '../../src/clock.ts'
import { makeKey } from '../support/client-keys.ts'
import { getTokens, makeFapi2Client } from '../support/fapi.ts'
import { openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeService, openApi } from '../support/resource.ts'

const house = await openHouse()
const client = await house.makeClient()
const accounts = ['ACCOUNT1', 'ACCOUNT2']
const user = await house.makeUser('ada', accounts)
const browser = await house.signIn(user)

async function tokenFor(asking: TestClient, extra: Record<string, string> = {}): Promise<string> {
  const code = (await house.approve(asking, browser, { scope: 'read trade', extra })).get('code')!
  return (await house.exchange(asking, code)).json<TokenBody>().access_token
}

const statusOf = (judgement: unknown) => (judgement instanceof Refusal ? judgement.status : 200)

test('a request is let into the accounts that were shared, and into no other', async () => {
  const api = await keepOpen(openApi(house))
  const token = await tokenFor(client)
  const access = await api.call(token, { scope: 'trade' }, accounts[1])
  assert.ok(!(access instanceof Refusal))
  assert.equal(access.subject, user.id)
  assert.equal(access.client, client.id)
  assert.equal(access.username, 'ada')
  assert.deepEqual(access.scopes, ['read', 'trade'])
  assert.deepEqual([...access.accounts!].sort(), accounts)
  assert.equal(access.expiresAtMs, house.clock.now().getTime() + 86_400_000)
  for (const account of ['ACCOUNT3', 'account1', '']) {
    const refused = await api.call(token, { scope: 'trade' }, account)
    assert.ok(refused instanceof Refusal)
    assert.equal(refused.status, 403)
    assert.equal(refused.body.error, 'account_not_shared')
  }
  assert.equal(statusOf(await api.call(token, { scope: 'market' })), 403)
})

test('a service that may see no accounts cannot ask for one: nobody guesses', async () => {
  const api = await keepOpen(openApi(house, { credential: await makeService(house, { sees: [] }) }))
  const token = await tokenFor(client)
  assert.equal(statusOf(await api.call(token)), 200)
  assert.equal(statusOf(await api.call(token, {}, accounts[0])), 503)
})

test('a token for other resources alone is refused, and so is any that names one where the API has no name', async () => {
  const [orders, quotes] = ['https://orders.example.com', 'urn:example:quotes']
  const protecting = await makeService(house, { audience: orders })
  await makeService(house, { audience: quotes })
  const asking = await house.makeClient()
  const token = await tokenFor(asking, { resource: orders })
  const for_ = async (options: Parameters<typeof openApi>[1]) => {
    const api = await keepOpen(openApi(house, options))
    return statusOf(await api.call(token))
  }
  assert.equal(await for_({ resource: orders, credential: protecting }), 200)
  assert.equal(await for_({ resource: orders }), 200)
  assert.equal(await for_({ resource: quotes }), 401)
  assert.equal(await for_({}), 401)
  const all = await keepOpen(openApi(house, { resource: quotes }))
  assert.equal(await all.status(await tokenFor(await house.makeClient())), 200)
})

test('a token that is bound to its sender is no bearer, remembered or not', async () => {
  const by = await makeFapi2Client(house)
  const { access_token } = await getTokens(by, makeKey())
  const api = await keepOpen(openApi(house))
  for (const _ of [1, 2]) {
    const refused = await api.call(access_token)
    assert.ok(refused instanceof Refusal)
    assert.equal(refused.status, 401)
    assert.equal(refused.body.error, 'invalid_token')
  }
})

test('a sign-in of long ago is challenged, and what nobody tells of is none', async () => {
  const sees = ['accounts', 'sign-in']
  const api = await keepOpen(openApi(house, { credential: await makeService(house, { sees }) }))
  const asking = await house.makeClient()
  const signedIn = await house.signIn(user)
  const code = (await house.approve(asking, signedIn)).get('code')!
  const { access_token } = (await house.exchange(asking, code)).json<TokenBody>()
  const acr = (name: string) => ({ acrValues: [`urn:countersign:acr:${name}`] })
  assert.equal(statusOf(await api.call(access_token, { maxAgeSeconds: 60, ...acr('password') })), 200)
  assert.equal(statusOf(await api.call(access_token, acr('second-factor'))), 401)
  house.clock.advance(2 * minute)
  const refused = await api.call(access_token, { maxAgeSeconds: 60 })
  assert.ok(refused instanceof Refusal)
  assert.equal(refused.status, 401)
  assert.match(
    refused.headers['www-authenticate']!,
    /error="insufficient_user_authentication".* scope="read", max_age="60"$/,
  )
  const personal = await house.makeToken(user)
  assert.equal(statusOf(await api.call(personal)), 200)
  assert.equal(statusOf(await api.call(personal, { maxAgeSeconds: 1_000_000 })), 401)
})
