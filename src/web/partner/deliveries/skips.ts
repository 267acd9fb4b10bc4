/** Skipping what waits: one delivery on its own page, or all that wait at a webhook, after a question. */

import type { Sql } from '../../../database/database.ts'
import { Conflict } from '../../../problem.ts'
import { getUserById } from '../../../users/user.ts'
import {
  getSkip,
  listSkips,
  printCanceler,
  type Skip,
  startSkip as start,
  usualReason,
} from '../../../webhooks/deliveries/skip.ts'
import { countedAtMost, readWaiting } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { badge, crumbs, facts, printMoment, table } from '../../frame/parts.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { webhookOf } from '../webhooks/webhooks.ts'
import * as forms from './forms.ts'

export async function startSkip(visit: Visit, member: Member, form: Submission<typeof forms.startSkip>) {
  const webhook = await webhookOf(visit, member)
  const here = `${member.home}/webhooks/${webhook.id}`
  const make = (db: Sql) => {
    if (!form.values.confirmed) throw new Conflict('Tick the box to confirm, then skip queued deliveries.')
    return start(db, webhook, reasonOf(form.values), member.act)
  }
  const { path } = await makeOnce(visit.context, member, form, make, ({ id }) => `${here}/skips/${id}`)
  return leadToDone(visit, member, path, {
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
export function reasonOf({ reason }: { readonly reason: string }): string {
  return reason.trim() || usualReason
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

export async function showSkip(visit: Visit, member: Member) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  const waiting = (await readWaiting(db, [webhook])).get(webhook.id)?.waiting ?? 0
  return sendPortal(visit, member, {
    title: 'Skip queued deliveries',
    section: '/webhooks',
    body: html`${crumbs(trail(webhook, member))}
<h1>Skip queued deliveries</h1>
${
  waiting === 0
    ? html`<p class="card empty">Nothing waits at this
  webhook.</p>`
    : printQuestion(webhook, waiting, member)
}
${printSkips(await listSkips(db, webhook), member)}`,
  })
}

function printQuestion({ url }: Webhook, waiting: number, member: Member): Html {
  const count = printCount(waiting)
  return html`<section class="card">
<p><strong>${count}</strong> ${waiting === 1 ? 'delivery waits' : 'deliveries wait'} for
  <code>${url}</code>. Skipped deliveries are not sent. New events still are.
  A replay that is running goes on: stop it first.</p>
${member.forms.print(
  forms.startSkip,
  {},
  (view) => html`${view.field('reason')}
${view.field('confirmed')}
${view.button(`Skip ${count}`, { look: 'danger' })}`,
)}</section>`
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
