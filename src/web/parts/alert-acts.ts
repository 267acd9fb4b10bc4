/** What is done on the page of alerts, for whichever owner: each act leads back to the page. */
import { listLastAlerts } from '../../alerts/history.ts'
import {
  type AlertOwner,
  type AlertTarget,
  addAddress,
  changeTarget,
  confirmAddress,
  listTargets,
  removeAddress,
  sendCode,
  sendTest,
} from '../../alerts/target.ts'
import type { Sql } from '../../database/database.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { sendListFile } from '../frame/list.ts'
import type { Watcher } from '../frame/live.ts'
import { makeOnce } from '../frame/make-once.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import type { AlertForms } from './alert-forms.ts'
import { type AlertPage, alertList } from './alert-page.ts'

const shownAtMost = 20

/** Of an owner, whose page is `here`. */
interface AlertPlace {
  readonly owner: AlertOwner
  readonly here: string
}

export type NewSecret = AlertPage['secret']

export async function readAlertPage(sql: Sql, owner: AlertOwner) {
  const targets = await listTargets(sql, owner)
  return { targets, last: await listLastAlerts(sql, targets, shownAtMost) }
}

export async function sendAlertFile(visit: Visit, visitor: UserSession, watcher: Watcher, owner: AlertOwner) {
  const { db } = visit.context
  const targets = await listTargets(db, owner)
  const list = alertList(targets, (most) => listLastAlerts(db, targets, most))
  return sendListFile(visit, visitor, watcher, list)
}

/** Undefined for a form that was sent before: its browser has been led to the page. */
export async function add(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  form: Submission<AlertForms['add']>,
): Promise<NewSecret> {
  const { context } = visit
  const { url, what, wait } = form.values
  const draft = { url: url.trim(), what, waitMinutes: Number(wait) }
  const deps = { vault: context.vault, policy: context.guard }
  const make = (sql: Sql) => addAddress(sql, deps, owner, draft, visitor.act)
  const sent = await makeOnce(context, visitor, form, make, () => `${here}?done=made-before`)
  if (sent.kind === 'before') {
    visit.reply.redirect(sent.path, 303)
    return undefined
  }
  return { target: sent.made.target, text: sent.made.secret }
}

const toLast = (here: string) => ({ path: `${here}#last`, label: 'What became of it' })
const toTargets = (here: string) => ({ path: `${here}#addresses`, label: 'Addresses' })

export const doneWords = {
  'made-before':
    'This form was sent before, and added the address. Its secret was shown once. If you did not copy it and need it, remove the address and add it again.',
}

export async function confirm(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  { values }: Submission<AlertForms['confirm']>,
) {
  const { db, vault } = visit.context
  await confirmAddress(db, vault, owner, values.target, values.code, visitor.act)
  return leadToDone(visit, visitor, here, { text: 'The address is confirmed.', link: toTargets(here) })
}

export async function sendNewCode(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  form: Submission<AlertForms['sendCode']>,
) {
  const make = (sql: Sql) => sendCode(sql, owner, form.values.target, visitor.act)
  await makeOnce(visit.context, visitor, form, make, () => here)
  return leadToDone(visit, visitor, here, {
    text: 'A new code is on its way. The one before no longer works.',
    link: toLast(here),
  })
}

export async function change(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  { values: { target, what, wait } }: Submission<AlertForms['change']>,
) {
  const choice = { what, waitMinutes: Number(wait) }
  const before = await changeTarget(visit.context.db, owner, target, choice, visitor.act)
  return leadToDone(visit, visitor, here, { text: 'Your choice is saved.', undo: undoOf(here, before) })
}

/** The choice as it was. */
const undoOf = (here: string, { id, what, waitMinutes }: AlertTarget) => ({
  action: `${here}/change`,
  fields: { target: String(id), what: [...what], wait: String(waitMinutes) },
})

export async function test(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  form: Submission<AlertForms['test']>,
) {
  const make = (sql: Sql) => sendTest(sql, owner, form.values.target, visitor.act)
  await makeOnce(visit.context, visitor, form, make, () => here)
  return leadToDone(visit, visitor, here, { text: 'A test alert is on its way.', link: toLast(here) })
}

export async function remove(
  visit: Visit,
  visitor: UserSession,
  { owner, here }: AlertPlace,
  { values }: Submission<AlertForms['remove']>,
) {
  await removeAddress(visit.context.db, owner, values.target, visitor.act)
  return leadToDone(visit, visitor, here, { text: 'The address is removed.', link: toTargets(here) })
}
