/**
 * What a partner and the brokerage told each other, and what was decided when, as either side reads it; and
 * the form to write.
 */
import type { PartnerMessage, Side } from '../../partners/partner-message.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { type Draft, formNotice, longField } from '../frame/fields.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, printDate } from '../frame/page.ts'
import { facts } from '../frame/parts.ts'
import { onceField } from '../frame/submission.ts'

export const messagesShown = 50

interface ThreadForm {
  /** Who reads and writes here. */
  readonly side: Side
  /** Undefined for a member who only reads. */
  readonly action: string | undefined
  readonly csrf: string
  readonly draft: Draft
}

export function printThread(messages: readonly PartnerMessage[], form: ThreadForm): Html {
  return html`<section class="card" id="messages"><h2>Messages</h2>
${
  messages.length === 0
    ? html`<p class="empty">Nothing has been written yet.</p>`
    : html`<ol
  class="thread">${messages.map((each) => printMessage(each, form.side))}</ol>`
}
${form.action !== undefined && printForm(form)}</section>`
}

function printForm({ side, action, csrf, draft }: ThreadForm): Html {
  const to = side === 'partner' ? 'the brokerage' : 'the partner'
  return html`${formNotice(draft, 'message')}
<form method="post" action="${action}">${csrfField(csrf)}${onceField()}
${longField(draft, { name: 'message', label: `Write to ${to}`, hint: 'They are told by e-mail that there is a message.', more: html`required maxlength="${fieldLengths['/partner/:branch/messages/send'].message}"` })}
<button>Send message</button></form>`
}

const happened: Readonly<Record<PartnerMessage['kind'], string>> = {
  message: 'wrote',
  applied: 'applied',
  approved: 'approved the partner',
  declined: 'declined the application',
  suspended: 'suspended the partner',
}

function printMessage(message: PartnerMessage, reader: Side): Html {
  const { kind, side, text, application, writtenAt } = message
  return html`<li class="${side === reader ? 'own' : 'theirs'}"><p
    class="faint"><strong>${whoWrote(message, reader)}</strong> ${happened[kind]} ·
    ${printDate(writtenAt)}</p>
${text !== null && html`<p class="said">${text}</p>`}
${
  application !== null &&
  html`<details><summary>What the application said</summary>${facts([
    ['Name', application.name],
    ['Website', application.website],
    ['E-mail', application.contact],
    ['Purpose', application.purpose],
  ])}</details>`
}</li>`
}

/** Partners do not learn who of the brokerage decided about them. */
function whoWrote({ side, authorName }: PartnerMessage, reader: Side): string {
  if (side === 'brokerage')
    return reader === 'brokerage' && authorName !== null ? authorName : 'The brokerage'
  return authorName ?? 'The partner'
}
