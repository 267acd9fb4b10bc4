/** RFC 7662: POST /v1/oauth/introspect. */
import Type from 'typebox'
import { type Asker, Introspection, introspect as look } from '../../oauth/introspection.ts'
import { readFields } from '../form-fields.ts'
import type { Endpoint } from '../route.ts'
import { clientFields, field, formLimitBytes, OAuthErrorBody, sendUnstored } from './token-endpoint.ts'

export const introspect: Endpoint<Asker> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    summary: 'What a token means: for the client it was issued to, and for services of the brokerage',
    tags: ['OAuth'],
    security: [{ client: [] }],
    consumes: ['application/x-www-form-urlencoded'],
    body: Type.Object({
      token: Type.Optional(field('The token')),
      token_type_hint: Type.Optional(field('Not needed')),
      ...clientFields,
    }),
    response: { 200: Introspection, '4xx': OAuthErrorBody },
  },
  handle(context, asker, request, reply) {
    const found = look(context, asker, readFields(request.body).get('token'))
    return found instanceof Promise ? found.then((known) => sendUnstored(reply, known)) : sendUnstored(reply, found)
  },
}
