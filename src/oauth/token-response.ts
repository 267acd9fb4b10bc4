/** Spec 4.3 and 4.4: what both token endpoints answer. */
import type { Static } from 'typebox'
import { integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { type Binding, tokenTypeOf } from './binding.ts'

/** Spec 8: 24 hours. */
export const accessTokenLifetimeSeconds = 86_400

export const TokenResponse = Type.Object(
  {
    access_token: Type.String({ description: 'Send it as `Authorization: Bearer …`.' }),
    token_type: oneOf(['Bearer', 'DPoP'], {
      description: 'How the token is sent. `DPoP`: with a proof of the key that it is bound to (RFC 9449).',
    }),
    expires_in: integer('How long the access token lives, in seconds.', accessTokenLifetimeSeconds),
    issued_at: text('When it was issued, as ISO 8601 with offset.', '2026-01-01T00:00:00+00:00', {
      format: 'date-time',
    }),
    scope: text('What was approved, separated by spaces.', 'read trade'),
    status: oneOf(['approved'], { description: 'Always the same.' }),
    refresh_token: Type.Optional(
      Type.String({ description: 'For partners with refresh access. It does not expire.' }),
    ),
  },
  { title: 'TokenResponse', description: 'An access token.' },
)
export type TokenResponse = Static<typeof TokenResponse>

export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly scope: string
  readonly binding: Binding | undefined
  readonly issuedAt: Date
}

export function printTokenResponse(
  { accessToken, refreshToken, scope, binding, issuedAt }: IssuedTokens,
  livesSeconds = accessTokenLifetimeSeconds,
): TokenResponse {
  return {
    access_token: accessToken,
    token_type: tokenTypeOf(binding),
    expires_in: livesSeconds,
    issued_at: issuedAt.toISOString().replace(/\.\d+Z$/, '+00:00'),
    scope,
    status: 'approved',
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  }
}
