/** The words, colours and addresses of a brand, as an operator types them. */
import type { BrandWords } from '../../../brands/brand-row.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Operator } from '../../gates/gates.ts'
import * as forms from './forms.ts'

const groups: readonly (readonly [legend: string, fields: readonly (keyof BrandWords)[]])[] = [
  ['Name', ['shortName', 'legalName']],
  ['Colours', ['accentLight', 'backgroundLight', 'accentDark', 'backgroundDark']],
  ['Links at the foot of pages and mail', ['helpUrl', 'privacyUrl', 'termsUrl', 'securityContact', 'phone']],
  ['Mail', ['mailSender', 'mailReplyTo']],
]

/** `version` is of the draft that is shown; 0 without one. */
export function printBrandForm(words: BrandWords, version: number, operator: Operator): Html {
  return operator.forms.print(forms.saveBrand, { standing: { ...words, version } }, (view) => {
    const sets = groups.map(
      ([legend, names]) =>
        html`<fieldset class="group"><legend>${legend}</legend><div
          class="pairs">${names.map((name) => view.field(name))}</div></fieldset>`,
    )
    return html`${sets}
${view.field('mailFooter')}
${view.button('Save draft', { look: 'primary' })}`
  })
}
