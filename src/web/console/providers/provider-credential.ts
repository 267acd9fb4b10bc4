/**
 * How the gateway shows a provider who it is, as both forms ask for it: a new provider's, and the one that
 * replaces what has run out.
 */
import { type ProviderCredential, providerProofs } from '../../../identity/provider-draft.ts'
import { Invalid, Problem } from '../../../problem.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import type * as forms from './forms.ts'

type CredentialForm = typeof forms.replaceCredential

export function readCredential(values: Submission<CredentialForm>['values']): ProviderCredential {
  const proof = providerProofs.find((each) => each === values.proof)
  if (!proof) throw new Invalid([{ field: 'proof', problem: 'must be one of the list' }])
  const credential = proof === 'private_key_jwt' ? values['secret-key'] : values.secret
  return { proof, credential: credential.trim() }
}

export function printCredential(view: Pick<FormView<CredentialForm['fields']>, 'field'>): Html {
  return html`${view.field('proof')}${view.field('secret')}${view.field('secret-key')}`
}

/** What to do about it, where that takes another field of the form. */
const factorRemedy = 'Name acr or amr values that mean one, or let a second step of this gateway stand in'

/** What an act is refused for, by the fields of the form: a key has another name here. */
export function wordForForm(refused: unknown): never {
  if (!(refused instanceof Problem) || !refused.fields) throw refused
  const { status, code, message, fields } = refused
  const worded = fields.map(({ field, problem }) => ({
    field: field === 'key' ? 'secret-key' : field,
    problem: field === 'strong-acr' ? `${problem}. ${factorRemedy}` : problem,
  }))
  throw new Problem(status, code, message, { fields: worded })
}
