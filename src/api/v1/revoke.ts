/** RFC 7009: POST /v1/oauth/revoke. */
import { revokeToken } from '../../oauth/revocation.ts'
import { Type } from '../../vocabulary/schema.ts'
import { readFields } from '../frame/form-fields.ts'
import type { Endpoint } from '../frame/route.ts'
import type { ClientCaller } from '../gates/gates.ts'
import { formLimitBytes, sendUnstored, TokenQuestion } from './token-endpoint.ts'

/** RFC 7009, 2.2: there is nothing to say. */
const Revoked = Type.Object({}, { title: 'Revoked', description: 'The token counts no more.' })

export const revoke: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    operationId: 'revokeToken',
    summary: 'Revoke an access token or a refresh token',
    description:
      "RFC 7009. A revoked refresh token takes every access token that came of it along. A token that does not exist, or is another client's, is answered the same.",
    tags: ['OAuth'],
    security: [{ clientBasic: [] }],
    body: TokenQuestion,
    response: { 200: Revoked },
  },
  async handle(context, { client, act }, request, reply) {
    const token = readFields(request.body).get('token')
    await revokeToken(context.db, client, token, act)
    return sendUnstored(reply, {})
  },
}
