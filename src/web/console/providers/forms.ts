/** The forms of identity providers. */
import { choice, longSecret, longText, reason, secret, text, tick } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const plain = html`autocomplete="off" autocapitalize="none" spellcheck="false"`

/** What may be changed later, too. */
const change = {
  label: text({
    label: 'Name',
    most: 100,
    isRequired: true,
    more: html`autocomplete="off"`,
    hint: 'What people know it by, such as Example Bank ID.',
  }),
  'client-id': text({
    label: 'Client id',
    most: 500,
    isRequired: true,
    more: plain,
    hint: 'What the provider calls this gateway.',
  }),
  scopes: text({
    label: 'Scopes',
    most: 500,
    more: plain,
    hint: 'Asked for beside openid, with spaces between. Optional.',
  }),
  'link-claim': text({
    label: 'Holders: claim that equals the external id',
    most: 100,
    more: plain,
    hint: 'Such as customer_id. Without one only people who are linked by hand get in.',
  }),
  'link-source': text({
    label: 'Holders: source of that id',
    most: 30,
    more: plain,
    hint: 'core unless given.',
  }),
  'roles-claim': text({
    label: 'Staff: claim with groups or app roles',
    most: 100,
    more: plain,
    hint: 'Such as roles. Without one roles are given by hand.',
  }),
  role: longText({
    label: 'Staff: which group has which role',
    most: 5_000,
    more: plain,
    hint: 'A line each: gateway-admins=administrator',
  }),
  'strong-acr': text({
    label: 'Step-up: acr values',
    most: 1_000,
    more: plain,
    hint: 'That mean a second factor was given, with spaces between.',
  }),
  'strong-amr': text({
    label: 'Step-up: amr values',
    most: 1_000,
    more: plain,
    hint: 'That mean the same, such as mfa.',
  }),
  'own-step': choice({
    label: 'Where the provider does not say',
    choices: [
      { value: 'yes', label: 'a second step here stands in' },
      { value: 'no', label: 'nothing stands in' },
    ],
  }),
  'logout-ends': choice({
    label: 'A logout token from there ends',
    hint: 'Keycloak’s “log out all” needs all sessions of that person.',
    choices: [
      { value: 'session', label: 'the session that it names' },
      { value: 'person', label: 'all sessions of that person' },
    ],
  }),
}

export type ChangeName = keyof typeof change

/** As of a new password: no browser fills in the password of its user, which would go to the provider. */
const credential = {
  proof: choice({
    label: 'How the gateway authenticates',
    choices: [
      { value: 'client_secret_basic', label: 'client secret, in the header' },
      { value: 'client_secret_post', label: 'client secret, in the body' },
      { value: 'private_key_jwt', label: 'private key (private_key_jwt)' },
    ],
  }),
  secret: secret({
    label: 'Client secret',
    most: 1_000,
    more: html`autocomplete="new-password"`,
    hint: 'Sealed when it is saved, and never shown again.',
  }),
  'secret-key': longSecret({
    label: 'Private key (PEM)',
    most: 10_000,
    more: plain,
    hint: 'Instead of a secret: RSA, P-256 or Ed25519. Sealed, and never shown again.',
  }),
}

const who = {
  name: text({
    label: 'Short name',
    most: 40,
    more: plain,
    hint: 'In addresses: small letters, digits and hyphens, such as bank. From the name unless given.',
  }),
  kind: choice({
    label: 'For',
    choices: [
      { value: 'holder', label: 'holders: your customers' },
      { value: 'staff', label: 'staff: this console' },
    ],
  }),
  issuer: text({
    label: 'Issuer',
    most: 500,
    isRequired: true,
    more: plain,
    hint: 'As the provider writes it itself, such as https://login.example.com',
  }),
}

/** Issuer, client id and credential are enough: the rest follows from them, or from what the provider is. */
export const createProvider = defineForm(
  '/console/providers/new/create',
  {
    ...who,
    ...credential,
    ...change,
    label: {
      ...change.label,
      isRequired: false,
      hint: 'What people know it by. The host of its issuer unless given.',
    },
    untested: tick({ label: 'Save without the test' }),
  },
  { makes: true },
)

/** Where it takes two people, its reason is given. */
export const enableProvider = defineForm('/console/providers/:provider/enable', {
  reason: reason({ isOptional: true }),
})
export const changeProvider = defineForm('/console/providers/:provider/change', {
  ...change,
  reason: reason({ isOptional: true }),
})
export const replaceCredential = defineForm('/console/providers/:provider/credential', credential)
export const removeProvider = defineForm('/console/providers/:provider/remove', { reason: reason() })
