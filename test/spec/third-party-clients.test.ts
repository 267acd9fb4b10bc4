/**
 * Libraries that partners use go the whole way, each as its documentation shows it.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { openHouse } from '../support/gateway.ts'
import { openHolder } from '../support/oauth.ts'
import { approveForm } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient({ callbackUrl: 'https://app.example.com/callback?tenant=7' })
const holder = await openHolder(house)

/** The user follows the library's own address and allows what it asks; answers where the browser ends up. */
async function approveAt(address: string | URL): Promise<URL> {
  const browser = await holder.browser()
  const start = await browser.get(String(address))
  assert.equal(start.status, 302)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const answer = await browser.post('/consent', approveForm(page))
  assert.equal(answer.status, 303)
  return new URL(answer.location!)
}

interface SimpleToken {
  readonly token: {
    access_token: string
    refresh_token: string
    expires_in: number
    expires_at: Date
    scope: string
  }
  expired(): boolean
  refresh(params?: object): Promise<SimpleToken>
  revoke(kind: 'access_token' | 'refresh_token'): Promise<void>
}
interface SimpleClient {
  authorizeURL(params: object): string
  getToken(params: object): Promise<SimpleToken>
}
const { AuthorizationCode } = createRequire(import.meta.url)('simple-oauth2') as {
  AuthorizationCode: new (config: object) => SimpleClient
}

const simpleWays = [
  { refreshPath: '/v1/oauth/accesstoken', options: {} },
  { refreshPath: '/v1/oauth/refreshtoken', options: {} },
  {
    refreshPath: '/v1/oauth/refreshtoken',
    options: { credentialsEncodingMode: 'loose', scopeSeparator: ',' },
  },
  { refreshPath: '/v1/oauth/accesstoken', options: { authorizationMethod: 'body' } },
]
for (const { refreshPath, options } of simpleWays) {
  test(`simple-oauth2 goes the whole way, refreshing at ${refreshPath} with ${JSON.stringify(options)}`, async () => {
    const simple = new AuthorizationCode({
      client: { id: client.id, secret: client.secret },
      auth: {
        tokenHost: house.baseUrl,
        tokenPath: '/v1/oauth/accesstoken',
        authorizePath: '/v1/oauth/authorize',
        revokePath: '/v1/oauth/revoke',
        refreshPath,
      },
      options,
    })
    const asked = { redirectURI: client.callbackUrl, scope: ['trade', 'read'], state: 'a b+c' }
    const back = await approveAt(simple.authorizeURL(asked))
    assert.equal(back.searchParams.get('state'), 'a b+c')
    const code = back.searchParams.get('code')
    const first = await simple.getToken({ code, redirectURI: client.callbackUrl })
    assert.equal(first.token.scope, 'read trade')
    assert.equal(first.expired(), false)
    assert.equal((await house.profile(first.token.access_token)).status, 200)

    const second = await first.refresh({ scope: ['read'] })
    assert.equal(second.token.refresh_token, first.token.refresh_token)
    assert.equal((await house.profile(second.token.access_token)).status, 200)
    await second.revoke('access_token')
    assert.equal((await house.profile(second.token.access_token)).status, 401)
    await first.revoke('refresh_token')
    await assert.rejects(first.refresh())
  })
}

const insecure = { [oauth.allowInsecureRequests]: true }

async function discover(origin: string): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(origin)
  const response = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
  return oauth.processDiscoveryResponse(issuer, response)
}

for (const [name, authenticate] of [
  ['client_secret_basic', oauth.ClientSecretBasic],
  ['client_secret_post', oauth.ClientSecretPost],
] as const) {
  test(`oauth4webapi goes the whole way with discovery, PKCE, iss and ${name}`, async () => {
    const server = await discover(house.baseUrl)
    const self: oauth.Client = { client_id: client.id }
    const auth = authenticate(client.secret)
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const address = new URL(server.authorization_endpoint!)
    address.search = new URLSearchParams({
      client_id: client.id,
      redirect_uri: client.callbackUrl,
      response_type: 'code',
      scope: 'read market',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()

    const back = oauth.validateAuthResponse(server, self, await approveAt(address), state)
    const callback = client.callbackUrl
    const exchanged = await oauth.authorizationCodeGrantRequest(
      server,
      self,
      auth,
      back,
      callback,
      verifier,
      insecure,
    )
    const first = await oauth.processAuthorizationCodeResponse(server, self, exchanged)
    assert.equal(first.token_type, 'bearer')
    assert.equal(first.expires_in, 86_400)
    assert.equal(first.scope, 'read market')

    const profile = new URL(`${house.baseUrl}/v1/user/profile`)
    const read = (token: string) =>
      oauth.protectedResourceRequest(token, 'GET', profile, undefined, undefined, insecure)
    assert.equal((await read(first.access_token)).status, 200)

    const refreshed = await oauth.refreshTokenGrantRequest(server, self, auth, first.refresh_token!, insecure)
    const second = await oauth.processRefreshTokenResponse(server, self, refreshed)
    const asked = await oauth.introspectionRequest(server, self, auth, second.access_token, insecure)
    const meaning = await oauth.processIntrospectionResponse(server, self, asked)
    assert.equal(meaning.active, true)
    assert.equal(meaning.iss, server.issuer)

    const given = await oauth.revocationRequest(server, self, auth, second.access_token, insecure)
    await oauth.processRevocationResponse(given)
    await assert.rejects(read(second.access_token), oauth.WWWAuthenticateChallengeError)
  })
}

// M2
test('oauth4webapi understands a denial, and refuses a callback that another issuer sent', async () => {
  const server = await discover(house.baseUrl)
  const self: oauth.Client = { client_id: client.id }
  const query = new URLSearchParams({ client_id: client.id, scope: 'nope', state: 'st' })
  const refused = await (await holder.browser()).get(`/v1/oauth/authorize?${query}`)
  assert.throws(
    () => oauth.validateAuthResponse(server, self, new URL(refused.location!), 'st'),
    (error: unknown) => error instanceof oauth.AuthorizationResponseError && error.error === 'invalid_scope',
  )
  const told = await holder.callback(client)
  const sandbox = await discover(house.sandboxUrl)
  assert.throws(() => oauth.validateAuthResponse(sandbox, self, told, 'st'), oauth.OperationProcessingError)
})

test('oauth4webapi understands the errors of the token endpoint', async () => {
  const server = await discover(house.baseUrl)
  const self: oauth.Client = { client_id: client.id }
  const refresh = (secret: string) =>
    oauth.refreshTokenGrantRequest(server, self, oauth.ClientSecretBasic(secret), 'x', insecure)
  await assert.rejects(
    oauth.processRefreshTokenResponse(server, self, await refresh(client.secret)),
    (error: unknown) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant',
  )
  await assert.rejects(
    async () => oauth.processRefreshTokenResponse(server, self, await refresh('wrong')),
    (error: unknown) => error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401,
  )
})

test('openid-client goes the whole way in the sandbox', async () => {
  const sandboxed = await house.makeClient({
    environment: 'sandbox',
    callbackUrl: 'http://127.0.0.1:3000/cb',
  })
  const config = await openid.discovery(
    new URL(house.sandboxUrl),
    sandboxed.id,
    sandboxed.secret,
    undefined,
    {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    },
  )
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const expectedState = openid.randomState()
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: sandboxed.callbackUrl,
    scope: 'read stream',
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const browser = await holder.browser('sandbox')
  const start = await browser.get(address.href)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const { location } = await browser.post('/consent', approveForm(page))

  const checks = { pkceCodeVerifier, expectedState }
  const first = await openid.authorizationCodeGrant(config, new URL(location!), checks)
  // It counts the seconds that have passed since.
  assert.ok(first.expiresIn()! > 86_300 && first.expiresIn()! <= 86_400)
  const profile = new URL(`${house.sandboxUrl}/v1/user/profile`)
  assert.equal((await openid.fetchProtectedResource(config, first.access_token, profile, 'GET')).status, 200)
  const second = await openid.refreshTokenGrant(config, first.refresh_token!, { scope: 'stream' })
  assert.equal(second.scope, 'stream')
  assert.equal((await openid.tokenIntrospection(config, second.access_token)).active, true)
  await openid.tokenRevocation(config, first.refresh_token!)
  assert.equal((await openid.tokenIntrospection(config, second.access_token)).active, false)
  await assert.rejects(openid.authorizationCodeGrant(config, new URL(location!), checks))
})

// facts.md
test('a brokerage client of the old kind works: commas, credentials in the form, no Accept, a code decoded twice', async () => {
  const back = await approveAt(
    `${house.baseUrl}/v1/oauth/authorize?type=web_server&client_id=${client.id}&scope=read,trade&state=7`,
  )
  const code = decodeURIComponent(decodeURIComponent(back.searchParams.get('code')!))
  const response = await fetch(`${house.baseUrl}/v1/oauth/accesstoken`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', accept: '' },
    body: `client_id=${client.id}&client_secret=${client.secret}&grant_type=authorization_code&code=${code}&scope=`,
  })
  assert.equal(response.status, 200)
  assert.equal(((await response.json()) as { scope: string }).scope, 'read trade')
})
