/**
 * How the gateway shows a provider who it is, as both forms ask for it: a new provider's, and the one that
 * replaces what has run out.
 */
import { type ProviderCredential, providerProofs } from '../../../identity/provider-draft.ts'
import { Invalid, Problem } from '../../../problem.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { choiceField, type Draft, longField, textField } from '../../frame/fields.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'

export const credentialNames = ['proof', 'secret', 'secret-key'] as const

type Values = Readonly<Record<(typeof credentialNames)[number], string>>

/** What was typed into these fields. */
export function valuesOf<Name extends string>(
  form: SubmittedForm,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, form.find(name)?.trim() ?? ''])) as Record<
    Name,
    string
  >
}

export function readCredential(values: Values): ProviderCredential {
  const proof = providerProofs.find((each) => each === values.proof)
  if (!proof) throw new Invalid([{ field: 'proof', problem: 'must be one of the list' }])
  return { proof, credential: proof === 'private_key_jwt' ? values['secret-key'] : values.secret }
}

const proofs = [
  { value: 'client_secret_basic', label: 'client secret, in the header' },
  { value: 'client_secret_post', label: 'client secret, in the body' },
  { value: 'private_key_jwt', label: 'private key (private_key_jwt)' },
]

/** As of a new password: no browser fills in the password of its user, which would go to the provider. */
export function printCredential(draft: Draft): Html {
  return html`${choiceField(draft, { name: 'proof', label: 'How the gateway authenticates' }, proofs)}
${textField(draft, {
  name: 'secret',
  label: 'Client secret',
  more: html`type="password"
  autocomplete="new-password"
  maxlength="${fieldLengths['/console/providers/:provider/credential'].secret}"`,
  hint: 'Sealed when it is saved, and never shown again.',
})}
${longField(draft, {
  name: 'secret-key',
  label: 'Private key (PEM)',
  more: html`autocomplete="off"
  autocapitalize="none" spellcheck="false"
  maxlength="${fieldLengths['/console/providers/:provider/credential']['secret-key']}"`,
  hint: 'Instead of a secret: RSA, P-256 or Ed25519. Sealed, and never shown again.',
})}`
}

/** What to do about it, where that takes another field of the form. */
const factorRemedy = 'Name acr or amr values that mean one, or let a second step of this gateway stand in'

/**
 * By the fields of the form: a key has another name here, which is never printed. No secret comes back: it is
 * typed again.
 */
export function refusedDraft(values: Readonly<Record<string, string>>, refused: Problem): Draft {
  const { status, code, message, fields } = refused
  const worded = fields?.map(({ field, problem }) => ({
    field: field === 'key' ? 'secret-key' : field,
    problem: field === 'strong-acr' ? `${problem}. ${factorRemedy}` : problem,
  }))
  const problem = new Problem(status, code, message, worded ? { fields: worded } : {})
  return { values: { ...values, secret: '', 'secret-key': '' }, problem }
}
