import * as openid from 'openid-client'
import { callbackUrl } from '../../support/fapi.ts'
import { type Program, type Setup, usesAliases } from './program.ts'

export async function openOpenidClient(setup: Setup): Promise<Program> {
  const config = await configure(setup)
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const bound = setup.isBoundByCertificate ? {} : { DPoP }
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  return {
    mtlsOrigin: new URL(config.serverMetadata().mtls_endpoint_aliases!.token_endpoint!).origin,
    async start() {
      const asked = {
        ...{ redirect_uri: callbackUrl, scope: 'read', response_type: 'code' },
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      }
      return openid.buildAuthorizationUrlWithPAR(config, asked, bound)
    },
    finish: (calledAt) =>
      openid.authorizationCodeGrant(config, calledAt, { pkceCodeVerifier }, undefined, bound),
    refresh: (refreshToken) => openid.refreshTokenGrant(config, refreshToken, undefined, bound),
    getWebhookToken: () => openid.clientCredentialsGrant(config, { scope: 'webhooks' }, bound),
    read: (token, url) => openid.fetchProtectedResource(config, token, url, 'GET', null, undefined, bound),
    introspect: (token) => openid.tokenIntrospection(config, token),
    revoke: (token) => openid.tokenRevocation(config, token),
  }
}

function configure(setup: Setup): Promise<openid.Configuration> {
  const { issuer, clientId, fetch, key } = setup
  const auth = key ? openid.PrivateKeyJwt(key) : openid.TlsClientAuth()
  const how = { algorithm: 'oauth2', [openid.customFetch]: fetch } as openid.DiscoveryRequestOptions
  const metadata = { use_mtls_endpoint_aliases: usesAliases(setup) }
  return openid.discovery(issuer, clientId, metadata, auth, how)
}
