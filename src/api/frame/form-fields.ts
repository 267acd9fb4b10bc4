/**
 * The fields of an OAuth form: an empty one counts as absent (RFC 6749, 3.2), one that comes twice is
 * refused.
 */
import { describeFault } from '../../http/errors.ts'
import { type Form, repeatable, resourcesOf } from '../../http/form.ts'
import { OAuthError, type OAuthErrorCode } from '../../oauth/oauth-error.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'

export interface FormFields {
  find(name: string): string | undefined
  get(name: string): string
  /** RFC 8707, 2: the one that may come more than once. */
  readonly resources: readonly string[]
}

export function readFields(body: unknown): FormFields {
  const form = (body ?? {}) as Form
  for (const name in form) {
    if (name !== repeatable && Array.isArray(form[name]))
      throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
  }
  const find = (name: string) => {
    const value = form[name]
    return value === '' || Array.isArray(value) ? undefined : value
  }
  return {
    find,
    get(name) {
      const value = find(name)
      if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
      return value
    },
    resources: resourcesOf(form),
  }
}

interface FormFault {
  readonly keyword: string
  readonly instancePath: string
  readonly data?: unknown
}

/** The codes that RFC 6749 has for a fault of a field; of any other it is `invalid_request`. */
const codes = new Map<string, OAuthErrorCode>([
  ['/grant_type enum', 'unsupported_grant_type'],
  ['/scope pattern', 'invalid_scope'],
])

/** Where an example would say less than the rule. */
const rules = new Map([['/code_verifier pattern', 'must have 43 to 128 letters, digits, or any of - . _ ~']])

/** What the schema found wrong with a form. */
export function readFormFault({ validation = [] }: { validation?: unknown }): OAuthError {
  // That a branch of the schema was not met says nothing beside what is wrong in it.
  const faults = (validation as FormFault[]).filter(({ keyword }) => keyword !== 'if')
  if (faults.some(({ keyword, instancePath }) => keyword === 'type' && instancePath === ''))
    return new OAuthError('invalid_request', 'The request has no form.')
  if (faults.some(({ keyword }) => keyword === 'type'))
    return new OAuthError('invalid_request', 'A parameter was sent more than once.')
  const isEmpty = ({ keyword, data }: FormFault) => keyword === 'required' || data === ''
  // What else is needed depends on it.
  if (faults.some((fault) => isEmpty(fault) && describeFormFault(fault).field === 'grant_type'))
    return new OAuthError('invalid_request', 'grant_type is missing.')
  const coded = faults.find((fault) => codeOf(fault) !== undefined && !isEmpty(fault))
  const code = coded && codeOf(coded)
  if (code && (coded.instancePath === '/grant_type' || !faults.some(isEmpty)))
    return new OAuthError(code, new Invalid([describeFormFault(coded)]).message)
  const missing = faults.filter(isEmpty)
  const told = missing.length > 0 ? missing : faults
  return new OAuthError('invalid_request', new Invalid(told.map(describeFormFault)).message)
}

function codeOf({ instancePath, keyword }: FormFault): OAuthErrorCode | undefined {
  return codes.get(`${instancePath} ${keyword}`)
}

function describeFormFault(fault: FormFault): FieldProblem {
  const field = fault.instancePath.slice(1)
  if (fault.data === '') return { field, problem: 'is missing' }
  const rule = rules.get(`${fault.instancePath} ${fault.keyword}`)
  return rule === undefined ? describeFault({ ...fault }, 'form') : { field, problem: rule }
}
