/**
 * RFC 8414: GET /.well-known/oauth-authorization-server; and the same at /.well-known/openid-configuration,
 * where several libraries look for it. Nothing in it claims OpenID: there are no ID tokens.
 */
import { namedAlgorithms as algorithms } from '../../crypto/jwk.ts'
import { acrs, printAcr } from '../../vocabulary/acr.ts'
import { Type, text } from '../../vocabulary/schema.ts'
import { scopes } from '../../vocabulary/scope.ts'
import type { Endpoint } from '../frame/route.ts'
import { documentationOf } from '../openapi/words.ts'
import { describeMtls, mtlsMembers, mtlsMethods } from './mutual-tls.ts'
import { publicKeysPath } from './public-keys.ts'

const address = (description: string) => text(`${description}.`, 'https://api.example.com')
const words = Type.Array(Type.String(), { description: 'What is supported.' })

const Metadata = Type.Object(
  {
    issuer: address('The address of this site'),
    authorization_endpoint: address('Where browsers are sent'),
    pushed_authorization_request_endpoint: address('Where authorization requests are pushed (RFC 9126)'),
    require_pushed_authorization_requests: Type.Boolean({
      description: 'Not of every application: of those whose profile is fapi2.',
    }),
    token_endpoint: address('Where codes are exchanged'),
    revocation_endpoint: address('Where tokens are revoked'),
    introspection_endpoint: address('Where tokens are asked about'),
    jwks_uri: address('The public keys of what this site signs'),
    scopes_supported: words,
    response_types_supported: words,
    response_modes_supported: words,
    grant_types_supported: words,
    token_endpoint_auth_methods_supported: words,
    token_endpoint_auth_signing_alg_values_supported: words,
    revocation_endpoint_auth_methods_supported: words,
    revocation_endpoint_auth_signing_alg_values_supported: words,
    introspection_endpoint_auth_methods_supported: words,
    introspection_endpoint_auth_signing_alg_values_supported: words,
    dpop_signing_alg_values_supported: words,
    introspection_signing_alg_values_supported: words,
    code_challenge_methods_supported: words,
    acr_values_supported: words,
    authorization_response_iss_parameter_supported: Type.Boolean({ description: 'RFC 9207.' }),
    ...mtlsMembers,
    service_documentation: address('The partner portal, for people; for programs there is /openapi.json'),
  },
  { title: 'Metadata', description: 'What RFC 8414 lists of this authorization server.' },
)

const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']

export const metadata: Endpoint<undefined> = {
  cors: '*',
  schema: {
    operationId: 'getAuthorizationServerMetadata',
    summary: 'Where the endpoints are and what they support',
    description: 'RFC 8414. Pages of any origin may read it.',
    tags: ['Discovery'],
    security: [],
    response: { 200: Metadata },
  },
  handle(context, _caller, _request, reply) {
    const { baseUrl } = context
    reply.header('cache-control', 'public, max-age=3600')
    const methods = [...authMethods, ...mtlsMethods(context)]
    const said = {
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/v1/oauth/authorize`,
      pushed_authorization_request_endpoint: `${baseUrl}/v1/oauth/par`,
      require_pushed_authorization_requests: false,
      token_endpoint: `${baseUrl}/v1/oauth/accesstoken`,
      revocation_endpoint: `${baseUrl}/v1/oauth/revoke`,
      introspection_endpoint: `${baseUrl}/v1/oauth/introspect`,
      jwks_uri: baseUrl + publicKeysPath,
      scopes_supported: [...scopes],
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
      acr_values_supported: acrs.map(printAcr),
      authorization_response_iss_parameter_supported: true,
      service_documentation: documentationOf(baseUrl),
    }
    return reply.send({ ...said, ...describeMtls(context, said) })
  },
}
