/**
 * A form that makes something counts once (is idempotent), however often it is sent: by a double click, the
 * back button, a reload, on whichever node. Its mark is used up in the transaction of what it makes. So what
 * fails uses up nothing, of two transactions at once the second waits for the first, and its browser is led
 * to what the first made.
 */
import { after, day } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { sha256 } from '../../crypto/hash.ts'
import type { Sql } from '../../database/database.ts'
import {
  deleteOldSubmissions,
  insertSubmission,
  selectSubmission,
  updateSubmission,
} from '../../users/submissions.sql.ts'
import type { Submission } from './form.ts'
import { outOfDate } from './form-token.ts'
import { markLetters } from './once-field.ts'
import type { UserSession } from './visitor.ts'

/** Longer than any session lives, and no form outlives its session. */
const keptMs = day

/** `path` shows what was made, but for what is shown once. */
type SubmissionResult<Item> =
  | { readonly kind: 'made'; readonly path: string; readonly made: Item }
  /** The same form was sent before. */
  | { readonly kind: 'before'; readonly path: string }

type Mark = Pick<Submission<unknown>, 'text' | 'once'>

/** What `make` does through the database that it is handed is one transaction with the mark. */
export function makeOnce<Item>(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  visitor: UserSession,
  form: Mark,
  make: (db: Sql) => Promise<Item>,
  pathOf: (made: Item) => string,
): Promise<SubmissionResult<Item>> {
  const id = readMark(visitor, form)
  return db.transaction<SubmissionResult<Item>>(async (sql) => {
    const [first] = await sql.query(insertSubmission, { id, createdAt: clock.now() })
    if (!first) return { kind: 'before', path: await findPath(sql, id) }
    const made = await make(sql)
    const path = pathOf(made)
    await sql.query(updateSubmission, { id, leadsTo: path })
    return { kind: 'made', path, made }
  })
}

/** Of this user and this content: a user who goes back and types something else means something else. */
function readMark({ session }: UserSession, form: Mark): string {
  if (form.once.length !== markLetters) throw outOfDate()
  return sha256(`${session.user.id} ${form.text}`).toString('base64url')
}

async function findPath(sql: Sql, id: string): Promise<string> {
  const [before] = await sql.query(selectSubmission, { id })
  return before?.leadsTo ?? '/account'
}

export function removeOldSubmissions(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(deleteOldSubmissions, { before: after(now, -keptMs), most })
}
