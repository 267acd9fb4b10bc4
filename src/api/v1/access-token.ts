/**
 * Spec 4.3: POST /v1/oauth/accesstoken. Takes refreshes too, because generic OAuth libraries know one token
 * URL.
 */

import { clientTokenSeconds, issueClientToken, webhooksScope } from '../../oauth/client-tokens.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { readRedirectUri } from '../../oauth/redirect-uri.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { readFields } from '../frame/form-fields.ts'
import type { Endpoint } from '../frame/route.ts'
import { demand } from '../gates/demand.ts'
import type { ClientCaller } from '../gates/gates.ts'
import {
  clientFields,
  formLimitBytes,
  NarrowerOrOwnScope,
  Resources,
  readResources,
  refreshFor,
  sendTokens,
  tokenEndpointSchema,
} from './token-endpoint.ts'

/** Which of the fields is needed depends on the first one; the other may be left empty. */
const TokenRequest = Type.Object(
  {
    grant_type: oneOf(['authorization_code', 'refresh_token', 'client_credentials'], {
      description: 'What is traded for the access token.',
    }),
    code: Type.Optional(
      Type.String({
        description:
          'The code from the callback: needed with `authorization_code`. Good once, for ten minutes.',
      }),
    ),
    redirect_uri: Type.Optional(
      text(
        'The registered callback URL; `code`, `state` and `iss` may still be behind it. Not needed.',
        'https://app.example.com/callback',
      ),
    ),
    code_verifier: Type.Optional(
      text(
        'Needed when the authorization request had a `code_challenge` (RFC 7636): 43 to 128 letters, digits, or any of - . _ ~.',
        'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
        { pattern: '^(?:[A-Za-z0-9._~-]{43,128})?$' },
      ),
    ),
    refresh_token: Type.Optional(Type.String({ description: 'Needed with `refresh_token`.' })),
    scope: Type.Optional(NarrowerOrOwnScope),
    resource: Type.Optional(Resources),
    ...clientFields,
  },
  {
    title: 'TokenRequest',
    description: 'A code, or a refresh token.',
    examples: [{ grant_type: 'authorization_code', code: 'CODE' }],
    if: { properties: { grant_type: { const: 'authorization_code' } } },
    // biome-ignore lint/suspicious/noThenProperty: the word is JSON Schema's.
    then: { required: ['code'], properties: { code: { type: 'string', minLength: 1 } } },
    else: {
      if: { properties: { grant_type: { const: 'refresh_token' } } },
      // biome-ignore lint/suspicious/noThenProperty: the word is JSON Schema's.
      then: { required: ['refresh_token'], properties: { refresh_token: { type: 'string', minLength: 1 } } },
    },
  },
)

export const accessToken: Endpoint<ClientCaller> = {
  errors: 'oauth',
  bodyLimit: formLimitBytes,
  takes: 'form',
  schema: {
    ...tokenEndpointSchema,
    operationId: 'exchangeCode',
    summary: 'Exchange an authorization code for an access token',
    description:
      'Trades the code from the callback for an access token, and a refresh token where the partner has refresh access. A second use of a code is refused and ends the tokens of the first. Refresh tokens are taken here too, for libraries that know one token URL.',
    body: TokenRequest,
  },
  async handle(context, caller, request, reply) {
    const form = readFields(request.body)
    const { client, binding, act } = caller
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = form.get('code')
        const sent = form.find('redirect_uri')
        const answered = { callbackUrl: client.callbackUrl, code, issuer: context.baseUrl }
        const verifier = form.find('code_verifier')
        demand(request, client, 'verifier', verifier !== undefined, act.at)
        demand(request, client, 'binding', binding !== undefined, act.at)
        const presented = {
          code,
          callbackUrl: sent === undefined ? undefined : readRedirectUri(sent, answered),
          ...{ verifier, binding },
          resources: await readResources(context, form),
        }
        return sendTokens(reply, await context.codes.exchange(client, presented, act))
      }
      case 'refresh_token':
        return sendTokens(reply, await refreshFor(context, caller, form, request))
      case 'client_credentials': {
        demand(request, client, 'binding', binding !== undefined, act.at)
        const token = await issueClientToken(context.db, client, { scope: form.find('scope'), binding }, act)
        const given = { accessToken: token.text, refreshToken: undefined, scope: webhooksScope }
        const issued = { ...given, binding, issuedAt: act.at }
        return sendTokens(reply, issued, clientTokenSeconds)
      }
      default:
        throw new OAuthError(
          'unsupported_grant_type',
          'grant_type must be authorization_code or refresh_token.',
        )
    }
  },
}
