/** Spec 4.1: GET /v1/oauth/authorize. Judges the request and sends the browser to the login page; stores nothing. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Context } from '../context.ts'
import { cut } from '../cut.ts'
import { type Form, parseFormBytes, queryOf } from '../http/form.ts'
import {
  checkRecipient,
  judgeRequest,
  printErrorCallback,
  sealRequest,
  stateMaxCharacters,
} from '../oauth/authorization-request.ts'
import type { OAuthError } from '../oauth/oauth-error.ts'
import type { Registration } from '../partners/client.ts'
import { subnetOf } from '../subnet.ts'
import { pageHeaders } from './page.ts'

export const authorizeSchema = {
  summary: 'Start an authorization: send the browser here',
  tags: ['OAuth'],
  querystring: Type.Object({
    client_id: Type.String({ description: "The application's client id" }),
    scope: Type.String({ description: 'read, write, market, trade, stream; separated by spaces or commas' }),
    state: Type.String({
      description: 'A random string, echoed in the callback',
      minLength: 1,
      maxLength: stateMaxCharacters,
    }),
    response_type: Type.Optional(Type.Literal('code')),
    redirect_uri: Type.Optional(
      Type.String({ description: 'When sent: the registered callback URL, character by character' }),
    ),
    code_challenge: Type.Optional(Type.String({ description: 'PKCE (RFC 7636)', pattern: '^[A-Za-z0-9_-]{43}$' })),
    code_challenge_method: Type.Optional(Type.Literal('S256')),
  }),
  response: {
    302: Type.Unsafe<unknown>({ description: 'To the login page, or to the callback with an error', type: 'null' }),
  },
}

export async function authorize(context: Context, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { vault, environment, baseUrl, clock } = context
  const query = withoutEmpty(request.query as Form)
  const bytes = withoutEmpty(parseFormBytes(queryOf(request.raw.url ?? '')))
  const known = typeof query.client_id === 'string' ? await context.clients.find(query.client_id) : undefined
  const client = checkRecipient(query, known, environment)
  const judged = judgeRequest(query, bytes, client, clock.now())
  reply.headers(pageHeaders())
  if (judged.kind === 'refused') {
    request.refusal = judged.error.code
    context.recorder.record(describeAuthorize(context, request, client, judged.error))
    return reply.redirect(printErrorCallback(client.callback_url, judged.error, judged.state, baseUrl), 302)
  }
  return reply.redirect(`${baseUrl}/login?request=${sealRequest(vault, environment, judged.request)}`, 302)
}

/** A request for authorization comes from a browser: which client it is for is known, who sent it is not. */
function describeAuthorize(
  { environment, clock }: Context,
  request: FastifyRequest,
  client: Registration,
  error: OAuthError,
) {
  const query = request.query as Form
  const names = Object.keys(query).filter((name) => /^\w{1,60}$/.test(name))
  const plain = ['scope', 'response_type', 'code_challenge_method']
  return {
    ...{ environment, branchId: client.branch_id, clientId: client.id, isClaimed: true, at: clock.now() },
    caller: subnetOf(request.ip),
    ...{
      method: 'GET',
      route: '/v1/oauth/authorize',
      status: error.status,
      code: error.code,
      description: error.message,
    },
    sent: cut(
      names.map((name) => `${name}=${plain.includes(name) ? cut(String(query[name]), 200) : '••••'}`).join('\n'),
      1_000,
    ),
    requestId: request.id,
  }
}

/** RFC 6749, 3.1: a parameter without a value counts as one that was not sent. */
function withoutEmpty(form: Form): Form {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''))
}
