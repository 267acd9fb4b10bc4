/** RFC 7009: POST /v1/oauth/revoke. */
import Type from 'typebox'
import { revokeToken } from '../../oauth/revocation.ts'
import { readFields } from '../form-fields.ts'
import type { ClientCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { clientFields, field, formLimitBytes, OAuthErrorBody, sendUnstored } from './token-endpoint.ts'

export const revoke: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    summary: 'Revoke an access token, or a refresh token with every access token that came of it',
    tags: ['OAuth'],
    security: [{ client: [] }],
    consumes: ['application/x-www-form-urlencoded'],
    body: Type.Object({
      token: Type.Optional(field('The token')),
      token_type_hint: Type.Optional(field('Not needed')),
      ...clientFields,
    }),
    response: { 200: Type.Object({}), '4xx': OAuthErrorBody },
  },
  async handle(context, { client, by }, request, reply) {
    const token = readFields(request.body).get('token')
    await revokeToken(context.db, context.changes, client, token, by, context.clock.now())
    return sendUnstored(reply, {})
  },
}
