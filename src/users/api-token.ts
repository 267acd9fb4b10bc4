/**
 * Spec 5.1: the personal API token (live) and the sandbox token of an individual. Shown once;
 * it has every scope and no end unless fewer, or one, is chosen.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { issueToken, type Token, tokenHint } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { scopes as everyScope, type Scope } from '../vocabulary/scope.ts'
import * as table from './api-tokens.sql.ts'
import { recordGuardedAct } from './guarded-act.ts'
import type { User } from './user.ts'

export const tokensPerUser = 50

export interface ApiToken {
  readonly id: number
  readonly userId: string
  readonly environment: Environment
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly hint: string
  readonly createdAt: Date
  /** Null: until it is revoked. */
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

interface NewApiToken {
  readonly environment: Environment
  readonly name: string
  /** All of them unless given. */
  readonly scopes?: readonly Scope[]
  readonly expiresAt?: Date | undefined
}

export function hasEnded({ expiresAt }: ApiToken, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now
}

export async function createApiToken(
  db: Sql,
  user: User,
  { environment, name, scopes = everyScope, expiresAt }: NewApiToken,
  act: Act,
): Promise<{ record: ApiToken; token: Token }> {
  const problem = findNameProblem(name, 100)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  const trimmed = name.trim()
  const token = issueToken('personal', environment)
  const record = await db.transaction(async (sql) => {
    await sql.query(table.lockUser, { id: user.id })
    const count = await sql.one(table.countApiTokens, { userId: user.id, now: act.at })
    if (count.living >= tokensPerUser) {
      throw new Conflict(`A user may hold ${tokensPerUser} API tokens. Revoke one that is no longer needed.`)
    }
    const values = {
      userId: user.id,
      environment,
      name: trimmed,
      scopes,
      hash: token.hash,
      hint: tokenHint(token),
      createdAt: act.at,
      expiresAt,
    }
    const created = await sql.one(table.insertApiToken, values)
    const details = { tokenId: created.id, environment, name: trimmed, scopes, expiresAt: created.expiresAt }
    await recordGuardedAct(sql, act, 'api_token.created', user.id, details)
    return created
  })
  return { record, token }
}

export function listApiTokens(sql: Sql, userId: string): Promise<ApiToken[]> {
  return sql.query(table.selectApiTokens, { userId })
}

/** Of a token that was issued, whatever became of it since. */
export async function findApiTokenId(sql: Sql, { hash }: Token): Promise<number | undefined> {
  const [found] = await sql.query(table.selectApiTokenId, { hash })
  return found?.id
}

/** With `ownerId`, another user's token is as absent as one that never was. */
export async function revokeApiToken(
  db: Sql,
  id: number,
  ownerId: string | undefined,
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(table.revokeApiToken, { id, revokedAt: act.at, ownerId })
    if (!revoked) throw new NotFound(`There is no living API token ${id}.`)
    await recordAct(sql, act, 'api_token.revoked', `user:${revoked.userId}`, { tokenId: id })
  })
}
