/** Questions that a person asks of a list again and again. Nobody else sees them. */
import type { Database, Sql } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { deleteView, lockOwner, saveView as save, selectViews } from './saved-views.sql.ts'

const viewsOfList = 20

interface Owner {
  readonly userId: string
  readonly environment: Environment
}

export interface SavedView {
  /** Of the list. */
  readonly path: string
  readonly name: string
  /** What the list is asked. */
  readonly query: string
}

export function listViews(sql: Sql, { userId, environment }: Owner): Promise<SavedView[]> {
  return sql.query(selectViews, { userId, environment })
}

/** Under a name that is there already, it takes its place. */
export async function saveView(db: Database, owner: Owner, view: SavedView): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(lockOwner, { userId: owner.userId })
    const [saved] = await sql.query(save, { ...owner, ...view, most: viewsOfList })
    if (!saved)
      throw new Conflict(
        `You have saved ${viewsOfList} views of this list. Remove one that you no longer need.`,
      )
  })
}

/** What it asked; undefined where it is gone already. */
export async function removeView(
  sql: Sql,
  owner: Owner,
  { path, name }: Pick<SavedView, 'path' | 'name'>,
): Promise<string | undefined> {
  const [removed] = await sql.query(deleteView, { ...owner, path, name })
  return removed?.query
}
