/** The forms of a partner's clients. */
import { imageMostBytes } from '../../../brands/image.ts'
import { day, hour } from '../../../clock.ts'
import { keysOf } from '../../../vocabulary/record-of.ts'
import {
  anyTicks,
  file,
  keyNumber,
  longSecret,
  longText,
  moment,
  oneOf,
  text,
  tick,
} from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const ofClients = '/partner/:branch/clients'
const ofClient = `${ofClients}/:client`

const client = {
  name: text({
    ...{ label: 'Name', most: 100, isRequired: true },
    hint: 'Account holders see it when they are asked for access.',
  }),
  callback: text({
    ...{ label: 'Callback', type: 'url', most: 2_000, isRequired: true },
    hint: 'Where codes are sent. Compared character by character.',
    more: html`placeholder="https://app.example.com/callback" spellcheck="false"`,
  }),
  scope: anyTicks({ label: 'Scopes it may ask for' }),
  rotate: tick({ label: 'Replace the refresh token at each use (FAPI 2.0 never does)' }),
}

export const createClient = defineForm(`${ofClients}/create`, client, { makes: true })
export const updateClient = defineForm(`${ofClient}/update`, client)

export const askRefresh = defineForm(
  `${ofClients}/refresh`,
  { reason: longText({ label: 'Why your applications need it', most: 2_000, isRequired: true }) },
  { makes: true },
)

export const askScopes = defineForm(
  `${ofClient}/scopes`,
  {
    wider: anyTicks({ label: 'Ask for more' }),
    reason: longText({ label: 'Why the application needs it', most: 2_000, isRequired: true }),
  },
  { makes: true },
)

export const askFapi2 = defineForm(
  `${ofClient}/profile`,
  {
    wished: moment({
      label: 'FAPI 2.0 from',
      hint: 'As you wish it; the brokerage sets the moment. Any, when empty.',
    }),
  },
  { makes: true },
)

/** How long the old secret lives beside the new one, by the names a person would choose. */
export const overlaps = {
  none: { label: 'ends at once', ms: 0 },
  hour: { label: 'lives for one hour', ms: hour },
  day: { label: 'lives for one day', ms: day },
  week: { label: 'lives for seven days', ms: 7 * day },
} as const

const overlapNames = keysOf(overlaps)

export const rotateSecret = defineForm(
  `${ofClient}/rotate`,
  {
    overlap: oneOf({
      label: 'New secret',
      of: overlapNames,
      choices: overlapNames.map((value) => ({ value, label: `The old one ${overlaps[value].label}` })),
    }),
    switchAt: moment({
      label: 'Signs webhooks from',
      hint: 'Until then the old one signs x-webhook-signature. Before the old one ends; at once when empty.',
    }),
  },
  { makes: true },
)
export const revokeSecret = defineForm(`${ofClient}/revoke`, { secret: keyNumber() })

/** What somebody pastes may be a private key: it is never kept, nor put back. */
export const addKeys = defineForm(`${ofClient}/add-keys`, {
  jwks: longSecret({
    ...{ label: 'Public keys', most: 16_000, isRequired: true },
    hint: 'A JWKS, or one JWK: ES256, PS256 or EdDSA. Good at once.',
    more: html`placeholder='{"keys":[{"kty":"EC","crv":"P-256", …}]}' spellcheck="false" autocomplete="off"`,
  }),
})
export const removeKey = defineForm(`${ofClient}/remove-key`, { key: keyNumber() })
export const placeKeys = defineForm(`${ofClient}/place-keys`, {
  jwksUri: text({
    ...{ label: 'Address of the JWKS', type: 'url', most: 2_000 },
    hint: 'Read every ten minutes, or as its Cache-Control says, and for a key that is not known. Empty: the keys stay, and are read no more.',
    more: html`placeholder="https://app.example.com/jwks.json" spellcheck="false"`,
  }),
})

const webPage = {
  type: 'url',
  most: 500,
  more: html`placeholder="https://www.example.com/…" spellcheck="false"`,
} as const

export const saveLook = defineForm(
  `${ofClient}/look/save`,
  {
    purpose: text({
      ...{ label: 'What it is for', most: 200 },
      hint: 'One sentence, such as: Shows your holdings beside those at other brokers.',
    }),
    website: text({ ...webPage, label: 'Website' }),
    privacyUrl: text({ ...webPage, label: 'Privacy policy' }),
    termsUrl: text({ ...webPage, label: 'Terms' }),
    logo: file({ label: 'Logo', more: html`accept="image/png,image/svg+xml"` }),
    without: tick({ label: 'Show no logo' }),
  },
  { takesFiles: imageMostBytes },
)
