/** Users as operators look for them: page by page, in the order of their usernames. */
import type { Sql } from '../database/database.ts'
import type { User } from './user.ts'
import { selectLockedBy, selectNamed, selectPage } from './user-search.sql.ts'

/** So many are looked at in order, and so many of one name are taken from the index. */
const namesakesAtMost = 1_000

interface UserQuestion {
  /** With `lockedBy` it is the beginning of a username. */
  readonly text?: string | undefined
  readonly lockedBy?: User['lockedBy'] | undefined
  /** The last username of the page before. */
  readonly after?: string | undefined
}

interface FoundUsers {
  readonly users: readonly User[]
  /** What the next page comes after; undefined on the last one. */
  readonly after: string | undefined
}

export async function findUsers(
  sql: Sql,
  { text, lockedBy, after = '' }: UserQuestion,
  limit: number,
): Promise<FoundUsers> {
  const values = { after, most: limit + 1 }
  const found = await select()
  const users = found.slice(0, limit)
  return { users, after: found.length > limit ? users.at(-1)?.username : undefined }

  function select(): Promise<User[]> {
    if (lockedBy) return sql.query(selectLockedBy, { ...values, lockedBy, typed: text ?? '' })
    if (text === undefined) return sql.query(selectPage, values)
    return sql.query(selectNamed, { ...values, typed: text, namesakes: namesakesAtMost })
  }
}
