/**
 * Signing out at the provider, when a user signs out here (RP-Initiated Logout), and here, when the provider
 * says so (Back-Channel Logout 1.0).
 */
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour, second } from '../clock.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { SessionUpstream } from '../users/session.ts'
import {
  type LogoutClaims,
  ProviderFault,
  parseLogout,
  parseLogoutHead,
  signatures,
  UntrustedClaims,
} from './claims.ts'
import * as table from './logout.sql.ts'
import { findProviderById, type Provider } from './provider.ts'
import { idTokenPurpose } from './sign-in.ts'
import type { Upstreams } from './upstream.ts'

interface LogoutDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly upstreams: Upstreams
}

interface ProviderLogout {
  readonly provider: Provider
  /** Undefined when it has no such address, or is away. */
  readonly address: URL | undefined
}

/** Where the browser goes on to sign out there too. */
export async function findLogout(
  { db, vault, upstreams }: LogoutDependencies,
  { providerId, idToken }: SessionUpstream,
  returnTo: string,
): Promise<ProviderLogout | undefined> {
  const provider = await findProviderById(db, providerId)
  if (!provider) return undefined
  const hint = idToken && vault.open(idTokenPurpose, idToken)
  const parameters = {
    post_logout_redirect_uri: returnTo,
    ...(hint !== undefined && { id_token_hint: hint }),
  }
  const upstream = await upstreams.open(provider, { mayBeAway: true }).catch(() => undefined)
  if (upstream?.metadata.end_session_endpoint === undefined) return { provider, address: undefined }
  return { provider, address: upstream.library.buildEndSessionUrl(upstream.configuration, parameters) }
}

/** A token that was made longer ago says nothing of now. */
const youngSeconds = 300
const toleranceSeconds = 30
const spentMs = hour

export class LogoutRefusal extends Error {}

/** Throws `LogoutRefusal`. Answers how many sessions ended. */
export async function takeLogoutToken(
  { db, upstreams }: LogoutDependencies,
  provider: Provider,
  token: string,
  act: Act,
): Promise<number> {
  const kid = foresee(provider, token, act.at)
  const upstream = await upstreams.open(provider, { mayBeAway: true })
  const said = await verify(await upstream.keys(kid), provider, token, act.at)
  const { jti } = said
  return db.transaction(async (sql) => {
    const { subject, sid } = await reachOf(sql, provider, said)
    const [first] = await sql.query(table.spendLogoutToken, {
      providerId: provider.id,
      jtiHash: sha256(jti),
      spentAt: act.at,
      subjectHash: subject === undefined ? null : sha256(subject),
      sidHash: sid === undefined ? null : sha256(sid),
    })
    if (!first) throw new LogoutRefusal('The logout token was taken before.')
    return endSessions(sql, provider, subject, sid, act)
  })
}

const tokenLength = 8_192

/**
 * Any client may send one: until it could be right, by all that it says itself, no provider is asked for a
 * key. Answers which key made it, by its own word.
 */
function foresee({ issuer, clientId }: Provider, token: string, now: Date): string | undefined {
  if (token.length > tokenLength) throw invalid('it is too long')
  const [head, payload] = readUnverified(token)
  const { type, algorithm, kid, audience, issuedAt, expiresAt } = parseLogoutHead(head, payload)
  const nowSeconds = now.getTime() / second
  const problem = [
    [type === 'logout+jwt', 'its type is not logout+jwt'],
    [signatures.includes(algorithm), 'it is not signed with a key of the provider'],
    [payload.iss === issuer, 'it is of another issuer'],
    [audience.includes(clientId), 'it was made for another application'],
    [
      Math.abs(nowSeconds - issuedAt) <= youngSeconds + toleranceSeconds,
      'it was not made within five minutes',
    ],
    [expiresAt > nowSeconds - toleranceSeconds, 'it has expired'],
  ].find(([isRight]) => !isRight)
  if (problem) throw invalid(String(problem[1]))
  read(payload)
  return kid
}

function read(payload: Readonly<Record<string, unknown>>): LogoutClaims {
  try {
    return parseLogout(payload)
  } catch (error) {
    throw error instanceof UntrustedClaims ? invalid(error.message) : error
  }
}

function readUnverified(token: string) {
  try {
    return [decodeProtectedHeader(token), decodeJwt(token)] as const
  } catch {
    throw invalid('it is no signed token')
  }
}

const invalid = (why: string) => new LogoutRefusal(`The logout token is not valid: ${why}.`)

/** Section 2.6, step by step; the library has those that all tokens share. */
async function verify(
  keys: JSONWebKeySet,
  { issuer, clientId, label }: Provider,
  token: string,
  now: Date,
): Promise<LogoutClaims> {
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    ...{ algorithms: [...signatures], issuer, audience: clientId, typ: 'logout+jwt', currentDate: now },
    ...{
      clockTolerance: toleranceSeconds,
      maxTokenAge: youngSeconds,
      requiredClaims: ['iat', 'exp', 'jti', 'events'],
    },
  }).catch((error: unknown) => {
    // What the library did not foresee is a key of theirs that is none.
    throw error instanceof errors.JOSEError
      ? invalid(error.message)
      : new ProviderFault(`A key of ${label} cannot be used.`)
  })
  return read(payload)
}

type LogoutTarget = Pick<LogoutClaims, 'subject' | 'sid'>

/**
 * Of a provider whose word ends all that a person has from there: whose it is, whichever session is named.
 */
async function reachOf(
  sql: Sql,
  { id, logoutEnds }: Provider,
  { subject, sid }: LogoutClaims,
): Promise<LogoutTarget> {
  if (logoutEnds === 'session' || sid === undefined) return { subject, sid }
  const [found] = await sql.query(table.selectSubjectOfSession, { providerId: id, sid })
  const whose = subject ?? found?.subject
  return whose === undefined ? { subject, sid } : { subject: whose, sid: undefined }
}

async function endSessions(
  sql: Sql,
  { id, name }: Provider,
  subject: string | undefined,
  sid: string | undefined,
  { by, at }: Act,
): Promise<number> {
  const ended = await sql.query(table.deleteEndedSessions, { providerId: id, subject, sid })
  const act = { by: { ...by, name: `provider:${name}` }, at }
  for (const [userId, sessions] of Map.groupBy(ended, (each) => each.userId))
    await recordAct(sql, act, 'session.ended_by_provider', `user:${userId}`, { sessions: sessions.length })
  return ended.length
}

export function removeSpentLogoutTokens(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteSpentTokens, { until: after(now, -spentMs), most })
}
