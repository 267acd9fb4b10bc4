/** Spec 4.4: POST /v1/oauth/refreshtoken. */
import Type from 'typebox'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { readFields } from '../form-fields.ts'
import type { ClientCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { clientFields, field, formLimitBytes, refreshFor, sendTokens, tokenEndpointSchema } from './token-endpoint.ts'

export const refreshToken: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    ...tokenEndpointSchema,
    summary: 'Get a new access token with a refresh token (partners with refresh access)',
    body: Type.Object({
      grant_type: field('refresh_token'),
      refresh_token: Type.Optional(field('The refresh token')),
      scope: Type.Optional(field('Fewer scopes than before')),
      ...clientFields,
    }),
  },
  async handle(context, caller, request, reply) {
    const form = readFields(request.body)
    if (form.get('grant_type') !== 'refresh_token') {
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be refresh_token here. Codes are exchanged at /v1/oauth/accesstoken.',
      )
    }
    return sendTokens(reply, await refreshFor(context, caller, form))
  },
}
