/** The words, colours and addresses of a brand, as an operator types them. */
import type { BrandWords } from '../../../brands/brand-row.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, type Field, longField, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'

interface FormParts {
  readonly action: string
  readonly csrf: string
  /** Of the draft that is shown; 0 without one. */
  readonly version: number
}

type BrandField = Omit<Field, 'name'> & { readonly name: keyof BrandWords }

const lengths = fieldLengths['/console/brand/:site/save']

const colour = html`type="color" required`
const page = html`type="url" maxlength="${lengths.helpUrl}" placeholder="https://www.example.com/…"
  spellcheck="false"`

const groups: readonly (readonly [legend: string, fields: readonly BrandField[]])[] = [
  [
    'Name',
    [
      {
        name: 'shortName',
        label: 'Short name',
        hint: 'In titles, mail, authenticator apps and passkeys.',
        more: html`required maxlength="${lengths.shortName}"`,
      },
      {
        name: 'legalName',
        label: 'Legal name',
        hint: 'At the foot of pages and mail.',
        more: html`required maxlength="${lengths.legalName}"`,
      },
    ],
  ],
  [
    'Colours',
    [
      {
        name: 'accentLight',
        label: 'Accent, light',
        hint: 'Buttons and links. Text colours follow by themselves; contrast is checked (WCAG AA).',
        more: colour,
      },
      { name: 'backgroundLight', label: 'Background, light', more: colour },
      { name: 'accentDark', label: 'Accent, dark', more: colour },
      { name: 'backgroundDark', label: 'Background, dark', more: colour },
    ],
  ],
  [
    'Links at the foot of pages and mail',
    [
      { name: 'helpUrl', label: 'Help', more: page },
      { name: 'privacyUrl', label: 'Privacy', more: page },
      { name: 'termsUrl', label: 'Terms', more: page },
      {
        name: 'securityContact',
        label: 'Security contact',
        hint: 'An e-mail address or a page, for whoever finds a security problem.',
        more: html`maxlength="${lengths.securityContact}" spellcheck="false" autocapitalize="none"`,
      },
      { name: 'phone', label: 'Phone', more: html`type="tel" maxlength="${lengths.phone}"` },
    ],
  ],
  [
    'Mail',
    [
      {
        name: 'mailSender',
        label: 'Sender',
        hint: 'Name <address>, or an address. Without one: the address of MAIL_FROM, with the short name. The mail server must let it through.',
        more: html`maxlength="${lengths.mailSender}" spellcheck="false"`,
      },
      {
        name: 'mailReplyTo',
        label: 'Reply-to',
        more: html`type="email" maxlength="${lengths.mailReplyTo}" spellcheck="false"`,
      },
    ],
  ],
]

export function printBrandForm(words: BrandWords, { action, csrf, version }: FormParts): Html {
  const values = Object.fromEntries(Object.entries(words).map(([name, value]) => [name, value ?? '']))
  const draft: Draft = { values: values as Record<string, string> }
  const sets = groups.map(
    ([legend, fields]) =>
      html`<fieldset class="group"><legend>${legend}</legend><div
        class="pairs">${fields.map((field) => textField(draft, field))}</div></fieldset>`,
  )
  return html`<form method="post" action="${action}">${csrfField(csrf)}<input type="hidden" name="version"
    value="${version}">
${sets}
${longField(draft, { name: 'mailFooter', label: 'Footer of mail', hint: 'Such as the address of the company.', more: html`maxlength="${lengths.mailFooter}" rows="3"` })}
<button class="primary">Save draft</button></form>`
}
