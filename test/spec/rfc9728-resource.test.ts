/**
 * RFC 9728 and RFC 6750, 3: what an address wants of a Bearer token is said in a document and in every
 * challenge.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { apiRoutes } from '../../src/api/routes.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { type Answer, type SentRequest, send } from '../support/browser.ts'
import { makeKey, type TestKey } from '../support/client-keys.ts'
import {
  exchange,
  type Fapi2Client,
  getProfile,
  makeCode,
  makeFapi2Client,
  makePkce,
} from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'
import { openHolder } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

const wellKnown = '/.well-known/oauth-protected-resource'
const insecure = { [oauth.allowInsecureRequests]: true }
const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

/**
 * The parameters of the challenge of Bearer, read as strictly as RFC 9110, 11.6.1 allows. That of DPoP stands
 * behind it where nothing was sent.
 */
function readChallenge(answer: Answer): Record<string, string> {
  const text = String(answer.headers['www-authenticate']).replace(/, DPoP algs="[\w ]+"$/, '')
  assert.match(text, /^Bearer [a-z_]+="[^"\\]*"(, [a-z_]+="[^"\\]*")*$/, text)
  const pairs = [...text.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!] as const)
  assert.equal(new Set(pairs.map(([name]) => name)).size, pairs.length, text)
  return Object.fromEntries(pairs)
}

test('each site describes itself as a resource: its own authorization server, scopes and the header alone', async () => {
  for (const resource of [house.baseUrl, house.sandboxUrl]) {
    const answer = await send(resource + wellKnown)
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    const { resource_documentation, ...document } = answer.json()
    await assertForPeople(resource_documentation)
    await assertForPeople(
      (await send(`${resource}/.well-known/oauth-authorization-server`)).json().service_documentation,
    )
    assert.deepEqual(document, {
      resource,
      resource_name: 'Brokerage Partner Interface',
      authorization_servers: [resource],
      scopes_supported: ['read'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
      dpop_bound_access_tokens_required: false,
    })
  }
})

/** A browser that follows it ends at a page, though perhaps one to sign in on. */
async function assertForPeople(url: unknown): Promise<void> {
  const headers = { accept: 'text/html' }
  const first = await send(String(url), { headers })
  const page =
    first.location === undefined ? first : await send(new URL(first.location, String(url)).href, { headers })
  assert.equal(page.status, 200, String(url))
  assert.match(String(page.headers['content-type']), /^text\/html/)
}

test('the site advertises the scopes that one of its addresses takes, and no other', async () => {
  const { scopes_supported } = (await send(house.baseUrl + wellKnown)).json<{ scopes_supported: string[] }>()
  const taken = apiRoutes.flatMap(({ protection }) =>
    protection?.tokens === 'issued' ? [protection.scope] : [],
  )
  assert.deepEqual(scopes_supported, [...new Set(taken)])
})

/** What a request there must look like to be judged by its token. */
function requestTo(method: string, token: string): SentRequest {
  if (method === 'GET' || method === 'DELETE') return { method, headers: bearing(token) }
  return {
    method: method as 'POST',
    headers: { ...bearing(token), 'content-type': 'application/json' },
    body: '{}',
  }
}

/** Everything but documents, forms of clients, and what is for systems of the brokerage. */
const operations = apiRoutes
  .filter(
    ({ path, environmentOf }) =>
      !environmentOf && !/^\/(openapi\.json$|\.well-known\/|v1\/oauth\/)/.test(path),
  )
  .map(({ method, path }) => ({ method: String(method), path: path.replaceAll(/:\w+/g, '7') }))

test('every Bearer challenge of every address names a scope and a document that is about that very address', async () => {
  assert.ok(operations.length >= 20, `${operations.length} operations`)
  for (const origin of [house.baseUrl, house.sandboxUrl]) {
    const environment = origin === house.baseUrl ? 'live' : 'sandbox'
    const tokens = ['x', '', issueToken('access', environment).text, issueToken('personal', environment).text]
    for (const { method, path } of operations) {
      for (const token of [
        ...tokens,
        issueToken('personal', environment === 'live' ? 'sandbox' : 'live').text,
      ]) {
        const answer = await send(`${origin}${path}?limit=1`, requestTo(method, token))
        assert.equal(answer.status, 401, `${method} ${path}`)
        const challenge = readChallenge(answer)
        assert.equal(challenge.error, 'invalid_token')
        assert.equal(challenge.scope, 'read')
        assert.equal(challenge.resource_metadata, `${origin}${wellKnown}${path}`)
      }
      const document = (await send(`${origin}${wellKnown}${path}`)).json()
      assert.equal(document.resource, origin + path)
      assert.deepEqual(document.scopes_supported, ['read'])
    }
  }
})

test('without a token the challenge has scope and document, and no error', async () => {
  for (const headers of [{}, { authorization: 'Digest x' }, { authorization: '' }]) {
    const { realm, ...rest } = readChallenge(await send(`${house.baseUrl}/v1/user/profile`, { headers }))
    assert.equal(realm, 'countersign')
    assert.deepEqual(rest, {
      scope: 'read',
      resource_metadata: `${house.baseUrl}${wellKnown}/v1/user/profile`,
    })
  }
})

test('with a token that lacks the scope the 403 names it together with those held, and the document', async () => {
  const { access_token } = await holder.tokens(client, { scope: 'trade market' })
  const answer = await house.profile(access_token)
  assert.equal(answer.status, 403)
  const { error, scope, resource_metadata } = readChallenge(answer)
  assert.deepEqual({ error, scope }, { error: 'insufficient_scope', scope: 'read market trade' })
  assert.equal(resource_metadata, `${house.baseUrl}${wellKnown}/v1/user/profile`)
})

test('an authorization server is named where its tokens are taken, and only there', async () => {
  const documents = apiRoutes.filter(({ path }) => path.startsWith(`${wellKnown}/`)).map(({ path }) => path)
  assert.ok(documents.length >= 12, documents.join(' '))
  for (const path of documents) {
    const { authorization_servers } = (await send(house.baseUrl + path.replaceAll(/:\w+/g, '7'))).json()
    const expected = path.startsWith(`${wellKnown}/v2/`) ? undefined : [house.baseUrl]
    assert.deepEqual(authorization_servers, expected, path)
  }
})

test('proofs count by each algorithm that is named, and by no other, and are not demanded of every token', async () => {
  const url = `${house.baseUrl}/v1/user/profile`
  const document = (await send(house.baseUrl + wellKnown + new URL(url).pathname)).json<{
    dpop_signing_alg_values_supported: string[]
    dpop_bound_access_tokens_required: boolean
  }>()
  const named = document.dpop_signing_alg_values_supported
  const by = await makeFapi2Client(house)
  const kinds = { ES256: 'ES256', PS256: 'PS256', RS256: 'PS256', EdDSA: 'EdDSA', Ed25519: 'EdDSA' } as const
  for (const [alg, kind] of Object.entries(kinds)) {
    const key = makeKey(kind)
    const bound = await getTokensBy(by, key, kind)
    const answer = await getProfile(by, key, bound.access_token, { alg })
    assert.equal(answer.status, named.includes(alg) ? 200 : 401, alg)
  }
  assert.equal(document.dpop_bound_access_tokens_required, false)
  const { access_token } = await holder.tokens(client, { scope: 'read' })
  assert.equal((await house.profile(access_token)).status, 200, 'a bearer of another client')
})

async function getTokensBy(by: Fapi2Client, key: TestKey, alg: string): Promise<{ access_token: string }> {
  const pkce = makePkce()
  const answer = await exchange(by, key, await makeCode(by, pkce), pkce, { proof: { alg } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

test('what names algorithms names the same', async () => {
  const documents = apiRoutes.filter(({ path }) => path.startsWith(`${wellKnown}/`)).map(({ path }) => path)
  const metadata = (await send(`${house.baseUrl}/.well-known/oauth-authorization-server`)).json()
  for (const path of ['', ...documents.map((each) => each.slice(wellKnown.length))]) {
    const address = path.replaceAll(/:\w+/g, '7')
    const said = (await send(house.baseUrl + wellKnown + address)).json<Record<string, string[]>>()
    assert.deepEqual(said.dpop_signing_alg_values_supported, metadata.dpop_signing_alg_values_supported)
  }
  const challenge = String((await send(`${house.baseUrl}/v1/user/profile`)).headers['www-authenticate'])
  const [, algs = ''] = /DPoP algs="([^"]+)"/.exec(challenge)!
  for (const alg of algs.split(' '))
    assert.ok((metadata.dpop_signing_alg_values_supported as string[]).includes(alg), alg)
})

test('whatever host or address is asked for, a challenge and a document stay what they are', async () => {
  const forged = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const answer = await send(`${house.baseUrl}/v1/user/profile?x="`, { headers: forged })
  assert.equal(readChallenge(answer).resource_metadata, `${house.baseUrl}${wellKnown}/v1/user/profile`)
  const document = await send(`${house.baseUrl}${wellKnown}/v1/user/profile?resource=x`, { headers: forged })
  assert.equal(document.json().resource, `${house.baseUrl}/v1/user/profile`)
  for (const id of ['%22,%20x=%22', "'", '%0d%0a', '7;x', '%5c', 'é']) {
    const odd = await send(encodeURI(`${house.baseUrl}/v2/webhooks/`) + id, { headers: bearing('x') })
    const { resource_metadata } = readChallenge(odd)
    assert.equal((await send(resource_metadata!)).json().resource, resource_metadata?.replace(wellKnown, ''))
  }
  for (const path of ['/v1/nowhere', '/v1/oauth/accesstoken', '/']) {
    assert.equal((await send(house.baseUrl + wellKnown + path)).status, 404, path)
  }
})

test('oauth4webapi finds the resource, its server and the scope from one refused call', async () => {
  const profile = new URL(`${house.baseUrl}/v1/user/profile`)
  const refused = await oauth
    .protectedResourceRequest('x', 'GET', profile, undefined, undefined, insecure)
    .catch((error: unknown) => error as oauth.WWWAuthenticateChallengeError)
  assert.ok(refused instanceof oauth.WWWAuthenticateChallengeError)
  const [challenge] = refused.cause
  assert.equal(challenge?.parameters.scope, 'read')
  assert.equal(challenge?.parameters.resource_metadata, `${house.baseUrl}${wellKnown}/v1/user/profile`)
  for (const resource of [profile, new URL(house.baseUrl)]) {
    const response = await oauth.resourceDiscoveryRequest(resource, insecure)
    const found = await oauth.processResourceDiscoveryResponse(resource, response)
    assert.deepEqual(found.authorization_servers, [house.baseUrl])
  }
})
