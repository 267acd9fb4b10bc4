/**
 * The checker of assertions and proofs: it says which claim is wrong and by how much, knows the partner's own
 * clients alone, and neither keeps, nor uses up, nor repeats what must not be known.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import { addMember, getPartner } from '../../../src/partners/partner.ts'
import type { Answer, Fields } from '../../support/browser.ts'
import { makeKey } from '../../support/client-keys.ts'
import { bareJwk, makeFapi2Client, makePkce, push, signAssertion, signProof } from '../../support/fapi.ts'
import { openHouse } from '../../support/gateway.ts'
import { countRows } from '../../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context
const [by, other] = [await makeFapi2Client(house), await makeFapi2Client(house)]
const user = await house.makeUser()
await addMember(db, await getPartner(db, String(by.client.branchId)), user, house.act(), 'viewer')
const browser = await house.signIn(user)
const home = `/partner/${by.client.branchId}`
const dpopKey = makeKey()
const url = `${house.baseUrl}/v1/user/profile`
const nowS = () => Math.floor(house.clock.now().getTime() / 1000)

async function check(fields: Fields | (() => Promise<Fields>)): Promise<Answer> {
  // A minute holds twenty of them.
  house.clock.advance(minute)
  const page = await browser.get(`${home}/proofs`)
  return browser.submit(page, `${home}/proofs/check`, typeof fields === 'function' ? await fields() : fields)
}

const textOf = ({ text }: Answer) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'")

test('sound ones are right, are printed as they were understood, and are still good afterwards', async () => {
  const assertions: string[] = []
  const answer = await check(async () => {
    const [assertion, proof] = [
      await signAssertion(by),
      await signProof(by, dpopKey, { url: `${house.baseUrl}/v1/oauth/accesstoken` }),
    ]
    assertions.push(assertion)
    return { assertion, proof }
  })
  assert.equal(answer.status, 200, answer.text)
  const text = textOf(answer)
  assert.match(text, /The client assertion <[^>]+>right/)
  assert.match(text, /The DPoP proof <[^>]+>right/)
  assert.ok(text.includes(`"sub": "${by.client.id}"`) && text.includes('"typ": "dpop+jwt"'))
  assert.equal(await countRows(db, 'used_proofs'), 0)
  const [assertion] = assertions
  assert.equal((await push(by, makePkce(), { assertion: assertion! })).status, 201)
  const page = await browser.get(`${home}/proofs`)
  const again = await browser.submit(page, `${home}/proofs/check`, { assertion: assertion! })
  assert.match(textOf(again), /its jti was used already/)
})

test('a clock that is 73 seconds ahead is said to be so, together with everything else that is wrong', async () => {
  const text = textOf(
    await check(async () => ({
      assertion: await signAssertion(by, {
        claims: { iat: nowS() + 73, aud: [house.baseUrl], jti: undefined },
      }),
    })),
  )
  assert.match(text, /iat is 7[23] seconds ahead of the clock here/)
  assert.match(text, /aud is \["http/)
  assert.match(text, /one text, no list/)
  assert.match(text, /jti must be a text/)
})

test('RS256, another key and an unknown kid each have their remedy', async () => {
  const rsa = makeKey('PS256')
  const { kid } = by.key.publicJwk
  for (const [twist, words] of [
    [{ key: rsa, alg: 'RS256' }, /alg is "RS256"[\s\S]+the same key signs PS256/],
    [{ key: makeKey(), header: { kid } }, /no key of this client made the signature/],
    [{ header: { kid: 'unknown' } }, /kid "unknown" names none of the keys/],
  ] as const)
    assert.match(textOf(await check(async () => ({ assertion: await signAssertion(by, twist) }))), words)
  const proof = async () => ({
    proof: await signProof(by, dpopKey, { url }, { key: rsa, alg: 'RS256', header: { jwk: bareJwk(rsa) } }),
  })
  assert.match(textOf(await check(proof)), /alg is "RS256"; it must be one of/)
})

test('a proof is held against the method, the address and the token that are said', async () => {
  const fields = { method: 'GET', url, token: 'the token' }
  const right = async () => ({
    ...fields,
    proof: await signProof(by, dpopKey, { method: 'GET', url, token: 'the token' }),
  })
  assert.match(textOf(await check(right)), /The DPoP proof <[^>]+>right/)
  const wrong = async () => ({
    ...fields,
    proof: `DPoP: ${await signProof(by, dpopKey, { url: `${url}/x`, token: 'another' })}`,
  })
  const text = textOf(await check(wrong))
  assert.match(text, /htm is "POST", and the request is GET/)
  assert.match(text, /htu is "[^"]+\/x", and the request is to/)
  assert.match(text, /ath is "[^"]+"; it must be/)
  assert.ok(!text.includes('the token"') && !text.includes('value="the token'))
})

test('another partner’s client is none: nothing is said of its keys', async () => {
  const assertion = await signAssertion(other)
  const named = await check(async () => ({ assertion: await signAssertion(other) }))
  assert.equal(named.status, 400)
  assert.match(named.text, /names none of your clients on this site/)
  assert.equal((await check({ assertion, client: other.client.id })).status, 404)
  const mine = textOf(await check({ assertion, client: by.client.id }))
  assert.match(mine, /both must be/)
  const sandbox = await house.signIn(user, 'sandbox')
  const page = await sandbox.get(`${home}/proofs`)
  const elsewhere = await sandbox.submit(page, `${home}/proofs/check`, { assertion, client: by.client.id })
  assert.equal(elsewhere.status, 404, 'nor of the own on the other site')
})

test('a private key or a secret is burnt, and is not repeated', async () => {
  const jwk = dpopKey.privateKey.export({ format: 'jwk' })
  const pem = String(dpopKey.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const inHeader = await signProof(by, dpopKey, { url }, { header: { jwk } })
  for (const [field, pasted] of [
    ['assertion', JSON.stringify(jwk)],
    ['proof', pem],
    ['proof', inHeader],
    ['token', by.client.secret],
  ] as const) {
    const answer = await check({ proof: 'x', [field]: pasted })
    assert.equal(answer.status, 400, field)
    assert.match(answer.text, /It is burnt: whoever sees it can act with it/)
    for (const part of [jwk.d!, by.client.secret, pem.split('\n')[1]!, inHeader.split('.')[0]!])
      assert.ok(!answer.text.includes(part), `${field} is repeated`)
  }
})

test('what is no JWT, too large or nothing is refused in words, and markup in claims is text', async () => {
  assert.match((await check({ proof: 'no token' })).text, /no compact JWS of at most/)
  assert.match((await check({ assertion: 'a.b.c', client: by.client.id })).text, /no compact JWT of at most/)
  assert.equal((await check({ assertion: '', proof: '' })).status, 400)
  assert.equal((await check({ proof: 'x'.repeat(10_001) })).status, 400)
  assert.match((await check({ proof: 'x'.repeat(5_000) })).text, /no compact JWS of at most/)
  const evil = '"\'><script src=//evil.example></script><img onerror=x>'
  const answer = await check(async () => ({
    client: by.client.id,
    assertion: await signAssertion(by, { claims: { aud: evil, [evil]: evil }, header: { kid: evil } }),
    proof: await signProof(by, dpopKey, { url }, { claims: { htu: evil, htm: evil } }),
    method: evil.slice(0, 19),
    url: evil,
  }))
  assert.equal(answer.status, 200, answer.text)
  assert.doesNotMatch(answer.text, /<script src=\/\/evil|<img onerror/)
})

test('it answers twenty times a minute', async () => {
  house.clock.advance(minute)
  const page = await browser.get(`${home}/proofs`)
  const send = () => browser.submit(page, `${home}/proofs/check`, { proof: 'x' })
  for (let time = 0; time < 20; time++) assert.equal((await send()).status, 200)
  const often = await send()
  assert.equal(often.status, 429)
  assert.match(often.text, /As many assertions and proofs were checked/)
})
