/** RFC 7662: what a token means, for the client it was issued to and for the brokerage's own services. */
import type { Static } from 'typebox'
import { parseToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { integer, Type, text } from '../vocabulary/schema.ts'
import { printScopes } from '../vocabulary/scope.ts'
import { selectRefreshToken } from './access-tokens.sql.ts'
import type { Bearer, Bearers } from './bearer.ts'

export const Introspection = Type.Object(
  {
    active: Type.Boolean({
      description:
        'Whether the token counts at this moment; for services, whether it is a bearer that counts, which a refresh token is not. If not, nothing else is said.',
    }),
    scope: Type.Optional(text('Its scopes, separated by spaces.', 'read trade')),
    client_id: Type.Optional(
      Type.String({ description: 'The application it was issued to; none for a personal token.' }),
    ),
    username: Type.Optional(text('The user name of its user.', 'ada')),
    token_type: Type.Optional(text('How it is sent. Absent from a refresh token.', 'Bearer')),
    exp: Type.Optional(integer('When it expires, in epoch seconds; absent when it does not.', 1_767_312_000)),
    iat: Type.Optional(integer('When it was issued, in epoch seconds.', 1_767_225_600)),
    sub: Type.Optional(text('The id of its user.', 'id-4f7k2m9q1x3z')),
    iss: Type.Optional(text('The site that issued it.', 'https://api.example.com')),
    account_numbers: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'For services, with every token that is active: the accounts it reaches now, with all of its scopes. In any other it may do nothing.',
      }),
    ),
  },
  { title: 'Introspection', description: 'What a token means.' },
)
export type Introspection = Static<typeof Introspection>

/** The caller: a service of the brokerage may ask about every token, a client only about its own. */
export type IntrospectionCaller =
  | { readonly kind: 'service' }
  | { readonly kind: 'client'; readonly clientId: string }

const inactive = print({ active: false })

interface IntrospectionDependencies {
  readonly db: Sql
  readonly bearers: Bearers
  readonly environment: Environment
  readonly baseUrl: string
}

/** As JSON text; without a promise for a token that is remembered. */
export function introspect(
  deps: IntrospectionDependencies,
  caller: IntrospectionCaller,
  presented: string,
): string | Promise<string> {
  const known = deps.bearers.recall(presented)
  if (known?.environment === deps.environment) return printFor(caller, known, deps)
  const token = parseToken(presented)
  if (!token || token.environment !== deps.environment) return inactive
  // A service protects a resource, and lets in whatever is active: nothing but a bearer is, for it.
  if (token.kind === 'refresh')
    return caller.kind === 'client' ? introspectRefreshToken(deps, caller, token) : inactive
  return deps.bearers.find(token).then((bearer) => printFor(caller, bearer, deps))
}

async function introspectRefreshToken(
  { db, baseUrl }: IntrospectionDependencies,
  caller: IntrospectionCaller,
  token: Token,
): Promise<string> {
  const [row] = await db.query(selectRefreshToken, { hash: token.hash })
  if (!row?.inForce || row.scopes.length === 0 || !mayKnow(caller, row.clientId)) return inactive
  const { clientId: client_id, username, userId: sub } = row
  const iat = seconds(row.issuedAt.getTime())
  const scope = printScopes(row.scopes)
  return print({ active: true, scope, client_id, username, sub, iat, iss: baseUrl })
}

function mayKnow(caller: IntrospectionCaller, clientId: string | undefined): boolean {
  return caller.kind === 'service' || caller.clientId === clientId
}

/** What was said of a bearer stays true for as long as it is remembered. */
const printed = { client: new WeakMap<Bearer, string>(), service: new WeakMap<Bearer, string>() }

/**
 * A token with no scope left can do nothing: a resource server that looks at `active` alone must not be
 * misled.
 */
function printFor(
  caller: IntrospectionCaller,
  bearer: Bearer | undefined,
  { baseUrl }: IntrospectionDependencies,
): string {
  if (!bearer || bearer.scopes.length === 0 || !mayKnow(caller, bearer.clientId)) return inactive
  const known = printed[caller.kind].get(bearer)
  if (known !== undefined) return known
  const text = print(describe(caller, bearer, baseUrl))
  printed[caller.kind].set(bearer, text)
  return text
}

/** A client learns the accounts from the profile, with the scope that it takes. */
function describe({ kind }: IntrospectionCaller, bearer: Bearer, issuer: string): Introspection {
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
    ...(kind === 'service' && { account_numbers: [...bearer.accountNumbers] }),
  }
}

function print(answer: Introspection): string {
  return JSON.stringify(answer)
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
