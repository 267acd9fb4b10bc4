/** RFC 7662: POST /v1/oauth/introspect. */
import { Introspection, type IntrospectionCaller, introspect as look } from '../../oauth/introspection.ts'
import { readFields } from '../frame/form-fields.ts'
import type { Endpoint } from '../frame/route.ts'
import { formLimitBytes, sendUnstored, TokenQuestion } from './token-endpoint.ts'

export const introspect: Endpoint<IntrospectionCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    operationId: 'introspectToken',
    summary: 'Ask what a token means',
    description:
      "RFC 7662. A client learns of its own tokens, the brokerage's services of every bearer; of anything else they hear that it is not active.",
    tags: ['OAuth'],
    security: [{ clientBasic: [] }],
    body: TokenQuestion,
    response: { 200: Introspection },
  },
  handle(context, asker, request, reply) {
    const found = look(context, asker, readFields(request.body).get('token'))
    return found instanceof Promise
      ? found.then((known) => sendUnstored(reply, known))
      : sendUnstored(reply, found)
  },
}
