/** What both token endpoints share: forms of at most 8 KiB in, JSON that no cache stores out. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { assertionType } from '../../oauth/client-assertion.ts'
import { webhooksScope } from '../../oauth/client-tokens.ts'
import { findResourceFault } from '../../oauth/resources.ts'
import { type IssuedTokens, printTokenResponse, TokenResponse } from '../../oauth/token-response.ts'
import { Type, text } from '../../vocabulary/schema.ts'
import { scopes } from '../../vocabulary/scope.ts'
import type { FormFields } from '../frame/form-fields.ts'
import { demand } from '../gates/demand.ts'
import type { ClientCaller } from '../gates/gates.ts'

export const formLimitBytes = 8 * 1024

/** RFC 6749, 3.2: an empty field counts as absent, which one that is needed must not be. */
export const neededField = (description: string) => Type.String({ description, minLength: 1 })

export const clientFields = {
  client_id: Type.Optional(Type.String({ description: 'Instead of HTTP Basic, with `client_secret`.' })),
  client_secret: Type.Optional(Type.String({ description: 'Instead of HTTP Basic.', format: 'password' })),
  client_assertion_type: Type.Optional(text('With `client_assertion`: always the same.', assertionType)),
  client_assertion: Type.Optional(
    Type.String({
      description: 'private_key_jwt (RFC 7523): instead of a secret, signed with a key of the client.',
    }),
  ),
}

/** Of revocation and introspection. */
export const TokenQuestion = Type.Object(
  {
    token: neededField('The token.'),
    token_type_hint: Type.Optional(
      text('`access_token` or `refresh_token`. Not needed: a token says itself what it is.', 'access_token'),
    ),
    ...clientFields,
  },
  {
    title: 'TokenQuestion',
    description: 'A token that is asked about.',
    examples: [{ token: 'ACCESS_TOKEN' }],
  },
)

/** Empty, or some of the scopes. */
const narrower = `[ ,]*(?:(?:${scopes.join('|')})(?:[ ,]+(?:${scopes.join('|')}))*[ ,]*)?`
export const NarrowerScope = text(
  'Fewer scopes than were approved, separated by spaces or commas. All of them unless given.',
  'read',
  { pattern: `^${narrower}$` },
)

/** Or that of a client's own token. */
export const NarrowerOrOwnScope = text(
  `Fewer scopes than were approved, separated by spaces or commas; all of them unless given. With \`client_credentials\`: \`${webhooksScope}\`, or nothing.`,
  'read',
  { pattern: `^(?:${narrower}|${webhooksScope})$` },
)

export const Resources = Type.Array(Type.String(), {
  description:
    'RFC 8707: which interfaces the access token is for, of those that the authorization request named; each as a parameter of its own. All of them unless given.',
})

/** Throws where the form names a resource that is none. */
export async function readResources(context: Context, { resources }: FormFields): Promise<readonly string[]> {
  const fault = await findResourceFault(context, resources)
  if (fault) throw fault
  return resources
}

export const tokenEndpointSchema = {
  tags: ['OAuth'],
  security: [{ clientBasic: [] }],
  response: { 200: TokenResponse },
} as const

export async function refreshFor(
  context: Context,
  caller: ClientCaller,
  form: FormFields,
  request: FastifyRequest,
): Promise<IssuedTokens> {
  const { client, binding, act } = caller
  demand(request, client, 'binding', binding !== undefined, act.at)
  const refreshToken = form.get('refresh_token')
  const resources = await readResources(context, form)
  const presented = { refreshToken, scope: form.find('scope'), binding, resources }
  return context.refreshes.refresh(client, presented, act)
}

/** RFC 6749, 5.1 wants both headers. */
export function sendTokens(reply: FastifyReply, tokens: IssuedTokens, livesSeconds?: number): FastifyReply {
  return sendUnstored(reply.header('pragma', 'no-cache'), printTokenResponse(tokens, livesSeconds))
}

export function sendUnstored(reply: FastifyReply, body: unknown): FastifyReply {
  reply.header('cache-control', 'no-store')
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(body)
}
