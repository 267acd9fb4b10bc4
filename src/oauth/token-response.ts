/** Spec 4.3 and 4.4: what both token endpoints answer. */
import Type from 'typebox'
import { printScopes } from '../scope.ts'

/** Spec 8: 24 hours. */
export const accessTokenLifetimeSeconds = 86_400

export const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer(),
  issued_at: Type.String({ description: 'ISO 8601 with offset' }),
  scope: Type.String(),
  status: Type.Literal('approved'),
  refresh_token: Type.Optional(Type.String()),
})
export type TokenResponse = Type.Static<typeof TokenResponse>

export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly scopes: readonly string[]
  readonly issuedAt: Date
}

export function printTokenResponse({ accessToken, refreshToken, scopes, issuedAt }: IssuedTokens): TokenResponse {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: accessTokenLifetimeSeconds,
    issued_at: issuedAt.toISOString().replace(/\.\d+Z$/, '+00:00'),
    scope: printScopes(scopes),
    status: 'approved',
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  }
}
