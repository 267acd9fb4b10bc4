/** What an applicant says of itself, as fields; and the state of the application in a word. */
import type { Application } from '../../../partners/application-details.ts'
import type { PartnerStatus } from '../../../partners/partner-status.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, type Tone } from '../../frame/parts.ts'
import type * as forms from './forms.ts'

type ApplicationForm = Submission<typeof forms.apply>

export function readApplication({ values }: ApplicationForm): Application & { readonly name: string } {
  const { name, website, contact, purpose } = values
  return {
    name: name.trim(),
    website: website.trim(),
    contact: contact.trim(),
    purpose: purpose.trim(),
  }
}

export function printApplicationFields(view: FormView<typeof forms.apply.fields>): Html {
  return html`${view.field('name')}${view.field('website')}${view.field('contact')}${view.field('purpose')}`
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
