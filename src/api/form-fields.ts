/** The fields of an OAuth form: an empty one counts as absent (RFC 6749, 3.2), one that comes twice is refused. */
import type { Form } from '../http/form.ts'
import { OAuthError } from '../oauth/oauth-error.ts'

export interface FormFields {
  find(name: string): string | undefined
  get(name: string): string
}

export function readFields(body: unknown): FormFields {
  const form = (body ?? {}) as Form
  for (const name in form) {
    if (Array.isArray(form[name])) throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
  }
  const find = (name: string) => (form[name] === '' ? undefined : (form[name] as string | undefined))
  return {
    find,
    get(name) {
      const value = find(name)
      if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
      return value
    },
  }
}
