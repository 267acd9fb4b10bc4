/** A key that a partner puts at its address is taken with the first request that it signs, on every node. */
import assert from 'node:assert/strict'
import { after as afterAll, test } from 'node:test'
import { findKeySet, placeKeys } from '../../src/partners/key-sets.ts'
import { makeKey, printJwks, type TestKey } from '../support/client-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type Fapi2Client, makeFapi2Client, makePkce, push } from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'
import { findFreePorts } from '../support/ports.ts'
import { answer, gate, openReceiver } from '../support/receiver.ts'

const [port, otherPort] = await findFreePorts(2)
const house = await openHouse({ PORT: String(port) })
const { db, config } = house.gateway.context
// Clients know the house by one address, whichever node takes the request.
await openHouse({
  ...{ DATABASE_URL: house.databaseUrl, SECRET_KEY: house.settings.SECRET_KEY, PORT: String(otherPort) },
  ...{ BASE_URL: house.baseUrl, SANDBOX_URL: house.sandboxUrl, SANDBOX_PORT: '0' },
})
const elsewhere = `http://127.0.0.1:${otherPort}`
const receiver = await openReceiver()
afterAll(() => receiver.close())

const named = (kid: string) => makeKey('ES256', { kid })
const jwks = (...keys: readonly TestKey[]) =>
  answer(200, { 'content-type': 'application/json' }, printJwks(...keys))

async function makePlaced(path: string): Promise<Fapi2Client> {
  const by = await makeFapi2Client(house)
  receiver.on(path, jwks(by.key))
  await placeKeys(db, by.client, { jwksUri: receiver.url(path), policy: config.webhooks }, house.act())
  await eventually('the keys are read', async () => (await findKeySet(db, by.client.id))!.readAt !== null)
  return by
}

const pushBy = (by: Fapi2Client, key: TestKey, at = house.baseUrl) =>
  push(by, makePkce(), { at, assertion: { key } })

test('a key that was put at the address this moment is taken on two nodes at once', async () => {
  const by = await makePlaced('/rotated')
  assert.equal((await pushBy(by, by.key)).status, 201)
  assert.equal((await pushBy(by, by.key, elsewhere)).status, 201)
  const next = named('next')
  receiver.on('/rotated', jwks(by.key, next))
  const answers = await Promise.all(
    [house.baseUrl, elsewhere, house.baseUrl].map((at) => pushBy(by, next, at)),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.equal(receiver.at('/rotated').length, 2)
})

test('keys at an address that was not read so far are waited for', async () => {
  const by = await makeFapi2Client(house)
  const first = named('first')
  receiver.on('/unread', jwks(first))
  await placeKeys(db, by.client, { jwksUri: receiver.url('/unread'), policy: config.webhooks }, house.act())
  assert.equal((await pushBy(by, first)).status, 201)
})

test('a key under the same name is taken too, and the one that left is refused', async () => {
  const by = await makePlaced('/same-name')
  const next = named(String(by.key.publicJwk.kid))
  receiver.on('/same-name', jwks(next))
  assert.equal((await pushBy(by, next)).status, 201)
  assert.equal((await pushBy(by, by.key)).status, 401)
  assert.equal((await pushBy(by, by.key, elsewhere)).status, 401)
})

test('a key that is nowhere is refused, and has the address asked once', async () => {
  const by = await makePlaced('/nowhere')
  for (let attempt = 0; attempt < 3; attempt++) assert.equal((await pushBy(by, named('made up'))).status, 401)
  assert.equal(receiver.at('/nowhere').length, 2)
})

test('an address that does not answer holds up nobody for long', async () => {
  const by = await makePlaced('/mute')
  const held = gate(jwks(by.key))
  receiver.on('/mute', held.behaviour)
  assert.equal((await pushBy(by, named('next'))).status, 401)
  assert.equal((await pushBy(by, by.key)).status, 201)
  held.open()
})

test('keys that were given are all that there are', async () => {
  const by = await makeFapi2Client(house)
  assert.equal((await pushBy(by, named('next'))).status, 401)
})
