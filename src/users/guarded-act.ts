/**
 * Acts that could hand an account to another person: the entry in the audit log and the notice to its owner
 * are one call, and there is no other way to record it. The notice cannot be declined, and goes to the
 * addresses of before as well (decision 0018).
 */
import type { GuardedAction } from '../audit/action.ts'
import { type Act, type Actor, insertEntry } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import type { GuardKind, NoticeFacts } from '../notices/facts.ts'
import { tellOwner } from '../notices/notice.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Scope } from '../vocabulary/scope.ts'

interface GuardedDetails extends Record<GuardedAction, object> {
  readonly 'user.password_changed': Record<never, never>
  readonly 'second_factor.added': { readonly factor: string }
  readonly 'second_factor.removed': { readonly factor: string }
  readonly 'second_factor.reset': Record<never, never>
  readonly 'second_factor.locked': { readonly factor: string }
  readonly 'recovery_codes.made': Record<never, never>
  readonly 'api_token.created': {
    readonly tokenId: number
    readonly environment: Environment
    readonly name: string
    readonly scopes: readonly Scope[]
    readonly expiresAt: Date | null
  }
}

/** A change of address is told by a trigger. */
type GuardNoticeKind = Exclude<GuardKind, 'address'>

type GuardNotice = {
  readonly [Kind in GuardNoticeKind]: {
    kind: Kind
    facts: Omit<NoticeFacts[Kind], 'byHolder' | 'from' | 'userAgent'>
  }
}[GuardNoticeKind]

const notices: { readonly [Action in GuardedAction]: (details: GuardedDetails[Action]) => GuardNotice } = {
  'user.password_changed': () => ({ kind: 'password', facts: {} }),
  'second_factor.added': ({ factor }) => ({ kind: 'second-factor', facts: { change: 'added', factor } }),
  'second_factor.removed': ({ factor }) => ({ kind: 'second-factor', facts: { change: 'removed', factor } }),
  'second_factor.reset': () => ({ kind: 'second-factor', facts: { change: 'reset', factor: null } }),
  'second_factor.locked': ({ factor }) => ({ kind: 'second-factor', facts: { change: 'locked', factor } }),
  'recovery_codes.made': () => ({ kind: 'recovery-codes', facts: {} }),
  'api_token.created': ({ environment, name }) => ({ kind: 'api-token', facts: { environment, name } }),
}

export async function recordGuardedAct<Action extends GuardedAction>(
  sql: Sql,
  act: Act,
  action: Action,
  userId: string,
  details: GuardedDetails[Action],
): Promise<void> {
  await insertEntry(sql, act, action, `user:${userId}`, { ...details })
  const { kind, facts } = notices[action](details)
  await tellOwner(sql, userId, kind, { ...facts, ...whoOf(act.by, userId) }, act.at)
}

/** From where the brokerage's own people act is not told. */
function whoOf(by: Actor, userId: string) {
  const byHolder = by.name === `user:${userId}`
  return { byHolder, from: (byHolder && by.address) || null, userAgent: (byHolder && by.userAgent) || null }
}
