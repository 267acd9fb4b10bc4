/** RFC 9449 and RFC 8705 behind a proxy: a token that is bound to its sender passes with a proof for this request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setProfile } from '../../src/partners/client-profile.ts'
import { makeKey } from '../support/client-keys.ts'
import { callAs, getTokens, makeFapi2Client, signProof } from '../support/fapi.ts'
import { doorNames, identityIn, openProxy } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()
const by = await makeFapi2Client(house)
const dpopKey = makeKey()
const { access_token: token } = await getTokens(by, dpopKey)
const proxy = await openProxy(house)
const url = 'https://api.example.com/orders'

const prove = (more: { method?: string; url?: string; nonce?: string; token?: string } = {}) =>
  signProof(by, dpopKey, { method: 'POST', url, token, ...more })

for (const door of doorNames) {
  const ask = async (proof: string | undefined, more: object = {}) =>
    proxy.ask(door, {
      token,
      scheme: 'DPoP',
      ...(proof !== undefined && { more: [`dpop: ${proof}`] }),
      ...more,
    })

  test(`${door}: with a proof for this request, once, and who is bound is told`, async () => {
    const proof = await prove()
    const passed = await ask(proof)
    assert.equal(passed.status, 200, passed.body)
    assert.match(identityIn(passed).cnf!, /^jkt=[\w-]{43}$/)
    const again = await ask(proof)
    assert.equal(again.status, 401)
    assert.match(again.headers.get('www-authenticate')!, /^DPoP .*error="invalid_dpop_proof".*algs="ES256/)
  })

  test(`${door}: for another request, with none, or as a bearer it is refused`, async () => {
    const refused = [
      await ask(await prove({ method: 'GET' })),
      await ask(await prove({ url: 'https://api.example.com/other' })),
      await ask(await prove({ url: 'https://evil.example/orders' })),
      await ask(await prove({ token: 'another' })),
      await ask(undefined),
      await ask(await prove(), { more: [`dpop: ${await prove()}`, `dpop: ${await prove()}`] }),
      await proxy.ask(door, { token, more: [`dpop: ${await prove()}`] }),
      await proxy.ask(door, { token }),
    ]
    for (const { status, headers } of refused) {
      assert.equal(status, 401)
      for (const name of headers.keys()) assert.ok(!name.startsWith('x-countersign-'), name)
    }
    const personal = await house.makeToken(await house.makeUser())
    assert.equal((await ask(await prove({ token: personal }), { token: personal })).status, 401)
  })

  test(`${door}: where nonces are demanded, one is handed out with the refusal`, async () => {
    const { db } = house.gateway.context
    await setProfile(db, by.client, { demandsDpopNonces: true }, house.act())
    const refused = await ask(await prove())
    assert.equal(refused.json().error, 'use_dpop_nonce')
    const nonce = refused.headers.get('dpop-nonce')!
    assert.equal((await ask(await prove({ nonce }))).status, 200)
    assert.equal((await ask(await prove({ nonce: `${nonce}x` }))).status, 401)
    await setProfile(db, by.client, { demandsDpopNonces: false }, house.act())
  })
}

test('a token of a client’s own, for its webhooks, passes nowhere', async () => {
  const fields = { grant_type: 'client_credentials' }
  const own = (await callAs(by, '/v1/oauth/accesstoken', { dpopKey, fields })).json<{
    access_token: string
  }>()
  for (const door of doorNames) {
    const more = [`dpop: ${await prove({ token: own.access_token })}`]
    assert.equal((await proxy.ask(door, { token: own.access_token, scheme: 'DPoP', more })).status, 401)
  }
})
