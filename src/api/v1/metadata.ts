/**
 * RFC 8414: GET /.well-known/oauth-authorization-server; and the same at /.well-known/openid-configuration, where several libraries
 * look for it. Nothing in it claims OpenID: there are no ID tokens.
 */
import Type from 'typebox'
import { scopes } from '../../scope.ts'
import type { Endpoint } from '../route.ts'

const Metadata = Type.Object({
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
  revocation_endpoint: Type.String(),
  introspection_endpoint: Type.String(),
  scopes_supported: Type.Array(Type.String()),
  response_types_supported: Type.Array(Type.String()),
  response_modes_supported: Type.Array(Type.String()),
  grant_types_supported: Type.Array(Type.String()),
  token_endpoint_auth_methods_supported: Type.Array(Type.String()),
  revocation_endpoint_auth_methods_supported: Type.Array(Type.String()),
  introspection_endpoint_auth_methods_supported: Type.Array(Type.String()),
  code_challenge_methods_supported: Type.Array(Type.String()),
  authorization_response_iss_parameter_supported: Type.Boolean(),
  service_documentation: Type.String(),
})

const authMethods = ['client_secret_basic', 'client_secret_post']

export const metadata: Endpoint<undefined> = {
  schema: { summary: 'Where the endpoints are and what they support', tags: ['OAuth'], response: { 200: Metadata } },
  handle({ baseUrl }, _caller, _request, reply) {
    reply.header('cache-control', 'public, max-age=3600')
    return reply.send({
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/v1/oauth/authorize`,
      token_endpoint: `${baseUrl}/v1/oauth/accesstoken`,
      revocation_endpoint: `${baseUrl}/v1/oauth/revoke`,
      introspection_endpoint: `${baseUrl}/v1/oauth/introspect`,
      scopes_supported: [...scopes],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: authMethods,
      revocation_endpoint_auth_methods_supported: authMethods,
      introspection_endpoint_auth_methods_supported: authMethods,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${baseUrl}/openapi.json`,
    })
  },
}
