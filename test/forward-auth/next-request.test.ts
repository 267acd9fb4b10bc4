/**
 * Spec 4.11: whatever is taken away of a token, or of the proxy, is refused with the next request, on every
 * node, although the nodes remember both.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { parseToken } from '../../src/crypto/token.ts'
import {
  listAuthorizations,
  revokeAuthorization,
  setAuthorizationPaused,
} from '../../src/oauth/authorization.ts'
import { setClientStatus, updateClient } from '../../src/partners/client.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { changeReading, revokeService } from '../../src/services/service.ts'
import { removeHolding } from '../../src/users/account.ts'
import { revokeApiToken } from '../../src/users/api-token.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { postForm } from '../support/browser.ts'
import { doorNames, identityIn, type Judged, openProxy, type Passage } from '../support/forward-auth.ts'
import { basic, openHouse, type TestClient } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { Holder, hears, openSecondNode } from '../support/oauth.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { db, bearers } = house.gateway.context
const proxy = await openProxy(house)
const nodes = [house.internalUrl, other.internalUrl]

interface Scene {
  readonly user: User
  readonly client: TestClient
  readonly token: string
  readonly tokenId: number
  readonly authorizationId: number
}

let made = 0

/** A holder of two accounts who has allowed a client to read and trade with both. */
async function openScene(): Promise<Scene> {
  const accounts = [`NEXT${++made}A`, `NEXT${made}B`]
  const user = await house.makeUser(undefined, accounts)
  const client = await house.makeClient()
  const { access_token: token } = await new Holder(house, user).tokens(client, { scope: 'read trade' })
  const [authorization] = await listAuthorizations(db, { userId: user.id })
  const bearer = await bearers.find(parseToken(token)!)
  return { user, client, token, tokenId: bearer!.tokenId, authorizationId: authorization!.id }
}

interface Taking {
  /** What of it is announced. */
  readonly tag: (scene: Scene) => string
  readonly take: (scene: Scene) => Promise<unknown>
  readonly refusal: readonly [status: number, error: string]
}

const gone = [401, 'invalid_token'] as const

const takings: Readonly<Record<string, Taking>> = {
  'the token is revoked': {
    tag: ({ tokenId }) => `access_token:${tokenId}`,
    take: ({ client, token }) => postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(client)),
    refusal: gone,
  },
  'the authorization is revoked': {
    tag: ({ authorizationId }) => `authorization:${authorizationId}`,
    take: ({ authorizationId: id }) =>
      revokeAuthorization(db, { id, reason: 'revoked by the user' }, house.act()),
    refusal: gone,
  },
  'the application is paused': {
    tag: ({ authorizationId }) => `authorization:${authorizationId}`,
    take: ({ authorizationId: id, user }) =>
      setAuthorizationPaused(db, { id, ownerId: user.id, paused: true }, house.act()),
    refusal: gone,
  },
  'the scope is taken from the client': {
    tag: ({ client }) => `client:${client.id}`,
    take: ({ client }) => updateClient(db, client, { scope: 'trade' }, { ...house.act(), development: true }),
    refusal: [403, 'insufficient_scope'],
  },
  'the account is taken from the user': {
    tag: ({ user }) => `user:${user.id}`,
    take: ({ user }) => removeHolding(db, user, `NEXT${made}A`, house.act()),
    refusal: [403, 'account_not_shared'],
  },
  'the client is suspended': {
    tag: ({ client }) => `client:${client.id}`,
    take: ({ client }) => setClientStatus(db, client, 'suspended', house.act()),
    refusal: gone,
  },
  'the partner is suspended': {
    tag: ({ client }) => `branch:${client.branchId}`,
    take: async ({ client }) =>
      setPartnerStatus(db, await getPartner(db, String(client.branchId)), 'suspended', 'test', house.act()),
    refusal: gone,
  },
  'the user is locked': {
    tag: ({ user }) => `user:${user.id}`,
    take: ({ user }) => setUserStatus(db, user, 'disabled', house.act()),
    refusal: gone,
  },
}

function assertRefusal({ status, json, body }: Judged, refusal: Taking['refusal'], what: string): void {
  assert.deepEqual([status, status === 200 ? body : json().error], refusal, what)
}

for (const [what, { tag, take, refusal }] of Object.entries(takings))
  test(`when ${what}, the next request is refused on every node`, async () => {
    const scene = await openScene()
    const passage: Passage = { token: scene.token, needs: `scope=read&account=NEXT${made}A` }
    for (const at of nodes)
      for (const door of doorNames)
        assert.equal((await proxy.ask(door, { ...passage, at })).status, 200, door)
    const heard = hears(other, tag(scene))
    await take(scene)
    assertRefusal(await proxy.ask('original', passage), refusal, 'where it was taken')
    await heard
    for (const at of nodes)
      for (const door of doorNames) assertRefusal(await proxy.ask(door, { ...passage, at }), refusal, door)
  })

test('a personal token passes as its user may, until it is revoked', async () => {
  const user = await house.makeUser()
  const token = await house.makeToken(user)
  for (const at of nodes) assert.equal((await proxy.ask('forwarded', { token, at })).status, 200)
  const { tokenId } = (await bearers.find(parseToken(token)!))!
  const heard = hears(other, `api_token:${tokenId}`)
  await revokeApiToken(db, tokenId, user.id, house.act())
  assert.equal((await proxy.ask('forwarded', { token })).status, 401)
  await heard
  for (const at of nodes) assertRefusal(await proxy.ask('forwarded', { token, at }), gone, at)
})

test('a proxy whose service is revoked is nobody with its next question; one whose row changes sees by it', async () => {
  const { token } = await openScene()
  const own = await openProxy(house)
  const asked = () => Promise.all(nodes.map((at) => own.ask('envoy', { token, at })))
  for (const answer of await asked()) assert.match(identityIn(answer).client!, /./)
  const changed = hears(other, `service:${own.id}`)
  await changeReading(db, own.id, { sees: ['accounts'] }, house.act())
  await changed
  for (const answer of await asked()) assert.equal(identityIn(answer).client, '')
  const heard = hears(other, `service:${own.id}`)
  await revokeService(db, own.id, house.act())
  await heard
  for (const answer of await asked()) assertRefusal(answer, [403, 'service_unknown'], 'revoked')
})

test('the credential says the site: a token of the other one is refused there', async () => {
  const sandboxed = await openProxy(house, { environment: 'sandbox' })
  const user = await house.makeUser()
  const [live, sandbox] = [await house.makeToken(user), await house.makeToken(user, 'sandbox')]
  for (const door of doorNames) {
    assert.equal((await proxy.ask(door, { token: live })).status, 200)
    assert.equal((await sandboxed.ask(door, { token: sandbox })).status, 200)
    for (const refused of [
      await proxy.ask(door, { token: sandbox }),
      await sandboxed.ask(door, { token: live }),
    ]) {
      assertRefusal(refused, gone, door)
      assert.match(
        String(refused.json().error_description),
        /This is a token of the (live|sandbox) environment/,
      )
    }
  }
})

test('a service that protects one interface takes tokens that are for it, or for none in particular', async () => {
  const orders = await openProxy(house, { audience: 'https://orders.example.com' })
  const { token, tokenId } = await openScene()
  assert.equal((await orders.ask('forwarded', { token })).status, 200)
  const heard = hears(house.gateway, `access_token:${tokenId}`)
  await ask(db, "UPDATE access_tokens SET resources = '{https://quotes.example.com}' WHERE id = $1", [
    tokenId,
  ])
  await ask(db, 'SELECT announce($1)', [`access_token:${tokenId}`])
  await heard
  assertRefusal(await orders.ask('forwarded', { token }), gone, 'for another')
  assert.equal((await proxy.ask('forwarded', { token })).status, 200)
})

test('how long ago and how the user signed in counts at the moment of the request', async () => {
  const { token, authorizationId } = await openScene()
  const password = 'urn:countersign:acr:password'
  const judge = async (needs: string, presented = token) =>
    (await proxy.ask('forwarded', { token: presented, needs: `scope=read&${needs}` })).status
  assert.deepEqual([await judge('max_age=60'), await judge(`acr_values=${password}`)], [200, 200])
  assert.equal(await judge(`acr_values=urn:countersign:acr:passkey+${password}`), 200)
  assert.equal(await judge('acr_values=urn:countersign:acr:passkey+urn:countersign:acr:second-factor'), 401)
  const heard = hears(house.gateway, `authorization:${authorizationId}`)
  await ask(db, "UPDATE grants SET acr = 'passkey' WHERE authorization_id = $1", [authorizationId])
  await ask(db, 'SELECT announce($1)', [`authorization:${authorizationId}`])
  await heard
  assert.equal(await judge('acr_values=urn:countersign:acr:second-factor'), 200, 'a stronger way is enough')
  house.clock.advance(minute)
  assert.equal(await judge('max_age=60'), 200)
  house.clock.advance(1)
  assert.equal(await judge('max_age=60'), 401)
  const personal = await house.makeToken(await house.makeUser())
  for (const needs of ['max_age=999999999', `acr_values=${password}`])
    assert.equal(await judge(needs, personal), 401)
})
