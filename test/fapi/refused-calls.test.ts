/** What a partner reads of its calls that were refused for a key, an assertion or a proof: the rule, and what to do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hour } from '../../src/clock.ts'
import { type FailureCause, failureCauses } from '../../src/partners/failure-causes.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { assertionCauses, demandCauses, dpopCauses } from '../../src/partners/proof-causes.ts'
import { type Answer, Browser, postForm, send } from '../support/browser.ts'
import { readCalls } from '../support/calls.ts'
import { makeKey } from '../support/client-keys.ts'
import {
  callAs,
  exchange,
  getProfile,
  getTokens,
  makeCode,
  makeFapi2Client,
  makePkce,
  push,
  signAssertion,
  signProof,
  type Twist,
} from '../support/fapi.ts'
import { basic, openHouse } from '../support/gateway.ts'

const house = await openHouse()
const by = await makeFapi2Client(house)
const other = await makeFapi2Client(house)
const partner = await getPartner(house.gateway.context.db, String(by.client.branchId))
const dpopKey = makeKey()
const tokenUrl = `${house.baseUrl}/v1/oauth/accesstoken`
const parUrl = `${house.baseUrl}/v1/oauth/par`
const profileUrl = `${house.baseUrl}/v1/user/profile`
const nowS = () => Math.floor(house.clock.now().getTime() / 1000)

const pushing = (more: Parameters<typeof push>[2]) => (headers: Record<string, string>) =>
  push(by, makePkce(), { ...more, headers })
const asserting = (twist: Twist) => pushing({ assertion: twist })
const proving = (twist: Twist) => pushing({ dpopKey, proof: twist })
const leavingOut = (name: string) => pushing({ fields: { [name]: '' } })

async function exchanging(
  headers: Record<string, string>,
  without: 'code_verifier' | 'proof',
): Promise<Answer> {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  return without === 'proof'
    ? exchange(by, undefined, code, pkce, { headers })
    : exchange(by, dpopKey, code, pkce, { headers, fields: { code_verifier: '' } })
}

const bound = await getTokens(by, dpopKey)
const atProfile = (token: string, more: Record<string, string>) =>
  send(profileUrl, { headers: { authorization: `DPoP ${token}`, ...more } })
const proofOf = (key = dpopKey, token = bound.access_token) =>
  signProof(by, key, { method: 'GET', url: profileUrl, token })

const usedAssertion = await signAssertion(by)
assert.equal((await push(by, makePkce(), { assertion: usedAssertion })).status, 201)
const usedProof = await proofOf()
assert.equal((await getProfile(by, dpopKey, bound.access_token, { proof: usedProof })).status, 200)

/** Each broken by itself. */
const refused: readonly (readonly [FailureCause, (headers: Record<string, string>) => Promise<Answer>])[] = [
  [
    'assertion-form',
    (headers) =>
      callAs(by, '/v1/oauth/par', { assertion: 'x.y', fields: { client_id: by.client.id }, headers }),
  ],
  ['assertion-header', asserting({ header: { jku: 'https://keys.example.com/' } })],
  ['assertion-type', asserting({ header: { typ: 'dpop+jwt' } })],
  [
    'assertion-algorithm',
    asserting({ key: makeKey('PS256'), alg: 'RS256', header: { kid: by.key.publicJwk.kid } }),
  ],
  ['assertion-client', asserting({ claims: { iss: other.client.id } })],
  ['assertion-audience', asserting({ claims: { aud: [house.baseUrl] } })],
  ['assertion-expiry', asserting({ claims: { exp: nowS() - 1 } })],
  ['assertion-not-yet', asserting({ claims: { iat: nowS() + 73 } })],
  ['assertion-id', asserting({ claims: { jti: undefined } })],
  ['assertion-key', asserting({ header: { kid: 'unknown' } })],
  ['assertion-signature', asserting({ key: makeKey(), header: { kid: by.key.publicJwk.kid } })],
  ['assertion-used', pushing({ assertion: usedAssertion })],
  ['dpop-form', pushing({ proof: 'x' })],
  ['dpop-type', proving({ header: { typ: 'JWT' } })],
  ['dpop-algorithm', proving({ key: makeKey('PS256'), alg: 'RS256' })],
  ['dpop-key', proving({ header: { jwk: undefined } })],
  ['dpop-signature', proving({ key: makeKey() })],
  ['dpop-claims', proving({ claims: { jti: undefined } })],
  ['dpop-method', proving({ claims: { htm: 'GET' } })],
  ['dpop-address', proving({ claims: { htu: tokenUrl } })],
  ['dpop-time', proving({ claims: { iat: nowS() - 3_600 } })],
  ['dpop-nonce', proving({ claims: { nonce: 'of-nobody' } })],
  [
    'dpop-token',
    async (headers) => atProfile(bound.access_token, { dpop: await proofOf(dpopKey, 'another'), ...headers }),
  ],
  [
    'dpop-other-key',
    async (headers) => atProfile(bound.access_token, { dpop: await proofOf(makeKey()), ...headers }),
  ],
  ['dpop-missing', (headers) => atProfile(bound.access_token, headers)],
  ['dpop-used', (headers) => atProfile(bound.access_token, { dpop: usedProof, ...headers })],
  [
    'token-scheme',
    (headers) => atProfile(bound.access_token, { authorization: `Bearer ${bound.access_token}`, ...headers }),
  ],
  ['fapi-key', (headers) => postForm(parUrl, { scope: 'read' }, { ...basic(by.client), ...headers })],
  [
    'fapi-pushed',
    (headers) =>
      new Browser(house.baseUrl).get(`/v1/oauth/authorize?client_id=${by.client.id}&scope=read`, headers),
  ],
  ['fapi-response-type', leavingOut('response_type')],
  ['fapi-callback', leavingOut('redirect_uri')],
  ['fapi-challenge', pushing({ fields: { code_challenge: '', code_challenge_method: '' } })],
  ['fapi-verifier', (headers) => exchanging(headers, 'code_verifier')],
  ['fapi-binding', (headers) => exchanging(headers, 'proof')],
  ['two-ways', (headers) => push(by, makePkce(), { headers: { ...basic(by.client), ...headers } })],
  [
    'request-uri',
    (headers) =>
      new Browser(house.baseUrl).get(`/v1/oauth/authorize?client_id=${by.client.id}&request_uri=x`, headers),
  ],
  [
    'fapi-state',
    async (headers) => {
      const standard = await house.makeClient({ partner })
      return new Browser(house.baseUrl).get(
        `/v1/oauth/authorize?client_id=${standard.id}&scope=read`,
        headers,
      )
    },
  ],
]

for (const [cause, make] of refused) {
  // So many lines of callers that proved nothing come from one network, and then it has to rest.
  if (cause === 'fapi-key') house.clock.advance(hour)
  await make({ 'x-request-id': `of-${cause}` })
}
const calls = await readCalls(house, by.client.branchId)
const member = await house.makeUser()
await addMember(house.gateway.context.db, partner, member, house.act())
const browser = await house.signIn(member)

for (const [cause] of refused)
  test(`a call that is refused by ${cause} stands in the portal’s list with the rule and the remedy`, async () => {
    const call = calls.find(({ requestId }) => requestId === `of-${cause}`)
    assert.equal(call?.cause, cause)
    const { text } = await browser.get(`/partner/${partner.branchId}/calls/${call.id}`)
    const plain = text.replaceAll('&#39;', "'").replaceAll('&quot;', '"')
    assert.ok(plain.includes(failureCauses[cause].problem) && plain.includes(failureCauses[cause].remedy))
  })

test('no rule is without a refusal here but those of certificates', () => {
  const told = new Set<string>(refused.map(([cause]) => cause))
  const rules = Object.keys({ ...assertionCauses, ...dpopCauses, ...demandCauses })
  assert.deepEqual(
    rules.filter((rule) => !told.has(rule)),
    ['assertion-certificate', 'token-certificate'],
  )
})

test('an assertion of another partner’s client puts nothing into this one’s list', async () => {
  const assertion = await signAssertion(other)
  await callAs(by, '/v1/oauth/par', { assertion, fields: {}, headers: { 'x-request-id': 'of-another' } })
  const all = await readCalls(house, by.client.branchId)
  assert.ok(!all.some(({ requestId }) => requestId === 'of-another'))
})
