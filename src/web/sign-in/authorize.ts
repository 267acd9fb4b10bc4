/**
 * Spec 4.1: GET /v1/oauth/authorize. Judges the request and sends the browser to the login page; stores
 * nothing.
 */
import type { FastifyReply } from 'fastify'
import { after } from '../../clock.ts'
import type { Context } from '../../context.ts'
import type { OperationSchema } from '../../http/described-route.ts'
import { type Form, parseFormBytes, queryOf, withoutEmpty } from '../../http/form.ts'
import { isAnswered } from '../../oauth/authorization.ts'
import {
  checkRecipient,
  type JudgedRequest,
  judgeRequest,
  openRequestUri,
  printErrorCallback,
  pushedLivesMs,
  sealRequest,
  stateMaxCharacters,
  statePattern,
  stateWideCharacters,
  stateWideLength,
} from '../../oauth/authorization-request.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { findResourceFault } from '../../oauth/resources.ts'
import type { Registration } from '../../partners/client.ts'
import { acrs, printAcr } from '../../vocabulary/acr.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { covers, scopePattern } from '../../vocabulary/scope.ts'
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
    request_uri: Type.Optional(
      Type.String({
        description:
          'RFC 9126: what `/v1/oauth/par` answered. With it, everything here but `client_id` is ignored.',
      }),
    ),
    dpop_jkt: Type.Optional(
      text(
        'RFC 9449: the thumbprint of the key without whose proof the code is worth nothing.',
        'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
        { pattern: '^[A-Za-z0-9_-]{43}$' },
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
  const { environment, baseUrl } = context
  const query = withoutEmpty(request.query as Form)
  const known = typeof query.client_id === 'string' ? await context.clients.find(query.client_id) : undefined
  const { request_uri: requestUri } = query
  // What stands beside it does not count (RFC 9101, 6.3).
  const client = checkRecipient(
    requestUri === undefined ? query : { client_id: query.client_id ?? '' },
    known,
    environment,
  )
  const judged =
    requestUri === undefined
      ? await judgeSent(context, query, withoutEmpty(parseFormBytes(queryOf(request.raw.url ?? ''))), client)
      : await judgePushed(context, requestUri, client)
  reply.headers(pageHeaders())
  if (judged.kind === 'refused') {
    request.refusal = judged.error
    return reply.redirect(printErrorCallback(client.callbackUrl, judged.error, judged.state, baseUrl), 302)
  }
  request.unmet = judged.noted
  return reply.redirect(`${baseUrl}/login?request=${sealRequest(context, judged.request)}`, 302)
}

async function judgeSent(
  context: Context,
  query: Form,
  bytes: Form,
  client: Registration,
): Promise<JudgedRequest> {
  const judged = judgeRequest({ query, bytes, pushed: false }, client, context.clock.now())
  if (judged.kind === 'refused') return judged
  const error = await findResourceFault(context, judged.request.resources)
  return error ? { kind: 'refused', error, state: judged.request.state } : judged
}

/** What was allowed when it was pushed may not be now (RFC 9126, 7.4). */
async function judgePushed(
  context: Context,
  requestUri: Form[string],
  client: Registration,
): Promise<JudgedRequest> {
  const now = context.clock.now()
  const pushed = typeof requestUri === 'string' ? openRequestUri(context, requestUri) : undefined
  const own = pushed?.clientId === client.id ? pushed : undefined
  const refuse = (error: OAuthError): JudgedRequest => ({ kind: 'refused', error, state: own?.state })
  if (!own || now >= after(new Date(own.receivedAt), pushedLivesMs) || (await isAnswered(context.db, own.id)))
    return refuse(
      new OAuthError(
        'invalid_request_uri',
        'request_uri is none that /v1/oauth/par gave this application, is older than its expires_in, or was used. Push the request again.',
      ),
    )
  if (own.callbackUrl !== client.callbackUrl)
    return refuse(
      new OAuthError(
        'invalid_request',
        'The callback URL of this application has changed since. Push the request again.',
      ),
    )
  if (!covers(client.scopes, own.scopes))
    return refuse(
      new OAuthError('invalid_scope', `This application may ask for: ${client.scopes.join(' ')}.`),
    )
  const error = await findResourceFault(context, own.resources)
  if (error) return refuse(error)
  return { kind: 'sound', request: { ...own, receivedAt: now.getTime() }, noted: [] }
}
