/** Consent given, refused and taken back. An authorization is a user's standing approval of a client. */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour } from '../clock.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import type { Registration } from '../partners/client.ts'
import type { PartnerStatus } from '../partners/partner-status.ts'
import { NotFound } from '../problem.ts'
import type { SignInFacts } from '../users/sign-in-facts.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Scope } from '../vocabulary/scope.ts'
import { tellOfApplication } from './application-notice.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import * as table from './authorizations.sql.ts'
import { profileOf, terms } from './profile.ts'

export interface Authorization {
  readonly id: number
  readonly userId: string
  readonly clientId: string
  /** What it is good for now, which may be less than what was approved. */
  readonly scopes: readonly Scope[]
  readonly accountNumbers: readonly string[]
  /** Whether accounts were shared at all: then it counts while one of them is left. */
  readonly sharedAccounts: boolean
  readonly approvedAt: Date
  /** When its owner said last what stands. */
  readonly consentedAt: Date
  readonly lastUsedAt: Date | null
  readonly pausedAt: Date | null
  readonly clientName: string
  readonly environment: Environment
  readonly callbackUrl: string
  readonly clientStatus: 'active' | 'suspended'
  readonly partnerName: string
  readonly partnerStatus: PartnerStatus
  /** Whether the client can renew its access without asking again. */
  readonly lasting: boolean
}

interface Consent {
  readonly request: AuthorizationRequest
  readonly client: Registration
  readonly userId: string
  readonly environment: Environment
  readonly accountNumbers: readonly string[]
  readonly signIn: SignInFacts
}

/**
 * Spec 4.2. Undefined when the request has been answered before. What is approved replaces what was approved
 * before, also in the tokens given then; a holder who approves a paused application resumes it.
 */
export async function approve(db: Sql, consent: Consent, act: Act): Promise<Token | undefined> {
  const { request, client, userId, environment, accountNumbers, signIn } = consent
  const code = issueToken('code', environment)
  return db.transaction(async (sql) => {
    const [granted] = await sql.query(table.approveRequest, {
      requestId: request.id,
      at: act.at,
      userId,
      clientId: request.clientId,
      scopes: request.scopes,
      accountNumbers,
      callbackUrl: request.callbackUrl,
      resources: request.resources,
      codeChallenge: request.codeChallenge,
      codeHash: code.hash,
      dpopJkt: request.dpopJkt,
      codeExpiresAt: after(act.at, terms[profileOf(client, act.at)].codeMs),
      authenticatedAt: signIn.at,
      acr: signIn.acr,
    })
    if (!granted) return undefined
    const { id, authorizationId, resumed } = granted
    const details = { userId, authorizationId, grantId: id, scopes: request.scopes, accountNumbers }
    const subject = `client:${request.clientId}`
    await recordAct(sql, act, 'authorization.approved', subject, details)
    if (granted.isNew) await tellOfApplication(sql, consent, authorizationId, act)
    if (resumed) await recordAct(sql, act, 'authorization.resumed', subject, { authorizationId, userId })
    return code
  })
}

/** False when the request has been answered before. */
export async function deny(db: Sql, request: AuthorizationRequest, act: Act): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [answered] = await sql.query(table.denyRequest, { requestId: request.id, at: act.at })
    if (!answered) return false
    await recordAct(sql, act, 'authorization.denied', `client:${request.clientId}`, {
      scopes: request.scopes,
    })
    return true
  })
}

/** Whether it was answered, with yes or no. */
export async function isAnswered(sql: Sql, requestId: string): Promise<boolean> {
  return (await sql.query(table.selectAnswer, { requestId })).length > 0
}

export async function listAuthorizations(
  sql: Sql,
  { userId, clientId }: { userId?: string | undefined; clientId?: string | undefined },
): Promise<Authorization[]> {
  if (userId === undefined)
    return clientId === undefined ? sql.query(table.selectAll) : sql.query(table.selectOfClient, { clientId })
  const own = await sql.query(table.selectOfUser, { userId })
  return clientId === undefined ? own : own.filter((each) => each.clientId === clientId)
}

/** Of a user, of a client, or of both. */
interface AuthorizationQuestion {
  readonly userId?: string | undefined
  readonly clientId?: string | undefined
  readonly environment: Environment
  readonly before: number
}

export async function pageAuthorizations(
  sql: Sql,
  { userId, clientId, environment, before }: AuthorizationQuestion,
  most: number,
): Promise<Authorization[]> {
  const page = { environment, before, most }
  if (userId !== undefined) return sql.query(table.selectPageOfUser, { userId, clientId, ...page })
  if (clientId === undefined) throw new Error('Authorizations are listed of a user or of a client.')
  return sql.query(table.selectPageOfClient, { clientId, ...page })
}

export async function getAuthorization(
  sql: Sql,
  id: number,
  environment: Environment,
): Promise<Authorization> {
  const [found] = await sql.query(table.selectOne, { id })
  if (found?.environment !== environment) throw new NotFound(`There is no living authorization ${id}.`)
  return found
}

/** Ends every code and token that came of it. */
export async function revokeAuthorization(
  db: Sql,
  { id, ownerId, reason }: { id: number; ownerId?: string; reason: string },
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(table.revokeAuthorization, { id, userId: ownerId, at: act.at, reason })
    if (!revoked) throw new NotFound(`There is no living authorization ${id}.`)
    const details = { authorizationId: id, userId: revoked.userId, reason }
    await recordAct(sql, act, 'authorization.revoked', `client:${revoked.clientId}`, details)
  })
}

/**
 * While an application is paused its tokens, codes and refresh tokens are refused, and none of them is lost.
 */
export async function setAuthorizationPaused(
  db: Sql,
  { id, ownerId, paused }: { id: number; ownerId: string; paused: boolean },
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const values = { id, userId: ownerId, pausedAt: paused ? act.at : null }
    const [changed] = await sql.query(table.setPaused, values)
    if (!changed) throw new NotFound(`There is no authorization ${id} to ${paused ? 'pause' : 'resume'}.`)
    const details = { authorizationId: id, userId: ownerId }
    const action = paused ? 'authorization.paused' : 'authorization.resumed'
    await recordAct(sql, act, action, `client:${changed.clientId}`, details)
  })
}

/** Every application of a holder who no longer trusts what has been happening. */
export async function pauseAuthorizationsOf(sql: Sql, userId: string, act: Act): Promise<void> {
  const paused = await sql.query(table.pauseAll, { userId, at: act.at })
  for (const { id, clientId } of paused) {
    await recordAct(sql, act, 'authorization.paused', `client:${clientId}`, { authorizationId: id, userId })
  }
}

/** What a user's approval of a client is good for now. */
export type StandingApproval = Pick<Authorization, 'scopes' | 'accountNumbers' | 'consentedAt' | 'pausedAt'>

export async function findStanding(
  sql: Sql,
  userId: string,
  clientId: string,
): Promise<StandingApproval | undefined> {
  const [standing] = await sql.query(table.selectStanding, { userId, clientId })
  return standing
}

/** A request can no longer be answered well before its answer is forgotten. */
export function removeOldAnswers(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldAnswers, { before: after(now, -2 * hour), most })
}
