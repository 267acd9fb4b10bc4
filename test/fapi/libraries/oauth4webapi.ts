import * as oauth from 'oauth4webapi'
import { callbackUrl } from '../../support/fapi.ts'
import { type Program, type Setup, usesAliases } from './program.ts'

export async function openOauth4webapi(setup: Setup): Promise<Program> {
  const { issuer, clientId, key, isBoundByCertificate } = setup
  const by = { [oauth.customFetch]: setup.fetch as never }
  const server = await discover(issuer, by)
  const client: oauth.Client = { client_id: clientId, use_mtls_endpoint_aliases: usesAliases(setup) }
  const auth = key ? oauth.PrivateKeyJwt(key) : oauth.TlsClientAuth()
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'))
  const bound = isBoundByCertificate ? by : { ...by, DPoP }
  const verifier = oauth.generateRandomCodeVerifier()
  const call = [server, client, auth] as const
  return {
    mtlsOrigin: new URL(server.mtls_endpoint_aliases!.token_endpoint!).origin,
    async start() {
      const asked = {
        ...{ redirect_uri: callbackUrl, scope: 'read', response_type: 'code' },
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      const { request_uri } = await withNonce(async () => {
        const answer = await oauth.pushedAuthorizationRequest(...call, asked, bound)
        return oauth.processPushedAuthorizationResponse(server, client, answer)
      })
      const address = new URL(server.authorization_endpoint!)
      address.search = String(new URLSearchParams({ client_id: clientId, request_uri }))
      return address
    },
    finish(calledAt) {
      const told = oauth.validateAuthResponse(server, client, calledAt, oauth.expectNoState)
      return withNonce(async () => {
        const answer = await oauth.authorizationCodeGrantRequest(...call, told, callbackUrl, verifier, bound)
        return oauth.processAuthorizationCodeResponse(server, client, answer)
      })
    },
    refresh: (refreshToken) =>
      withNonce(async () => {
        const answer = await oauth.refreshTokenGrantRequest(...call, refreshToken, bound)
        return oauth.processRefreshTokenResponse(server, client, answer)
      }),
    getWebhookToken: () =>
      withNonce(async () => {
        const answer = await oauth.clientCredentialsGrantRequest(...call, { scope: 'webhooks' }, bound)
        return oauth.processClientCredentialsResponse(server, client, answer)
      }),
    read: (token, url) =>
      withNonce(() => oauth.protectedResourceRequest(token, 'GET', url, undefined, undefined, bound)),
    async introspect(token) {
      const answer = await oauth.introspectionRequest(...call, token, by)
      return oauth.processIntrospectionResponse(server, client, answer)
    },
    async revoke(token) {
      await oauth.processRevocationResponse(await oauth.revocationRequest(...call, token, by))
    },
  }
}

async function discover(
  issuer: URL,
  by: oauth.HttpRequestOptions<'GET'>,
): Promise<oauth.AuthorizationServer> {
  const found = await oauth.discoveryRequest(issuer, { ...by, algorithm: 'oauth2' })
  return oauth.processDiscoveryResponse(issuer, found)
}

/** It remembers a nonce that is demanded, and leaves it to the program to ask again. */
async function withNonce<Value>(call: () => Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    if (oauth.isDPoPNonceError(error)) return call()
    throw error
  }
}
