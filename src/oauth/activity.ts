/**
 * How often applications used each of their scopes, by day, for the account holder who decides whether to
 * keep them. The hot path pays one map entry; a minute's uses are written together.
 */
import { after, day } from '../clock.ts'
import { inTurn } from '../concurrency/in-turn.ts'
import type { Sql } from '../database/database.ts'
import { type Scope, scopes } from '../vocabulary/scope.ts'
import * as table from './activity.sql.ts'
import type { Bearer } from './bearer.ts'

const keptDays = 30

export interface Activity {
  note(bearer: Bearer, scope: Scope, at: Date): void
  /** Answers when every use of before is written. */
  flush(): Promise<void>
}

interface UseCount {
  count: number
  lastAt: Date
}

/** One number for an authorization and a scope: a key that costs nothing to make. */
const places = 8

export function openActivity(db: Sql): Activity {
  let noted = new Map<number, UseCount>()
  return {
    note({ authorizationId }, scope, at) {
      if (authorizationId === undefined) return
      const key = authorizationId * places + scopes.indexOf(scope)
      const uses = noted.get(key)
      if (uses) {
        uses.count++
        uses.lastAt = at
      } else noted.set(key, { count: 1, lastAt: at })
    },
    flush: inTurn(async () => {
      if (noted.size === 0) return
      const written = [...noted]
      noted = new Map()
      await db.query(table.addUses, {
        ids: written.map(([key]) => Math.floor(key / places)),
        scopes: written.map(([key]) => scopes[key % places]!),
        counts: written.map(([, { count }]) => count),
        ats: written.map(([, { lastAt }]) => lastAt),
      })
    }),
  }
}

export interface ScopeActivity {
  readonly authorizationId: number
  readonly scope: Scope
  readonly uses: number
  readonly lastUsedAt: Date
}

/** What each scope was used for in the last 30 days. */
export function listActivity(
  sql: Sql,
  authorizationIds: readonly number[],
  now: Date,
): Promise<ScopeActivity[]> {
  return sql.query(table.selectActivity, { authorizationIds, since: after(now, -keptDays * day) })
}

export function removeOldActivity(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldActivity, { before: after(now, -keptDays * day), most })
}
