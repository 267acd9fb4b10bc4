/** Spec 4.4: POST /v1/oauth/refreshtoken. */
import { OAuthError } from '../../oauth/oauth-error.ts'
import { oneOf, Type } from '../../vocabulary/schema.ts'
import { readFields } from '../frame/form-fields.ts'
import type { Endpoint } from '../frame/route.ts'
import type { ClientCaller } from '../gates/gates.ts'
import {
  clientFields,
  formLimitBytes,
  NarrowerScope,
  neededField,
  Resources,
  refreshFor,
  sendTokens,
  tokenEndpointSchema,
} from './token-endpoint.ts'

const RefreshRequest = Type.Object(
  {
    grant_type: oneOf(['refresh_token'], { description: 'Codes are exchanged at /v1/oauth/accesstoken.' }),
    refresh_token: neededField('The refresh token.'),
    scope: Type.Optional(NarrowerScope),
    resource: Type.Optional(Resources),
    ...clientFields,
  },
  {
    title: 'RefreshRequest',
    description: 'A refresh token.',
    examples: [{ grant_type: 'refresh_token', refresh_token: 'REFRESH_TOKEN' }],
  },
)

export const refreshToken: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    ...tokenEndpointSchema,
    operationId: 'refreshAccessToken',
    summary: 'Get a new access token with a refresh token',
    description:
      'For partners with refresh access. The same refresh token stays good and comes back with the answer, unless rotation was switched on for the application: then each answer brings a new one.',
    body: RefreshRequest,
  },
  async handle(context, caller, request, reply) {
    const form = readFields(request.body)
    if (form.get('grant_type') !== 'refresh_token') {
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be refresh_token here. Codes are exchanged at /v1/oauth/accesstoken.',
      )
    }
    return sendTokens(reply, await refreshFor(context, caller, form, request))
  },
}
