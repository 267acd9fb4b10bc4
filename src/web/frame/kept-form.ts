/**
 * What a user typed is theirs until it is sent. A form that cannot be taken yet, because they have to sign in
 * or to confirm that it is them, is kept here meanwhile: sealed, for half an hour, under a secret of this
 * browser, for this person alone. The page that holds the form shows it filled in again (refill.ts), once,
 * and nothing is done before they send it. Passwords, secrets and codes are never kept.
 */
import type { FastifyReply } from 'fastify'
import { after, minute } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { sha256 } from '../../crypto/hash.ts'
import type { Sql } from '../../database/database.ts'
import type { Form } from '../../http/form.ts'
import type { Problem } from '../../problem.ts'
import {
  deleteOldKeptForms,
  insertKeptForm,
  selectKeptForm,
  takeKeptForm,
} from '../../users/kept-forms.sql.ts'
import { ensureKeeping, readCookie, readKeeping } from './cookies.ts'
import { findOwner } from './forms.ts'
import { asksForStream } from './live.ts'
import { type FormSubmission, isSecret } from './refill.ts'
import type { Visit } from './visit.ts'

const keptMs = 30 * minute
/** As long as a form may be, with room for the seal. */
const mostBytes = 65_536
const othersOfUser = 4

/** What the answer puts back into its page, and why it was not taken. */
export interface RejectedForm extends FormSubmission {
  readonly problem?: Problem
}

const returned = new WeakMap<FastifyReply, RejectedForm>()

export function returnForm(reply: FastifyReply, form: RejectedForm): void {
  returned.set(reply, form)
}

export function findReturned(reply: FastifyReply): RejectedForm | undefined {
  return returned.get(reply)
}

/** The form as this request sends it, but for what is secret. */
export function readTyped({ request }: Pick<Visit, 'request'>): FormSubmission {
  const values = Object.entries((request.body ?? {}) as Form).filter(
    ([name, value]) => !isSecret(name, value),
  )
  return { action: request.url.split('?')[0]!, values: Object.fromEntries(values) }
}

/**
 * For whom it was printed, in a browser that had a session; `at` is the address of the page that shows it
 * again.
 */
export async function keepForm(visit: Visit, at: string): Promise<void> {
  const { context, request, reply } = visit
  const userId =
    readCookie(context, request, 'session') === undefined ? undefined : findOwner(context, request)
  if (userId === undefined) return
  const text = JSON.stringify(readTyped(visit))
  if (Buffer.byteLength(text) > mostBytes) return
  const id = idOf(context, ensureKeeping(context, request, reply), at)
  const sealed = context.vault.seal(purposeOf(id), text)
  await context.db.query(insertKeptForm, { id, userId, sealed, keptAt: context.clock.now(), othersOfUser })
}

/** For the page at the address of this request. What another user typed in this browser is dropped. */
export async function returnKeptForm({ context, request, reply }: Visit, userId: string): Promise<void> {
  const key = readKeeping(context, request)
  if (key === undefined || asksForStream(request) || returned.has(reply)) return
  const id = idOf(context, key, request.url)
  const [row] = await context.db.query(takeKeptForm, { id })
  if (!row || row.userId !== userId || row.keptAt <= after(context.clock.now(), -keptMs)) return
  const text = context.vault.open(purposeOf(id), row.sealed)
  if (text !== undefined) returnForm(reply, JSON.parse(text) as FormSubmission)
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
