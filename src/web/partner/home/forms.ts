/** The forms of who wants to be a partner, and of what a partner writes to the brokerage. */
import { email, longText, text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'
import { messageTo } from '../../parts/message-field.ts'

/** What an applicant says of itself. */
const application = {
  name: text({
    ...{ label: 'Name', most: 200, isRequired: true },
    hint: 'Account holders see it when they are asked for access.',
    more: html`autocomplete="organization"`,
  }),
  website: text({
    ...{ label: 'Website', type: 'url', most: 300, isRequired: true },
    more: html`placeholder="https://" autocomplete="url"`,
  }),
  contact: email({ label: 'E-mail for questions', most: 320, more: html`autocomplete="email"` }),
  purpose: longText({ label: 'What you want to build', most: 2_000, isRequired: true }),
}

export const apply = defineForm('/partner/apply', application, { makes: true })
export const applyAgain = defineForm('/partner/:branch/apply', application, { makes: true })

export const sendMessage = defineForm(
  '/partner/:branch/messages/send',
  { message: messageTo('the brokerage') },
  { makes: true },
)
