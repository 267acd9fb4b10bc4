/** A client whose keys are at its own address signs with a new one the moment that it is there. */
import assert from 'node:assert/strict'
import { after as afterAll, test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { placeKeys } from '../../src/partners/key-sets.ts'
import { makeKey, printJwks, type TestKey } from '../support/client-keys.ts'
import { type Fapi2Client, makePkce, push } from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'
import { assertOAuthError } from '../support/oauth.ts'
import { answer, openReceiver } from '../support/receiver.ts'

const house = await openHouse()
const receiver = await openReceiver()
afterAll(() => receiver.close())
const { db, config } = house.gateway.context

test('a rotated key is taken without a refused request, and one that is not there costs one look', async () => {
  const show = (...keys: readonly TestKey[]) =>
    receiver.on('/keys', answer(200, { 'content-type': 'application/json' }, printJwks(...keys)))
  const [first, second] = [makeKey('ES256', { kid: 'first' }), makeKey('EdDSA', { kid: 'second' })]
  const client = await house.makeClient({ callbackUrl: 'https://app.example.com/callback' })
  show(first)
  await placeKeys(db, client, { jwksUri: receiver.url('/keys'), policy: config.webhooks }, house.act())
  await setProfile(db, client, { from: house.clock.now() }, house.act())
  const by: Fapi2Client = { client, key: first, house }
  assert.equal((await push(by, makePkce())).status, 201)
  house.clock.advance(minute)
  show(first, second)
  const signed = { key: second, alg: 'EdDSA' }
  assert.equal((await push(by, makePkce(), { assertion: signed })).status, 201)
  house.clock.advance(minute)
  const looks = receiver.at('/keys').length
  const unknown = { key: makeKey('ES256', { kid: 'third' }) }
  assertOAuthError(await push(by, makePkce(), { assertion: unknown }), 'invalid_client')
  assertOAuthError(await push(by, makePkce(), { assertion: unknown }), 'invalid_client')
  assert.equal(receiver.at('/keys').length, looks + 1)
})
