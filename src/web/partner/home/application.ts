/**
 * A partner that may not act: why, what it can do about it, and what it and the brokerage told each other.
 */

import type { Sql } from '../../../database/database.ts'
import { applyAgain as apply } from '../../../partners/application.ts'
import type { Application } from '../../../partners/application-details.ts'
import { findApplication, type Partner } from '../../../partners/partner.ts'
import { listMessages, sendMessage } from '../../../partners/partner-message.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, sendListFile } from '../../frame/list.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { printDate } from '../../frame/page.ts'
import { crumbs, facts } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type AnyMember, memberWatcher } from '../../gates/gates.ts'
import { messagesShown, printThread, threadList } from '../../parts/thread.ts'
import { sendPortal } from '../frame/portal.ts'
import { partnerBadge, printApplicationFields, readApplication } from './application-form.ts'
import * as forms from './forms.ts'
import { printMeanwhile } from './onboarding.ts'

/** A form left open while another member applied again finds the page as it is now. */
export async function applyAgain(visit: Visit, member: AnyMember, form: Submission<typeof forms.applyAgain>) {
  const send = (db: Sql) => apply(db, member.partner, readApplication(form), member.act)
  await makeOnce(visit.context, member, form, send, () => member.home)
  const link = { path: `${member.home}/messages`, label: 'Messages' }
  return leadToDone(visit, member, member.home, { text: 'Your application is sent.', link })
}

export async function writeToBrokerage(
  visit: Visit,
  member: AnyMember,
  form: Submission<typeof forms.sendMessage>,
) {
  const message = form.values.message.trim()
  const send = (db: Sql) => sendMessage(db, member.partner, 'partner', message, member.act)
  const path = `${member.home}/messages`
  await makeOnce(visit.context, member, form, send, () => path)
  const link = { path: member.home, label: 'Overview' }
  return leadToDone(visit, member, path, { text: 'Your message is sent.', link })
}

export async function showMessages(visit: Visit, member: AnyMember) {
  const { partner, home } = member
  const list = threadList('partner', (most) => listMessages(visit.context.db, partner, most))
  if (asksForFile(visit)) return sendListFile(visit, member, memberWatcher(visit, member), list)
  return sendPortal(visit, member, {
    title: 'Messages',
    section: '/messages',
    body: html`${crumbs([{ path: home, label: partner.name }])}<h1>Messages with the brokerage</h1>
${printFileLink(`${home}/messages`)}${await printMessages(visit, member)}`,
  })
}

export async function sendState(visit: Visit, member: AnyMember) {
  const { partner } = member
  const application = await findApplication(visit.context.db, partner)
  return sendPortal(visit, member, {
    title: partner.name,
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
${partner.status === 'declined' && member.isOwner && printAmendment(visit, member, application)}
${await printMessages(visit, member)}`,
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
  { partner, home, forms: ofPage }: AnyMember,
  application: Application | undefined,
): Html {
  if (context.environment !== 'live')
    return html`<section class="card"><p><a class="button primary" href="${onLiveSite(context, home)}">Change
      it and apply again</a></p></section>`
  const standing = { name: partner.name, ...application }
  return html`<section class="card"><h2>Change it and apply again</h2>
${ofPage.print(
  forms.applyAgain,
  { standing },
  (view) => html`${printApplicationFields(view)}${view.button('Apply again', { look: 'primary' })}`,
)}</section>`
}

/** Written and read on the live site. */
async function printMessages({ context }: Visit, member: AnyMember): Promise<Html> {
  const { partner, home, isDeveloper } = member
  if (context.environment !== 'live')
    return html`<p><a href="${onLiveSite(context, `${home}/messages`)}">Messages with the brokerage</a></p>`
  const messages = await listMessages(context.db, partner, messagesShown)
  const form = isDeveloper ? forms.sendMessage : undefined
  return printThread(messages, { side: 'partner', form, forms: member.forms })
}
