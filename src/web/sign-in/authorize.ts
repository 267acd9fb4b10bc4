/**
 * Spec 4.1: GET /v1/oauth/authorize. Judges the request and sends the browser to the login page; stores
 * nothing.
 */
import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import type { OperationSchema } from '../../http/described-route.ts'
import { type Form, parseFormBytes, queryOf } from '../../http/form.ts'
import {
  checkRecipient,
  type JudgedRequest,
  judgeRequest,
  printErrorCallback,
  sealRequest,
  stateMaxCharacters,
  statePattern,
  stateWideCharacters,
  stateWideLength,
} from '../../oauth/authorization-request.ts'
import { findResourceFault } from '../../oauth/resources.ts'
import type { Registration } from '../../partners/client.ts'
import { acrs, printAcr } from '../../vocabulary/acr.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { scopePattern } from '../../vocabulary/scope.ts'
import { pageHeaders } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'

/**
 * What a sound request looks like; `oauth/authorization-request.ts` judges it and says where each fault is
 * told.
 */
export const authorizeSchema: OperationSchema = {
  operationId: 'authorize',
  summary: 'Start an authorization: send the browser here',
  description:
    'The user signs in, sees what is asked for, and comes back to the registered callback with `code`, `state` and `iss`, or with `error`. A fault of the client or of the callback is shown to the user; any other is told to the callback.',
  tags: ['OAuth'],
  security: [],
  querystring: Type.Object({
    client_id: text("The application's client id.", 'CLIENT_ID', { minLength: 1 }),
    scope: text('What to ask for, separated by spaces or commas.', 'read trade', { pattern: scopePattern }),
    state: text(
      `A random string that the callback gets back, byte for byte. No control characters; more than ${stateWideLength} characters only where at most ${stateWideCharacters} of them take three bytes or more in UTF-8, so that it fits into an address.`,
      'af0ifjsldkj',
      { minLength: 1, maxLength: stateMaxCharacters, pattern: statePattern },
    ),
    response_type: Type.Optional(oneOf(['code'], { description: 'Not needed.' })),
    redirect_uri: Type.Optional(
      Type.String({ description: 'The registered callback URL, character by character. Not needed.' }),
    ),
    code_challenge: Type.Optional(
      text(
        'PKCE (RFC 7636): base64url of the SHA-256 of the verifier.',
        'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        {
          pattern: '^[A-Za-z0-9_-]{43}$',
        },
      ),
    ),
    code_challenge_method: Type.Optional(oneOf(['S256'], { description: 'Needed with `code_challenge`.' })),
    resource: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'RFC 8707: which interfaces the access is for, by the names that they have; up to five, each as a parameter of its own. All unless given.',
      }),
    ),
    max_age: Type.Optional(
      text(
        'RFC 9470: how many seconds ago the user may have signed in at most; otherwise they sign in once more.',
        '300',
        { pattern: '^[0-9]{1,9}$' },
      ),
    ),
    acr_values: Type.Optional(
      text(
        `RFC 9470: how the user has to sign in, separated by spaces; one of them is enough. There are ${acrs.map(printAcr).join(', ')}, each stronger than the one before.`,
        printAcr('second-factor'),
      ),
    ),
  }),
  response: { 302: Type.Null({ description: 'To the login page, or to the callback with an error.' }) },
  answerHeaders: ['Location'],
}

export async function authorize({ context, request, reply }: Visit): Promise<FastifyReply> {
  const { vault, environment, baseUrl } = context
  const query = withoutEmpty(request.query as Form)
  const bytes = withoutEmpty(parseFormBytes(queryOf(request.raw.url ?? '')))
  const known = typeof query.client_id === 'string' ? await context.clients.find(query.client_id) : undefined
  const client = checkRecipient(query, known, environment)
  const judged = await judge(context, query, bytes, client)
  reply.headers(pageHeaders())
  if (judged.kind === 'refused') {
    request.refusal = judged.error
    return reply.redirect(printErrorCallback(client.callbackUrl, judged.error, judged.state, baseUrl), 302)
  }
  return reply.redirect(`${baseUrl}/login?request=${sealRequest(vault, environment, judged.request)}`, 302)
}

async function judge(
  context: Context,
  query: Form,
  bytes: Form,
  client: Registration,
): Promise<JudgedRequest> {
  const judged = judgeRequest(query, bytes, client, context.clock.now())
  if (judged.kind === 'refused') return judged
  const error = await findResourceFault(context, judged.request.resources)
  return error ? { kind: 'refused', error, state: judged.request.state } : judged
}

/** RFC 6749, 3.1: a parameter without a value counts as one that was not sent. */
function withoutEmpty(form: Form): Form {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''))
}
