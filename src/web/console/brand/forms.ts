/** The forms of a brand. */
import type { BrandWords } from '../../../brands/brand-row.ts'
import { imageMostBytes } from '../../../brands/image.ts'
import { colourLabels } from '../../../brands/palette.ts'
import { email, type Field, file, key, longText, mostOfItsKind, shown, text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const colour = (label: string, hint?: string) =>
  text({ label, hint, type: 'color', most: mostOfItsKind, isRequired: true })

const page = (label: string) =>
  text({
    ...{ label, type: 'url', most: 500 },
    more: html`placeholder="https://www.example.com/…" spellcheck="false"`,
  })

const words = {
  shortName: text({
    label: 'Short name',
    hint: 'In titles, mail, authenticator apps and passkeys.',
    most: 40,
    isRequired: true,
  }),
  legalName: text({
    label: 'Legal name',
    hint: 'At the foot of pages and mail.',
    most: 200,
    isRequired: true,
  }),
  accentLight: colour(
    colourLabels.accentLight,
    'Buttons and links. Text colours follow by themselves; contrast is checked (WCAG AA).',
  ),
  backgroundLight: colour(colourLabels.backgroundLight),
  accentDark: colour(colourLabels.accentDark),
  backgroundDark: colour(colourLabels.backgroundDark),
  helpUrl: page('Help'),
  privacyUrl: page('Privacy'),
  termsUrl: page('Terms'),
  securityContact: text({
    label: 'Security contact',
    hint: 'An e-mail address or a page, for whoever finds a security problem.',
    most: 500,
    more: html`spellcheck="false" autocapitalize="none"`,
  }),
  phone: text({ label: 'Phone', most: 40, type: 'tel' }),
  mailSender: text({
    label: 'Sender',
    hint: 'Name <address>, or an address. Without one: the address of MAIL_FROM, with the short name. The mail server must let it through.',
    most: 320,
    more: html`spellcheck="false"`,
  }),
  mailReplyTo: email({ label: 'Reply-to', isRequired: false, more: html`spellcheck="false"` }),
  mailFooter: longText({
    label: 'Footer of mail',
    hint: 'Such as the address of the company.',
    most: 1_000,
  }),
} satisfies Readonly<Record<keyof BrandWords, Field<string>>>

/** Of the draft that the page has shown. */
const ofDraft = { version: shown() }

export const saveBrand = defineForm('/console/brand/:site/save', { ...words, ...ofDraft })
export const activateBrand = defineForm('/console/brand/:site/activate', ofDraft)
export const discardBrand = defineForm('/console/brand/:site/discard', ofDraft)

export const uploadImage = defineForm(
  '/console/brand/:site/image',
  {
    place: key(),
    image: file({ label: 'File', isRequired: true, more: html`accept="image/png,image/svg+xml"` }),
  },
  { takesFiles: imageMostBytes },
)
export const removeImage = defineForm('/console/brand/:site/image/remove', { place: key() })

/** Without one: to the brand that the gateway comes with. */
export const returnToBrand = defineForm('/console/brand/:site/return', { brand: key() })
