/**
 * What a partner and the brokerage told each other, and what was decided when, as either side reads it; and
 * the form to write.
 */
import type { PartnerMessage, Side } from '../../partners/partner-message.ts'
import type { Field } from '../frame/field.ts'
import type { FormDefinition } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { fileRowsAtMost, type List } from '../frame/list.ts'
import { printDate } from '../frame/page.ts'
import type { PageForms } from '../frame/page-forms.ts'
import { facts } from '../frame/parts.ts'

export const messagesShown = 50

/** What both sides told each other, for a file of its reader. */
export function threadList(
  reader: Side,
  read: (most: number) => Promise<readonly PartnerMessage[]>,
): List<PartnerMessage> {
  return {
    name: 'messages',
    caption: 'Messages',
    empty: 'Nothing has been written yet.',
    columns: [
      { name: 'When (UTC)', text: ({ writtenAt }) => writtenAt },
      { name: 'Who', text: (message) => whoWrote(message, reader) },
      { name: 'What', text: ({ kind }) => happened[kind] },
      { name: 'Text', text: ({ text }) => text },
    ],
    read: async () => ({ rows: await read(fileRowsAtMost), next: undefined }),
  }
}

interface Thread {
  /** Who reads and writes here. */
  readonly side: Side
  /** Undefined for a member who only reads. */
  readonly form: FormDefinition<{ readonly message: Field<string> }> | undefined
  readonly forms: PageForms
}

export function printThread(messages: readonly PartnerMessage[], { side, form, forms }: Thread): Html {
  return html`<section class="card" id="messages"><h2>Messages</h2>
${
  messages.length === 0
    ? html`<p class="empty">Nothing has been written yet.</p>`
    : html`<ol
  class="thread">${messages.map((each) => printMessage(each, side))}</ol>`
}
${form && forms.print(form, {}, (view) => html`${view.field('message')}${view.button('Send message')}`)}</section>`
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
