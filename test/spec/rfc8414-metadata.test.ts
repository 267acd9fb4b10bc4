/** RFC 8414: where everything is, and that it is where it says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postForm, send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'

const house = await openHouse()

const path = '/.well-known/oauth-authorization-server'

// M1
test('the metadata document names the exact endpoints and abilities of the site it is read from', async () => {
  for (const issuer of [house.baseUrl, house.sandboxUrl]) {
    const answer = await send(issuer + path)
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    const { service_documentation, ...document } = answer.json()
    const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']
    const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519']
    assert.deepEqual(document, {
      issuer,
      authorization_endpoint: `${issuer}/v1/oauth/authorize`,
      pushed_authorization_request_endpoint: `${issuer}/v1/oauth/par`,
      require_pushed_authorization_requests: false,
      token_endpoint: `${issuer}/v1/oauth/accesstoken`,
      revocation_endpoint: `${issuer}/v1/oauth/revoke`,
      introspection_endpoint: `${issuer}/v1/oauth/introspect`,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      scopes_supported: ['read', 'write', 'market', 'trade', 'stream'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      token_endpoint_auth_methods_supported: methods,
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
      dpop_signing_alg_values_supported: algorithms,
      introspection_signing_alg_values_supported: ['EdDSA'],
      code_challenge_methods_supported: ['S256'],
      acr_values_supported: ['password', 'second-factor', 'passkey'].map(
        (way) => `urn:countersign:acr:${way}`,
      ),
      authorization_response_iss_parameter_supported: true,
    })
    assert.equal(service_documentation, `${issuer}/partner`)
  }
})

test('libraries that ask for an OpenID configuration get the same document, which claims no OpenID', async () => {
  for (const site of [house.baseUrl, house.sandboxUrl]) {
    const answer = await send(`${site}/.well-known/openid-configuration`)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.json(), (await send(site + path)).json())
    assert.equal(answer.headers['cache-control'], 'public, max-age=3600')
    const openid = /openid|id_token|userinfo|subject_types|claims|end_session/
    for (const name of Object.keys(answer.json())) assert.doesNotMatch(name, openid)
    assert.doesNotMatch(answer.text, /"(openid|id_token|profile|email)"/)
  }
})

// M1
test('every endpoint that the document names is there', async () => {
  const client = await house.makeClient()
  const document = (await send(house.baseUrl + path)).json<Record<string, string>>()
  assert.equal((await send(document.authorization_endpoint!)).status, 400)
  for (const name of [
    ...['pushed_authorization_request_endpoint', 'token_endpoint'],
    ...['revocation_endpoint', 'introspection_endpoint'],
  ]) {
    const answer = await postForm(document[name]!, {}, basic(client))
    assert.equal(answer.status, 400, name)
    assert.equal(answer.json().error, 'invalid_request')
  }
})

// M1, O1
test('the issuer is what is configured, whatever host the request names', async () => {
  const sent = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const answer = await send(house.baseUrl + path, { headers: sent })
  assert.equal(answer.json().issuer, house.baseUrl)
  assert.ok(!answer.text.includes('evil.example'))
})

test('the interface is described as OpenAPI 3.1 with every operation of the OAuth part', async () => {
  const answer = await send(`${house.baseUrl}/openapi.json`)
  const document = answer.json<{
    openapi: string
    paths: Record<string, object>
    servers: { url: string }[]
  }>()
  assert.match(document.openapi, /^3\.1/)
  assert.equal(document.servers[0]?.url, house.baseUrl)
  const operations: [string, string][] = [
    ['/v1/oauth/authorize', 'get'],
    ['/v1/oauth/accesstoken', 'post'],
    ['/v1/oauth/refreshtoken', 'post'],
    ['/v1/oauth/revoke', 'post'],
    ['/v1/oauth/introspect', 'post'],
    ['/v1/user/profile', 'get'],
  ]
  for (const [operation, method] of operations)
    assert.ok(method in (document.paths[operation] ?? {}), operation)
})
