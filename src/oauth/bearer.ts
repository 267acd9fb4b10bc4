/**
 * Spec 5.3: the user and the client that a bearer token speaks for. Access tokens and personal tokens are
 * told apart by their prefix; both are looked up once and remembered until something they depend on changes.
 */
import type { Clock } from '../clock.ts'
import { fingerprint } from '../crypto/hash.ts'
import { parseToken, type Token, tokenLength } from '../crypto/token.ts'
import type { Changes } from '../database/changes.ts'
import type { Sql } from '../database/database.ts'
import { openMemory, type TaggedValue } from '../database/memory.ts'
import { selectApiTokenByHash } from '../users/api-tokens.sql.ts'
import type { Acr } from '../vocabulary/acr.ts'
import type { Confirmation } from '../vocabulary/confirmation.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Scope } from '../vocabulary/scope.ts'
import { selectAccessToken } from './access-tokens.sql.ts'
import { type Binding, confirmationOf } from './binding.ts'
import { BearerError, noAccountText, pausedText } from './oauth-error.ts'
import { areForSite } from './resources.ts'

export interface Bearer {
  readonly kind: 'access' | 'personal'
  readonly environment: Environment
  readonly tokenId: number
  readonly userId: string
  readonly username: string
  /** The id that the brokerage's systems know the user by; undefined where they said none. */
  readonly customer: string | undefined
  readonly scopes: readonly Scope[]
  /** Absent for personal tokens: they are the user's own. */
  readonly clientId: string | undefined
  readonly branchId: number | undefined
  readonly authorizationId: number | undefined
  readonly grantId: number | undefined
  /** For which resources it is (RFC 8707); empty: for all. */
  readonly resources: readonly string[]
  /** Who may send it; undefined: whoever has it. */
  readonly binding: Binding | undefined
  /** The same in words for others. */
  readonly confirmation: Confirmation | undefined
  readonly demandsDpopNonces: boolean
  /** When and how the user had signed in who approved it (RFC 9470); undefined where nobody says. */
  readonly authenticatedAtMs: number | undefined
  readonly acr: Acr | undefined
  /**
   * Open accounts that the user still holds, in a way that allows all of these scopes; of those of an
   * application, the ones shared with it.
   */
  readonly accountNumbers: readonly string[]
  readonly issuedAtMs: number | undefined
  readonly expiresAtMs: number
  /** What it depends on: it counts until one of these is announced. */
  readonly tags: readonly string[]
}

const tagKinds = ['access_token', 'grant', 'authorization', 'user', 'client', 'branch', 'api_token'] as const

/** Whether a bearer may depend on what was announced. */
export function isBearerTag(tag: string): boolean {
  return tagKinds.some((kind) => tag.startsWith(kind) && tag[kind.length] === ':')
}

const tagOf = (kind: (typeof tagKinds)[number], id: string | number) => `${kind}:${id}`

export interface Bearers {
  /** By its text alone: what is remembered had the right shape when it was learned. */
  recall(text: string): Bearer | undefined
  /** Undefined for anything that is not, or no longer, in force. */
  find(token: Token): Promise<Bearer | undefined>
  /** The same for callers that owe the client an explanation: temporary obstacles are told apart. */
  judge(token: Token): Promise<Bearer | RefusedBearer | undefined>
}

/** A token that was in force, or is in the way of something. */
export interface RefusedBearer {
  /** Undefined where it has ended for good. */
  readonly obstacle: Obstacle | undefined
  /** Whose it was. */
  readonly clientId: string
  readonly branchId: number
}

/** The user has paused the application, or holds none of the accounts any more that the token was given. */
type Obstacle = 'paused' | 'no-account'

/** Tens of thousands by estimate: a token that comes again after so many others is looked up. */
const keptBytes = 32 * 1024 * 1024

export function openBearers(db: Sql, changes: Changes, clock: Clock): Bearers {
  const memory = openMemory<Bearer>(changes, keptBytes)
  const living = (bearer: Bearer | undefined) =>
    bearer && clock.now().getTime() < bearer.expiresAtMs ? bearer : undefined
  async function judge(token: Token): Promise<Bearer | RefusedBearer | undefined> {
    let refused: RefusedBearer | undefined
    const found = await memory.learn(fingerprint(token.text), async () => {
      const read = await readBearer(db, token)
      if (!read || 'value' in read) return read
      refused = read
      return undefined
    })
    return refused ?? living(found) ?? ended(found)
  }
  return {
    recall: (text) => (text.length === tokenLength ? living(memory.recall(fingerprint(text))) : undefined),
    async find(token) {
      const found = await judge(token)
      return found && 'obstacle' in found ? undefined : found
    },
    judge,
  }
}

function ended(bearer: Bearer | undefined): RefusedBearer | undefined {
  const { clientId, branchId } = bearer ?? {}
  if (clientId === undefined || branchId === undefined) return undefined
  return { obstacle: undefined, clientId, branchId }
}

function readBearer(db: Sql, token: Token): Promise<TaggedValue<Bearer> | RefusedBearer | undefined> {
  if (token.kind === 'access') return readAccessToken(db, token)
  if (token.kind === 'personal') return readPersonalToken(db, token)
  return Promise.resolve(undefined)
}

async function readAccessToken(
  db: Sql,
  token: Token,
): Promise<TaggedValue<Bearer> | RefusedBearer | undefined> {
  const [row] = await db.query(selectAccessToken, { hash: token.hash })
  if (!row) return undefined
  const { id, grantId, authorizationId, userId, clientId, branchId } = row
  if (!row.inForce) return { obstacle: undefined, clientId, branchId }
  if (row.paused) return { obstacle: 'paused', clientId, branchId }
  if (!row.holds) return { obstacle: 'no-account', clientId, branchId }
  const tags = [
    tagOf('access_token', id),
    tagOf('grant', grantId),
    tagOf('authorization', authorizationId),
    tagOf('user', userId),
    tagOf('client', clientId),
    tagOf('branch', branchId),
  ]
  return {
    value: {
      kind: 'access',
      environment: token.environment,
      tokenId: id,
      userId,
      username: row.username,
      customer: row.customer ?? undefined,
      scopes: row.scopes,
      clientId,
      branchId,
      authorizationId,
      grantId,
      resources: row.resources,
      ...senderOf(row.binding as Binding | null),
      demandsDpopNonces: row.demandsDpopNonces,
      authenticatedAtMs: row.authenticatedAt?.getTime(),
      acr: row.acr ?? undefined,
      accountNumbers: row.accountNumbers,
      issuedAtMs: row.issuedAt.getTime(),
      expiresAtMs: row.expiresAt.getTime(),
      tags,
    },
    tags,
  }
}

function senderOf(binding: Binding | null): Pick<Bearer, 'binding' | 'confirmation'> {
  return binding === null
    ? { binding: undefined, confirmation: undefined }
    : { binding, confirmation: confirmationOf(binding) }
}

async function readPersonalToken(db: Sql, token: Token): Promise<TaggedValue<Bearer> | undefined> {
  const [row] = await db.query(selectApiTokenByHash, { hash: token.hash })
  if (!row || row.revokedAt !== null || row.status !== 'active') return undefined
  const tags = [tagOf('api_token', row.id), tagOf('user', row.userId)]
  return {
    value: {
      kind: 'personal',
      environment: token.environment,
      tokenId: row.id,
      userId: row.userId,
      username: row.username,
      customer: row.customer ?? undefined,
      scopes: row.scopes,
      clientId: undefined,
      branchId: undefined,
      authorizationId: undefined,
      grantId: undefined,
      resources: [],
      ...senderOf(null),
      demandsDpopNonces: false,
      authenticatedAtMs: undefined,
      acr: undefined,
      accountNumbers: row.accountNumbers,
      issuedAtMs: undefined,
      expiresAtMs: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
      tags,
    },
    tags,
  }
}

/** How a token is sent (RFC 6750, 2.1; RFC 9449, 7.1). */
export type TokenScheme = 'Bearer' | 'DPoP'

/** Undefined where it is neither. */
export function schemeOf(authorization: string | undefined): TokenScheme | undefined {
  const [, word] = /^(bearer|dpop)\b/i.exec(authorization ?? '') ?? []
  if (word === undefined) return undefined
  return word.length === 'DPoP'.length ? 'DPoP' : 'Bearer'
}

/** The text behind the word in an Authorization header. */
export function readBearerText(authorization: string | undefined): string {
  if (authorization?.startsWith('Bearer ')) return authorization.slice('Bearer '.length).trim()
  const scheme = schemeOf(authorization)
  if (authorization === undefined || scheme === undefined) {
    throw new BearerError(
      401,
      'unauthorized',
      'Send an access token in the Authorization header, after the word Bearer.',
    )
  }
  return authorization.slice(scheme.length).trim()
}

const kindWords = {
  code: 'an authorization code',
  access: 'an access token of an application',
  refresh: 'a refresh token',
  personal: 'a personal API token',
  clientSecret: 'a client secret',
  serviceSecret: 'a secret of a service',
  session: 'a session',
  invitation: 'an invitation',
  reset: 'a link for a new password',
  switch: 'a code for the way into the sandbox',
  client: 'a token of an application for its own webhooks',
  administration: 'a credential for administration',
} as const

/** Which kinds of token are taken somewhere, and what to send there. */
export interface TakenKinds {
  readonly kinds: readonly Token['kind'][]
  readonly remedy: string
}

const anyBearer: TakenKinds = { kinds: ['access', 'personal'], remedy: 'Send an access token.' }

/**
 * A token of this environment, or the reason why it is none (RFC 6750, 3). All of it is told from the text
 * alone: whether a token of another kind is in force is not looked up.
 */
export function parseBearer(
  text: string,
  environment: Environment,
  otherUrl: string,
  taken = anyBearer,
): Token {
  const token = parseToken(text)
  if (!token) throw invalidToken()
  if (!taken.kinds.includes(token.kind))
    throw new BearerError(401, 'invalid_token', `This is ${kindWords[token.kind]}. ${taken.remedy}`)
  if (token.environment !== environment) {
    throw new BearerError(
      401,
      'invalid_token',
      `This is a token of the ${token.environment} environment. Use it at ${otherUrl}, or get a ${environment} token.`,
    )
  }
  return token
}

export function invalidToken(): BearerError {
  return new BearerError(401, 'invalid_token', 'The access token is unknown, expired or revoked.')
}

const obstacleTexts: Record<Obstacle, string> = { paused: pausedText, 'no-account': noAccountText }

export function obstructedToken(obstacle: Obstacle): BearerError {
  return new BearerError(401, 'invalid_token', obstacleTexts[obstacle])
}

/** RFC 8707: a token for other interfaces alone is none here. */
export function requireSite({ resources }: Bearer, baseUrl: string): void {
  if (!areForSite(resources, baseUrl))
    throw new BearerError(401, 'invalid_token', `This token is for ${resources.join(', ')} alone.`)
}

export function requireScope(bearer: Bearer, scope: Scope): void {
  if (!bearer.scopes.includes(scope)) {
    throw new BearerError(403, 'insufficient_scope', `This token lacks the scope ${scope}.`, bearer.scopes)
  }
}
