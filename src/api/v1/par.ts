/**
 * RFC 9126: POST /v1/oauth/par. The client sends its authorization request itself, and the browser carries no
 * more than a name of it. Nothing is stored: the name is the request, sealed.
 */
import { second } from '../../clock.ts'
import { type Form, withoutEmpty } from '../../http/form.ts'
import {
  checkRecipient,
  judgeRequest,
  printRequestUri,
  pushedLivesMs,
} from '../../oauth/authorization-request.ts'
import { bindingOfKey, isOfKey } from '../../oauth/binding.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { findResourceFault } from '../../oauth/resources.ts'
import { acrs, printAcr } from '../../vocabulary/acr.ts'
import { integer, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { ClientCaller } from '../gates/gates.ts'
import { clientFields, formLimitBytes, Resources, sendUnstored } from './token-endpoint.ts'

const PushedRequest = Type.Object(
  {
    scope: Type.Optional(text('What to ask for, separated by spaces or commas.', 'read trade')),
    state: Type.Optional(
      text('A random string that the callback gets back. Needed unless the profile is fapi2.', 'af0ifjsldkj'),
    ),
    response_type: Type.Optional(text('`code`. Needed with the profile fapi2.', 'code')),
    redirect_uri: Type.Optional(
      text(
        'The registered callback URL, character by character. Needed with the profile fapi2.',
        'https://app.example.com/callback',
      ),
    ),
    code_challenge: Type.Optional(
      text(
        'PKCE (RFC 7636): base64url of the SHA-256 of the verifier. Needed with the profile fapi2.',
        'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      ),
    ),
    code_challenge_method: Type.Optional(text('`S256`, with `code_challenge`.', 'S256')),
    resource: Type.Optional(Resources),
    max_age: Type.Optional(
      text('RFC 9470: how many seconds ago the user may have signed in at most.', '300'),
    ),
    acr_values: Type.Optional(text('RFC 9470: how the user has to sign in.', printAcr(acrs[1]))),
    dpop_jkt: Type.Optional(
      text(
        'RFC 9449: the thumbprint of the key that the code is bound to. A proof in the DPoP header says the same.',
        'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
      ),
    ),
    ...clientFields,
  },
  {
    title: 'PushedRequest',
    description: 'An authorization request.',
    examples: [{ scope: 'read', state: 'af0ifjsldkj' }],
  },
)

const PushedAnswer = Type.Object(
  {
    request_uri: text(
      'Send the browser to authorize with it and `client_id`.',
      'urn:ietf:params:oauth:request_uri:…',
    ),
    expires_in: integer('For how many seconds it can be brought there.', pushedLivesMs / second),
  },
  { title: 'PushedAnswer', description: 'The name of the request.' },
)

export const pushRequest: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: 2 * formLimitBytes,
  takes: 'form',
  schema: {
    operationId: 'pushAuthorizationRequest',
    summary: 'Push an authorization request, and get its name for the browser',
    description:
      'RFC 9126. Takes what authorize takes, judges it at once, and answers with a `request_uri` that counts for 90 seconds and is used up when the user has answered.',
    tags: ['OAuth'],
    security: [{ clientBasic: [] }],
    body: PushedRequest,
    response: { 201: PushedAnswer },
  },
  async handle(context, caller, request, reply) {
    const query = withoutEmpty((request.body ?? {}) as Form)
    if (query.request_uri !== undefined)
      throw new OAuthError('invalid_request', 'request_uri cannot be pushed. Send the request itself.')
    const { client } = caller
    checkRecipient({ ...query, client_id: client.id }, client, context.environment)
    const judged = judgeRequest({ query, bytes: toBytes(query), pushed: true }, client, context.clock.now())
    if (judged.kind === 'refused') throw judged.error
    const fault = await findResourceFault(context, judged.request.resources)
    if (fault) throw fault
    request.unmet = [...(request.unmet ?? []), ...judged.noted]
    const dpopJkt = boundTo(caller, judged.request.dpopJkt)
    const requestUri = printRequestUri(context, { ...judged.request, dpopJkt })
    sendUnstored(reply.code(201), { request_uri: requestUri, expires_in: pushedLivesMs / second })
    return reply
  },
}

/** RFC 9449, 10.1: what the proof says and what the parameter says must be one. */
function boundTo({ binding }: ClientCaller, asked: string | undefined): string | undefined {
  const proven = binding !== undefined && isOfKey(binding) ? binding.slice('jkt:'.length) : undefined
  if (proven !== undefined && asked !== undefined && bindingOfKey(asked) !== binding)
    throw new OAuthError(
      'invalid_dpop_proof',
      'dpop_jkt is the thumbprint of another key than that of the DPoP proof.',
      'dpop-other-key',
    )
  return proven ?? asked
}

/** The bytes of each value, a character a byte. */
function toBytes(form: Form): Form {
  const bytes = (value: string) => Buffer.from(value).toString('latin1')
  return Object.fromEntries(
    Object.entries(form).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(bytes) : bytes(value),
    ]),
  )
}
