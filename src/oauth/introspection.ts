/** RFC 7662: what a token means, for the client it was issued to and for the brokerage's own services. */
import Type from 'typebox'
import { parseToken } from '../crypto/token.ts'
import type { Database } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { printScopes } from '../scope.ts'
import { selectRefreshToken } from './access-tokens.sql.ts'
import type { Bearers } from './bearer.ts'

export const Introspection = Type.Object({
  active: Type.Boolean(),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  username: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String()),
  exp: Type.Optional(Type.Integer()),
  iat: Type.Optional(Type.Integer()),
  sub: Type.Optional(Type.String()),
  iss: Type.Optional(Type.String()),
})
export type Introspection = Type.Static<typeof Introspection>

/** Who asks: a service of the brokerage may ask about every token, a client only about its own. */
export type Asker = { readonly kind: 'service' } | { readonly kind: 'client'; readonly clientId: string }

const inactive: Introspection = { active: false }

interface RefreshTokenRow {
  readonly issued_at: Date
  readonly scopes: string[]
  readonly client_id: string
  readonly user_id: string
  readonly username: string
  readonly in_force: boolean
}

export async function introspect(
  { db, bearers, environment, issuer }: { db: Database; bearers: Bearers; environment: Environment; issuer: string },
  asker: Asker,
  presented: string,
): Promise<Introspection> {
  const token = parseToken(presented)
  if (!token || token.environment !== environment) return inactive
  const mayKnow = (clientId: string | undefined) => asker.kind === 'service' || asker.clientId === clientId

  if (token.kind === 'refresh') {
    const [row] = await db.query<RefreshTokenRow>(selectRefreshToken, [token.hash])
    if (!row?.in_force || !mayKnow(row.client_id)) return inactive
    const { client_id, username, user_id: sub } = row
    return {
      active: true,
      scope: printScopes(row.scopes),
      client_id,
      username,
      sub,
      iat: seconds(row.issued_at.getTime()),
      iss: issuer,
    }
  }
  const found = bearers.find(token)
  const bearer = found instanceof Promise ? await found : found
  if (!bearer || !mayKnow(bearer.clientId)) return inactive
  return {
    active: true,
    scope: printScopes(bearer.scopes),
    username: bearer.username,
    token_type: 'Bearer',
    sub: bearer.userId,
    iss: issuer,
    ...(bearer.clientId !== undefined && { client_id: bearer.clientId }),
    ...(bearer.issuedAtMs !== undefined && { iat: seconds(bearer.issuedAtMs) }),
    ...(Number.isFinite(bearer.expiresAtMs) && { exp: seconds(bearer.expiresAtMs) }),
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
