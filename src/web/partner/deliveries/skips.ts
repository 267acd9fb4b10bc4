/** Skipping what waits: one delivery on its own page, or all that wait at a webhook, after a question. */

import type { Sql } from '../../../database/database.ts'
import { Conflict } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import { getUserById } from '../../../users/user.ts'
import {
  getSkip,
  listSkips,
  printCanceler,
  type Skip,
  startSkip as start,
  usualReason,
} from '../../../webhooks/deliveries/skip.ts'
import { countedAtMost, readHealth } from '../../../webhooks/health/webhook-health.ts'
import { noteCharacters } from '../../../webhooks/subscriptions/note.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, emptyDraft, findProblem, formNotice, textField } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import { badge, crumbs, facts, printMoment, table } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { webhookOf } from '../webhooks/webhooks.ts'

export function showSkip(visit: Visit, member: Member) {
  return sendQuestion(visit, member, emptyDraft)
}

export async function startSkip(visit: Visit, member: Member, form: SubmittedForm) {
  const webhook = await webhookOf(visit, member)
  const here = `${member.home}/webhooks/${webhook.id}`
  const reason = readReason(form)
  const make = (db: Sql) => {
    if (form.find('confirmed') !== 'yes')
      throw new Conflict('Tick the box to confirm, then skip queued deliveries.')
    return start(db, webhook, reason, member.act)
  }
  let result: SubmissionResult<Skip> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(visit.context, member, form, make, ({ id }) => `${here}/skips/${id}`)
  })
  if (problem) return sendQuestion(visit, member, { values: { reason: form.find('reason') }, problem })
  return leadToDone(visit, member, result!.path, {
    text: 'Queued deliveries are skipped.',
    link: {
      path: `${member.home}/deliveries?webhook=${webhook.id}&state=canceled`,
      label: 'What was skipped',
    },
  })
}

export async function showSkipped(visit: Visit, member: Member) {
  const webhook = await webhookOf(visit, member)
  const id = idOf(paramsOf(visit.request).skip)
  const { db } = visit.context
  const beginning = { path: `${member.home}/webhooks/${webhook.id}/skip`, label: 'Skip queued deliveries' }
  const skip = await getSkip(db, webhook, id)
  return sendPortal(visit, member, {
    title: `Skip ${id}`,
    section: '/webhooks',
    body: html`${crumbs([...trail(webhook, member), ...(member.isDeveloper ? [beginning] : [])])}
<h1>Skip ${id}</h1>
${printDone(skip, await getNames(db, skip.askedBy))}`,
  })
}

/** Without one, the usual. */
export function readReason(form: SubmittedForm): string {
  return cut(form.find('reason')?.trim() ?? '', noteCharacters) || usualReason
}

export function reasonField(draft: Draft): Html {
  const more = html`maxlength="${fieldLengths['/partner/:branch/webhooks/:id/skip/start'].reason}"`
  return textField(draft, {
    name: 'reason',
    label: 'Reason',
    hint: 'Optional. It is kept with the delivery.',
    more,
  })
}

/** The names of users, by what the log calls them. */
export type EntityNames = ReadonlyMap<string, string>

export async function getNames(sql: Sql, actor: string | null): Promise<EntityNames> {
  const id = actor?.startsWith('user:') ? actor.slice('user:'.length) : undefined
  return new Map(id === undefined ? [] : [[actor!, (await getUserById(sql, id)).name]])
}

export function describeCanceler(actor: string, names: EntityNames): string {
  const known = printCanceler(actor)
  return known === 'brokerage' ? 'the brokerage' : (names.get(actor) ?? known.replace(':', ' '))
}

async function sendQuestion(visit: Visit, member: Member, draft: Draft) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  const waiting = (await readHealth(db, [webhook])).get(webhook.id)?.waiting ?? 0
  return sendPortal(visit, member, {
    title: 'Skip queued deliveries',
    section: '/webhooks',
    status: draft.problem?.status ?? 200,
    body: html`${crumbs(trail(webhook, member))}
<h1>Skip queued deliveries</h1>
${
  waiting === 0
    ? html`<p class="card empty">Nothing waits at this
  webhook.</p>`
    : printQuestion(webhook, waiting, draft, member)
}
${printSkips(await listSkips(db, webhook), member)}`,
  })
}

function printQuestion({ id, url }: Webhook, waiting: number, draft: Draft, { home, csrf }: Member): Html {
  const count = printCount(waiting)
  return html`<section class="card">
<p><strong>${count}</strong> ${waiting === 1 ? 'delivery waits' : 'deliveries wait'} for
  <code>${url}</code>. Skipped deliveries are not sent. New events still are.
  A replay that is running goes on: stop it first.</p>
${formNotice(draft, 'reason')}
<form method="post" action="${home}/webhooks/${id}/skip/start">${csrfField(csrf)}${onceField()}
${reasonField(draft)}
<label class="tick"><input type="checkbox" name="confirmed" value="yes"
  required><span>Skip all queued deliveries</span></label>
<button class="danger">Skip ${count}</button></form></section>`
}

function trail({ id }: Webhook, { home }: Member) {
  return [
    { path: `${home}/webhooks`, label: 'Webhooks' },
    { path: `${home}/webhooks/${id}`, label: `Webhook ${id}` },
  ]
}

/** Beyond what is counted the number is not known. */
function printSkipped({ skipped }: Skip): string {
  return skipped === null ? `more than ${printNumber(countedAtMost)}` : printNumber(skipped)
}

const printNumber = (number: number) => number.toLocaleString('en')

function printSkips(skips: readonly Skip[], { home }: Member): Html | undefined {
  if (skips.length === 0) return undefined
  const rows = skips.map(
    (each) =>
      html`<tr><td><a href="${home}/webhooks/${each.webhookId}/skips/${each.id}">${each.id}</a></td><td
        class="number">${printSkipped(each)}</td><td>${each.reason}</td><td>${printMoment(each.createdAt)}</td></tr>`,
  )
  return html`<h2>Earlier skips</h2>${table('Skips', ['Skip', 'Skipped', 'Reason', 'At (UTC)'], rows)}`
}

function printDone(skip: Skip, names: EntityNames): Html {
  const { reason, askedBy, createdAt } = skip
  return html`<section class="card"><p>${badge('good', 'finished')} ${printSkipped(skip)} skipped</p>
${facts([
  ['Reason', reason],
  ['Skipped by', describeCanceler(askedBy, names)],
  ['At', printMoment(createdAt)],
])}</section>`
}
