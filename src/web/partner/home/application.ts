/**
 * A partner that may not act: why, what it can do about it, and what it and the brokerage told each other.
 */

import type { Sql } from '../../../database/database.ts'
import { applyAgain as apply } from '../../../partners/application.ts'
import type { Application } from '../../../partners/application-details.ts'
import { findApplication, type Partner } from '../../../partners/partner.ts'
import { listMessages, sendMessage } from '../../../partners/partner-message.ts'
import { type Draft, emptyDraft, findProblem, formNotice } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { crumbs, facts } from '../../frame/parts.ts'
import { makeOnce, onceField } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { AnyMember } from '../../gates/gates.ts'
import { messagesShown, printThread } from '../../parts/thread.ts'
import { sendPortal } from '../frame/portal.ts'
import { fieldNames, partnerBadge, printApplicationFields, readApplication } from './application-form.ts'
import { printMeanwhile } from './onboarding.ts'

/** A form left open while another member applied again finds the page as it is now. */
export async function applyAgain(visit: Visit, member: AnyMember, form: SubmittedForm) {
  const values = readApplication(form)
  const send = (db: Sql) => apply(db, member.partner, values, member.act)
  const problem = await findProblem(() => makeOnce(visit.context, member, form, send, () => member.home))
  if (problem) return sendState(visit, member, { values: { ...values }, problem })
  const link = { path: `${member.home}/messages`, label: 'Messages' }
  return leadToDone(visit, member, member.home, { text: 'Your application is sent.', link })
}

export async function writeToBrokerage(visit: Visit, member: AnyMember, form: SubmittedForm) {
  const message = form.find('message')?.trim() ?? ''
  const send = (db: Sql) => sendMessage(db, member.partner, 'partner', message, member.act)
  const path = `${member.home}/messages`
  const problem = await findProblem(() => makeOnce(visit.context, member, form, send, () => path))
  if (problem) return sendMessages(visit, member, { values: { message }, problem })
  const link = { path: member.home, label: 'Overview' }
  return leadToDone(visit, member, path, { text: 'Your message is sent.', link })
}

export function showMessages(visit: Visit, member: AnyMember) {
  return sendMessages(visit, member, emptyDraft)
}

async function sendMessages(visit: Visit, member: AnyMember, draft: Draft) {
  const { partner, home } = member
  return sendPortal(visit, member, {
    title: 'Messages',
    section: '/messages',
    status: draft.problem?.status ?? 200,
    body: html`${crumbs([{ path: home, label: partner.name }])}<h1>Messages with the brokerage</h1>${await printMessages(visit, member, draft)}`,
  })
}

export async function sendState(visit: Visit, member: AnyMember, draft: Draft = emptyDraft) {
  const { partner } = member
  const application = await findApplication(visit.context.db, partner)
  return sendPortal(visit, member, {
    title: partner.name,
    status: draft.problem?.status ?? 200,
    body: html`<h1>${partner.name} ${partnerBadge(partner.status)}</h1>
<section class="card"><p>${words[partner.status]}</p>
${partner.statusReason !== null && html`<p class="notice error">Reason: ${partner.statusReason}</p>`}
${
  partner.status === 'suspended' &&
  partner.statusReason === null &&
  html`<p class="notice error">No reason
  was given.</p>`
}
${printApplication(partner, application)}</section>
${partner.status === 'applied' && printMeanwhile(visit, member)}
${partner.status === 'declined' && member.isOwner && printAmendment(visit, member, application, draft)}
${await printMessages(visit, member, emptyDraft)}`,
  })
}

const words: Readonly<Record<Partner['status'], string>> = {
  applied: 'The brokerage has not decided yet. You will be told by e-mail, and this page shows the answer.',
  approved: 'The brokerage approved it.',
  declined:
    'The brokerage declined the application. An owner can change it and apply again, or write to the brokerage below.',
  suspended: 'Its applications and webhooks are stopped until the brokerage approves it again.',
}

function printApplication(partner: Partner, application: Application | undefined): Html {
  return facts([
    ['Branch', partner.branchId],
    ['Applied', printDate(partner.createdAt)],
    ['Website', application?.website],
    ['E-mail', application?.contact],
    ['Purpose', application?.purpose],
  ])
}

/** The application concerns both sites, and is changed on the live one. */
function printAmendment(
  { context }: Visit,
  { partner, home, csrf }: AnyMember,
  application: Application | undefined,
  draft: Draft,
): Html {
  if (context.environment !== 'live')
    return html`<section class="card"><p><a class="button primary" href="${onLiveSite(context, home)}">Change
      it and apply again</a></p></section>`
  const values = { name: partner.name, ...application, ...draft.values }
  return html`<section class="card"><h2>Change it and apply again</h2>
${formNotice(draft, ...fieldNames)}
<form method="post" action="${home}/apply">${csrfField(csrf)}${onceField()}
${printApplicationFields({ ...draft, values })}
<button class="primary">Apply again</button></form></section>`
}

/** Written and read on the live site. */
async function printMessages({ context }: Visit, member: AnyMember, draft: Draft): Promise<Html> {
  const { partner, home, csrf, isDeveloper } = member
  if (context.environment !== 'live')
    return html`<p><a href="${onLiveSite(context, `${home}/messages`)}">Messages with the brokerage</a></p>`
  const messages = await listMessages(context.db, partner, messagesShown)
  const action = isDeveloper ? `${home}/messages/send` : undefined
  return printThread(messages, { side: 'partner', action, csrf, draft })
}
