/** What an applicant says of itself, as fields; and the state of the application in a word. */
import type { Application } from '../../../partners/application-details.ts'
import type { PartnerStatus } from '../../../partners/partner-status.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, longField, textField } from '../../frame/fields.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, type Tone } from '../../frame/parts.ts'

const lengths = fieldLengths['/partner/apply']

export const fieldNames = ['name', 'website', 'contact', 'purpose'] as const

export function readApplication(form: SubmittedForm): Application & { readonly name: string } {
  const read = (name: (typeof fieldNames)[number]) => form.find(name)?.trim() ?? ''
  return { name: read('name'), website: read('website'), contact: read('contact'), purpose: read('purpose') }
}

export function printApplicationFields(draft: Draft): Html {
  return html`${textField(draft, { name: 'name', label: 'Name', hint: 'Account holders see it when they are asked for access.', more: html`required maxlength="${lengths.name}" autocomplete="organization"` })}
${textField(draft, {
  name: 'website',
  label: 'Website',
  more: html`required maxlength="${lengths.website}"
  type="url" placeholder="https://" autocomplete="url"`,
})}
${textField(draft, {
  name: 'contact',
  label: 'E-mail for questions',
  more: html`required
  maxlength="${lengths.contact}" type="email" autocomplete="email"`,
})}
${longField(draft, {
  name: 'purpose',
  label: 'What you want to build',
  more: html`required
  maxlength="${lengths.purpose}"`,
})}`
}

const tones: Readonly<Record<PartnerStatus, Tone>> = {
  applied: 'wait',
  approved: 'good',
  declined: 'bad',
  suspended: 'bad',
}

export function partnerBadge(status: PartnerStatus): Html {
  return badge(tones[status], status)
}
