/** Spec 4.3: POST /v1/oauth/accesstoken. Takes refreshes too, because generic OAuth libraries know one token URL. */
import Type from 'typebox'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { readRedirectUri } from '../../oauth/redirect-uri.ts'
import { readFields } from '../form-fields.ts'
import type { ClientCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { clientFields, field, formLimitBytes, refreshFor, sendTokens, tokenEndpointSchema } from './token-endpoint.ts'

export const accessToken: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    ...tokenEndpointSchema,
    summary: 'Exchange an authorization code for an access token',
    body: Type.Object({
      grant_type: field('authorization_code, or refresh_token'),
      code: Type.Optional(field('The authorization code')),
      redirect_uri: Type.Optional(
        field('When sent: the registered callback URL; code, state and iss may still be behind it'),
      ),
      code_verifier: Type.Optional(field('When the authorization request had a code_challenge')),
      refresh_token: Type.Optional(field('With grant_type=refresh_token')),
      scope: Type.Optional(field('With grant_type=refresh_token: fewer scopes than before')),
      ...clientFields,
    }),
  },
  async handle(context, caller, request, reply) {
    const form = readFields(request.body)
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = form.get('code')
        const sent = form.find('redirect_uri')
        const answered = { callbackUrl: caller.client.callback_url, code, issuer: context.baseUrl }
        const presented = {
          code,
          callbackUrl: sent === undefined ? undefined : readRedirectUri(sent, answered),
          verifier: form.find('code_verifier'),
        }
        return sendTokens(reply, await context.codes.exchange(caller.client, presented, caller.by))
      }
      case 'refresh_token':
        return sendTokens(reply, await refreshFor(context, caller, form))
      default:
        throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
    }
  },
}
