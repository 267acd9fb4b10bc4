/** Users as operators look for them: page by page, in the order of their usernames. */
import type { Sql } from '../database/database.ts'
import type { User } from './user.ts'
import { selectNamed, selectPage } from './user-search.sql.ts'

/** So many are looked at in order, and so many of one name are taken from the index. */
const namesakesAtMost = 1_000

interface UserQuestion {
  readonly text?: string | undefined
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
  { text, after = '' }: UserQuestion,
  limit: number,
): Promise<FoundUsers> {
  const values = { after, most: limit + 1 }
  const found =
    text === undefined
      ? await sql.query(selectPage, values)
      : await sql.query(selectNamed, { ...values, typed: text, namesakes: namesakesAtMost })
  const users = found.slice(0, limit)
  return { users, after: found.length > limit ? users.at(-1)?.username : undefined }
}
