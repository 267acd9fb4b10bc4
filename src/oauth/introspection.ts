/** RFC 7662: what a token means, for the client it was issued to and for the brokerage's own services. */
import type { Static } from 'typebox'
import { parseToken, type Token } from '../crypto/token.ts'
import type { TokenSigner } from '../crypto/token-signer.ts'
import type { Sql } from '../database/database.ts'
import type { Service } from '../services/service.ts'
import { acrs, printAcr } from '../vocabulary/acr.ts'
import { Confirmation } from '../vocabulary/confirmation.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { printScopes } from '../vocabulary/scope.ts'
import type { TokenFact } from '../vocabulary/token-fact.ts'
import { selectRefreshToken } from './access-tokens.sql.ts'
import type { Bearer, Bearers } from './bearer.ts'
import { tokenTypeOf } from './binding.ts'
import type { ServiceTags } from './opaque-tags.ts'

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
    token_type: Type.Optional(
      text('How it is sent, `Bearer` or `DPoP`. Absent from a refresh token.', 'Bearer'),
    ),
    cnf: Type.Optional(Confirmation),
    exp: Type.Optional(integer('When it expires, in epoch seconds; absent when it does not.', 1_767_312_000)),
    iat: Type.Optional(integer('When it was issued, in epoch seconds.', 1_767_225_600)),
    sub: Type.Optional(text('The id of its user.', 'id-4f7k2m9q1x3z')),
    iss: Type.Optional(text('The site that issued it.', 'https://api.example.com')),
    aud: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The resources that it is for (RFC 8707); absent where it is for all of them.',
      }),
    ),
    auth_time: Type.Optional(
      integer(
        'When the user had signed in who approved it, in epoch seconds; absent where nobody says. No refresh renews it.',
        1_767_225_540,
      ),
    ),
    acr: Type.Optional(
      oneOf(acrs.map(printAcr), { description: 'How they had signed in; absent where nobody says.' }),
    ),
    customer: Type.Optional(text("The user's id in the brokerage's systems.", 'C-1042')),
    branch_id: Type.Optional(integer('The partner whose application it is.', 7)),
    grant_id: Type.Optional(
      integer('The consent that it came of: the same for every token of that consent.', 4_711),
    ),
    account_numbers: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The accounts it reaches now, with all of its scopes. In any other it may do nothing.',
      }),
    ),
    tags: Type.Optional(
      Type.Array(text('Opaque.', 'Zm9vYmFyYmF6cXV4'), {
        description:
          'For services, with every token that is active: what this answer depends on, in the words of the feed of revocations.',
      }),
    ),
  },
  {
    title: 'Introspection',
    description:
      'What a token means. A service learns `username`, `client_id`, `branch_id`, `grant_id`, `account_numbers`, `customer`, and `auth_time` with `acr`, as far as the brokerage lets it; a client the first two.',
  },
)
export type Introspection = Static<typeof Introspection>

/** RFC 9701. */
export const signedIntrospectionType = 'application/token-introspection+jwt'

/** The caller: a service of the brokerage may ask about every token, a client only about its own. */
export type IntrospectionCaller =
  | {
      readonly kind: 'service'
      readonly service: Pick<Service, 'id' | 'sees' | 'audience'>
      /** In which it is told what the answer depends on. */
      readonly words: ServiceTags
      /** Nothing from memory: it has heard of a change that this node may hear of only later. */
      readonly anew: boolean
    }
  | { readonly kind: 'client'; readonly clientId: string }

const inactive = print({ active: false })

interface IntrospectionDependencies {
  readonly db: Sql
  readonly bearers: Bearers
  readonly environment: Environment
  readonly baseUrl: string
}

/**
 * RFC 9701, 5: the same as a signed token, for a caller that keeps it as evidence or hands it on within the
 * brokerage. `aud` is the caller, so that it proves nothing to another.
 */
export function signIntrospection(
  { signer, baseUrl }: { readonly signer: TokenSigner; readonly baseUrl: string },
  caller: IntrospectionCaller,
  answer: string,
  now: Date,
): string {
  return signer.sign('token-introspection+jwt', {
    iss: baseUrl,
    aud: caller.kind === 'client' ? caller.clientId : caller.service.id,
    iat: seconds(now.getTime()),
    token_introspection: JSON.parse(answer) as Introspection,
  })
}

/** As JSON text; without a promise for a token that is remembered. */
export function introspect(
  deps: IntrospectionDependencies,
  caller: IntrospectionCaller,
  presented: string,
): string | Promise<string> {
  const isAnew = caller.kind === 'service' && caller.anew
  const known = isAnew ? undefined : deps.bearers.recall(presented)
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
  if (!row?.inForce || row.scopes.length === 0 || !mayKnow(caller, { clientId: row.clientId, resources: [] }))
    return inactive
  const { clientId: client_id, username, userId: sub } = row
  const iat = seconds(row.issuedAt.getTime())
  const scope = printScopes(row.scopes)
  return print({ active: true, scope, client_id, username, sub, iat, iss: baseUrl })
}

/** A client asks about its own; a service that protects one resource, about what is for that. */
function mayKnow(caller: IntrospectionCaller, bearer: Pick<Bearer, 'clientId' | 'resources'>): boolean {
  return caller.kind === 'client' ? caller.clientId === bearer.clientId : isFor(caller.service, bearer)
}

export function isFor({ audience }: Pick<Service, 'audience'>, { resources }: Pick<Bearer, 'resources'>) {
  return audience === null || resources.length === 0 || resources.includes(audience)
}

/** What a client learns of its own token. It has the accounts from the profile, with the scope that it takes. */
const factsOfClient: readonly TokenFact[] = ['username', 'client']

/** What was said of a bearer stays true for as long as it is remembered; by the facts that were told. */
const printed = new WeakMap<Bearer, Map<string, string>>()

/**
 * A token with no scope left can do nothing: a resource server that looks at `active` alone must not be
 * misled.
 */
function printFor(
  caller: IntrospectionCaller,
  bearer: Bearer | undefined,
  { baseUrl }: IntrospectionDependencies,
): string {
  if (!bearer || bearer.scopes.length === 0 || !mayKnow(caller, bearer)) return inactive
  const sees = caller.kind === 'client' ? factsOfClient : caller.service.sees
  const known = printed.get(bearer) ?? new Map<string, string>()
  const view = sees.join()
  const text = known.get(view) ?? print(describeBearer(sees, bearer, baseUrl))
  printed.set(bearer, known.set(view, text))
  return caller.kind === 'client' ? text : addTags(text, bearer, caller.words)
}

/** Of the service that asked last. */
const printedTags = new WeakMap<Bearer, { readonly words: ServiceTags; readonly text: string }>()

function addTags(text: string, bearer: Bearer, words: ServiceTags): string {
  const known = printedTags.get(bearer)
  const tags =
    known?.words === words
      ? known
      : { words, text: JSON.stringify([words.own, ...bearer.tags.map(words.print)]) }
  if (tags !== known) printedTags.set(bearer, tags)
  return `${text.slice(0, -1)},"tags":${tags.text}}`
}

/** As much of it as may be told. */
export function describeBearer(sees: readonly TokenFact[], bearer: Bearer, issuer: string): Introspection {
  const { clientId, branchId, grantId, customer, issuedAtMs, authenticatedAtMs, acr, resources } = bearer
  const tells = (fact: TokenFact) => sees.includes(fact)
  return {
    active: true,
    scope: printScopes(bearer.scopes),
    ...(tells('username') && { username: bearer.username }),
    token_type: tokenTypeOf(bearer.binding),
    ...(bearer.confirmation && { cnf: bearer.confirmation }),
    sub: bearer.userId,
    iss: issuer,
    ...(tells('client') && clientId !== undefined && { client_id: clientId }),
    ...(tells('partner') && branchId !== undefined && { branch_id: branchId }),
    ...(tells('grant') && grantId !== undefined && { grant_id: grantId }),
    ...(issuedAtMs !== undefined && { iat: seconds(issuedAtMs) }),
    ...(Number.isFinite(bearer.expiresAtMs) && { exp: seconds(bearer.expiresAtMs) }),
    ...(resources.length > 0 && { aud: [...resources] }),
    ...(tells('sign-in') && authenticatedAtMs !== undefined && { auth_time: seconds(authenticatedAtMs) }),
    ...(tells('sign-in') && acr !== undefined && { acr: printAcr(acr) }),
    ...(tells('customer') && customer !== undefined && { customer }),
    ...(tells('accounts') && { account_numbers: [...bearer.accountNumbers] }),
  }
}

function print(answer: Introspection): string {
  return JSON.stringify(answer)
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
