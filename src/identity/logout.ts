/** Signing out at the provider, when somebody signs out here (RP-Initiated Logout), and here, when the provider says so (Back-Channel Logout 1.0). */
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour } from '../clock.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database, Sql } from '../database/database.ts'
import type { SessionUpstream } from '../users/session.ts'
import * as table from './logout.sql.ts'
import { findProviderById, type Provider } from './provider.ts'
import { idTokenPurpose } from './sign-in.ts'
import { signatures, type Upstreams } from './upstream.ts'

interface LogoutDesk {
  readonly db: Database
  readonly vault: Vault
  readonly upstreams: Upstreams
}

interface LogoutThere {
  readonly provider: Provider
  /** Undefined when it has no such address, or is away. */
  readonly address: URL | undefined
}

/** Where the browser goes on to sign out there too. */
export async function findLogout(
  { db, vault, upstreams }: LogoutDesk,
  { providerId, idToken }: SessionUpstream,
  returnTo: string,
): Promise<LogoutThere | undefined> {
  const provider = await findProviderById(db, providerId)
  if (!provider) return undefined
  const hint = idToken && vault.open(idTokenPurpose, idToken)
  const parameters = { post_logout_redirect_uri: returnTo, ...(hint !== undefined && { id_token_hint: hint }) }
  const upstream = await upstreams.open(provider, { mayBeAway: true }).catch(() => undefined)
  if (typeof upstream?.metadata.end_session_endpoint !== 'string') return { provider, address: undefined }
  return { provider, address: upstream.library.buildEndSessionUrl(upstream.configuration, parameters) }
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** A token that was made longer ago says nothing of now. */
const youngSeconds = 300
const spentMs = hour

export class LogoutRefused extends Error {}

/** Throws `LogoutRefused`. Answers how many sessions ended. */
export async function takeLogoutToken(
  { db, upstreams }: LogoutDesk,
  provider: Provider,
  token: string,
  act: Act,
): Promise<number> {
  const { sub, sid, jti } = await verify(await upstreams.open(provider, { mayBeAway: true }), provider, token, act.at)
  return db.transaction(async (sql) => {
    const [first] = await sql.query(table.spendLogoutToken, [provider.id, sha256(jti), act.at])
    if (!first) throw new LogoutRefused('The logout token was taken before.')
    return endSessions(sql, provider, sub, sid, act)
  })
}

interface LogoutClaims {
  readonly sub: string | undefined
  readonly sid: string | undefined
  readonly jti: string
}

/** Section 2.6, step by step; the library has those that all tokens share. */
async function verify(
  { keys }: Awaited<ReturnType<Upstreams['open']>>,
  { issuer, clientId }: Provider,
  token: string,
  now: Date,
): Promise<LogoutClaims> {
  const { payload } = await jwtVerify(token, createLocalJWKSet(await keys()), {
    ...{ algorithms: [...signatures], issuer, audience: clientId, typ: 'logout+jwt', currentDate: now },
    ...{ clockTolerance: 30, maxTokenAge: youngSeconds, requiredClaims: ['iat', 'exp', 'jti', 'events'] },
  }).catch((error: unknown) => {
    throw error instanceof errors.JOSEError
      ? new LogoutRefused(`The logout token is not valid: ${error.message}.`)
      : error
  })
  const problem = findProblem(payload)
  if (problem !== undefined) throw new LogoutRefused(`The logout token is not valid: ${problem}.`)
  const { sub, sid, jti } = payload
  return { sub, sid: sid as string | undefined, jti: jti! }
}

function findProblem({ nonce, events, sub, sid, jti }: JWTPayload): string | undefined {
  const event = (events as Record<string, unknown> | null)?.[logoutEvent]
  if (nonce !== undefined) return 'it has a nonce, as ID tokens do'
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return 'its event is not a logout'
  if (typeof jti !== 'string' || jti === '') return 'its jti is no text'
  if (sid !== undefined && typeof sid !== 'string') return 'its sid is no text'
  return sub === undefined && sid === undefined ? 'it says neither whose session ended nor which' : undefined
}

async function endSessions(
  sql: Sql,
  { id, name }: Provider,
  sub: string | undefined,
  sid: string | undefined,
  { by, at }: Act,
): Promise<number> {
  const ended = await sql.query<{ userId: string }>(table.deleteEndedSessions, [id, sub, sid])
  const act = { by: { ...by, name: `provider:${name}` }, at }
  for (const [userId, sessions] of Map.groupBy(ended, (each) => each.userId))
    await recordAct(sql, act, 'session.ended_by_provider', `user:${userId}`, { sessions: sessions.length })
  return ended.length
}

export function removeSpentLogoutTokens(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteSpentTokens, [after(now, -spentMs), most])
}
