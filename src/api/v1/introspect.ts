/** RFC 7662: POST /v1/oauth/introspect; signed, where that is asked for (RFC 9701). */
import type { FastifyRequest } from 'fastify'
import {
  Introspection,
  type IntrospectionCaller,
  introspect as look,
  signedIntrospectionType,
  signIntrospection,
} from '../../oauth/introspection.ts'
import { Type } from '../../vocabulary/schema.ts'
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
    description: `RFC 7662. A client learns of its own tokens, the brokerage's services of every bearer that is for them; of anything else they hear that it is not active. With \`Accept: ${signedIntrospectionType}\`, and no JSON in it, the answer is a signed token (RFC 9701): the same stands in its \`token_introspection\`, and its \`aud\` is who asks.`,
    tags: ['OAuth'],
    security: [{ clientBasic: [] }],
    body: TokenQuestion,
    response: { 200: Introspection },
    signed: Type.String({ description: 'A compact JWS (EdDSA), by a key of /.well-known/jwks.json.' }),
  },
  handle(context, asker, request, reply) {
    const found = look(context, asker, readFields(request.body).get('token'))
    const send = (known: string) => {
      if (!wantsSigned(request)) return sendUnstored(reply, known)
      reply.headers({ 'cache-control': 'no-store', 'content-type': signedIntrospectionType })
      return reply.send(signIntrospection(context, asker, known, context.clock.now()))
    }
    return found instanceof Promise ? found.then(send) : send(found)
  },
}

/** As with streams: generated clients name every type that the document lists. */
function wantsSigned({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes(signedIntrospectionType) && !/application\/json/i.test(accept)
}
