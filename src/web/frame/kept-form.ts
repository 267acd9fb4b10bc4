/**
 * What a user typed is theirs until it is sent. A form that cannot be taken yet, because they have to sign in
 * or to confirm that it is them, is kept here meanwhile: sealed, for half an hour, under a secret of this
 * browser, for this person alone. The page that holds the form shows it filled in again (page-forms.ts), once,
 * and nothing is done before they send it. Passwords, secrets and codes are never kept.
 */
import { after, minute } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { sha256 } from '../../crypto/hash.ts'
import type { Sql } from '../../database/database.ts'
import {
  deleteOldKeptForms,
  insertKeptForm,
  selectKeptForm,
  takeKeptForm,
} from '../../users/kept-forms.sql.ts'
import { ensureKeeping, readCookie, readKeeping } from './cookies.ts'
import type { TypedForm } from './form.ts'
import { findOwner } from './form-token.ts'
import { asksForStream } from './live.ts'
import type { ReturnedForm } from './page-forms.ts'
import type { Visit } from './visit.ts'

const keptMs = 30 * minute
/** As long as a form may be, with room for the seal. */
const mostBytes = 65_536
const othersOfUser = 4

/**
 * For whom it was printed, in a browser that had a session; `at` is the address of the page that shows it
 * again.
 */
export async function keepForm(visit: Visit, at: string): Promise<void> {
  const { context, request, reply } = visit
  const userId =
    readCookie(context, request, 'session') === undefined ? undefined : findOwner(context, request)
  if (userId === undefined || !visit.sent) return
  const text = JSON.stringify(visit.sent)
  if (Buffer.byteLength(text) > mostBytes) return
  const id = idOf(context, ensureKeeping(context, request, reply), at)
  const sealed = context.vault.seal(purposeOf(id), text)
  await context.db.query(insertKeptForm, { id, userId, sealed, keptAt: context.clock.now(), othersOfUser })
}

/** For the page at the address of this request. What another user typed in this browser is dropped. */
export async function findKeptForm(visit: Visit, userId: string): Promise<ReturnedForm | undefined> {
  const { context, request } = visit
  const key = readKeeping(context, request)
  if (key === undefined || asksForStream(request)) return undefined
  const id = idOf(context, key, visit.address)
  const [row] = await context.db.query(takeKeptForm, { id })
  if (!row || row.userId !== userId || row.keptAt <= after(context.clock.now(), -keptMs)) return undefined
  const text = context.vault.open(purposeOf(id), row.sealed)
  return text === undefined ? undefined : (JSON.parse(text) as TypedForm)
}

/** Whether something waits there for the user who signs in. */
export async function isKept(
  { context, request }: Pick<Visit, 'context' | 'request'>,
  at: string,
): Promise<boolean> {
  const key = readKeeping(context, request)
  if (key === undefined) return false
  const values = { id: idOf(context, key, at), since: after(context.clock.now(), -keptMs) }
  return (await context.db.query(selectKeptForm, values)).length > 0
}

function idOf({ environment }: Context, key: string, at: string): string {
  return sha256(`${environment} ${key} ${at}`).toString('base64url')
}

function purposeOf(id: string): string {
  return `kept-form:${id}`
}

export function removeOldKeptForms(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(deleteOldKeptForms, { until: after(now, -keptMs), most })
}
