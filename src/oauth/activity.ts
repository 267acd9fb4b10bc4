/**
 * How often applications used each of their scopes, by day, for the account holder who decides whether to keep them. The
 * hot path pays one map entry; a minute's uses are written together.
 */
import { after, day } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { inTurn } from '../in-turn.ts'
import { type Scope, scopes } from '../scope.ts'
import * as table from './activity.sql.ts'
import type { Bearer } from './bearer.ts'

const keptDays = 30

export interface Activity {
  note(bearer: Bearer, scope: Scope, at: Date): void
  /** Answers when every use of before is written. */
  flush(): Promise<void>
}

interface Uses {
  count: number
  lastAt: Date
}

/** One number for an authorization and a scope: a key that costs nothing to make. */
const places = 8

export function openActivity(db: Database): Activity {
  let noted = new Map<number, Uses>()
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
      await db.query(table.addUses, [
        written.map(([key]) => Math.floor(key / places)),
        written.map(([key]) => scopes[key % places]),
        written.map(([, { count }]) => count),
        written.map(([, { lastAt }]) => lastAt),
      ])
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
export function listActivity(sql: Sql, authorizationIds: readonly number[], now: Date): Promise<ScopeActivity[]> {
  return sql.query<ScopeActivity>(table.selectActivity, [authorizationIds, after(now, -keptDays * day)])
}

export function removeOldActivity(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldActivity, [after(now, -keptDays * day), most])
}
