/**
 * Who a request comes from, as the service's row lets it know: in headers, and in the claims of an assertion.
 * Every header is there each time, empty where there is nothing, so that a proxy that copies them overwrites
 * whatever a client sent by their names.
 */
import type { Bearer } from '../oauth/bearer.ts'
import { describeBearer, type Introspection } from '../oauth/introspection.ts'
import type { Service } from '../services/service.ts'
import type { Confirmation } from '../vocabulary/confirmation.ts'
import { keysOf } from '../vocabulary/record-of.ts'

export interface Identity {
  readonly headers: Readonly<Record<string, string>>
  readonly claims: Partial<Introspection>
}

/** By what is said in introspection. */
const fields = {
  'x-countersign-subject': 'sub',
  'x-countersign-username': 'username',
  'x-countersign-customer': 'customer',
  'x-countersign-client': 'client_id',
  'x-countersign-partner': 'branch_id',
  'x-countersign-scope': 'scope',
  'x-countersign-accounts': 'account_numbers',
  'x-countersign-grant': 'grant_id',
  'x-countersign-auth-time': 'auth_time',
  'x-countersign-acr': 'acr',
  'x-countersign-cnf': 'cnf',
} as const

export const assertionHeader = 'x-countersign-assertion'

/** What was said of a bearer stays true for as long as it is remembered. */
const known = new WeakMap<Bearer, WeakMap<Service, Identity>>()

export function identityOf(bearer: Bearer, service: Service, issuer: string): Identity {
  const identity = known.get(bearer)?.get(service)
  if (identity) return identity
  const described = describe(bearer, service, issuer)
  const ofBearer = known.get(bearer) ?? new WeakMap<Service, Identity>()
  known.set(bearer, ofBearer.set(service, described))
  return described
}

function describe(bearer: Bearer, service: Service, issuer: string): Identity {
  const told = describeBearer(service.sees, bearer, issuer)
  const said = keysOf(fields).map((header) => ({
    header,
    field: fields[header],
    value: told[fields[header]],
  }))
  return {
    headers: {
      ...Object.fromEntries(said.map(({ header, value }) => [header, printValue(value)])),
      // An assertion has an end of its own.
      'x-countersign-expires': printValue(told.exp),
      [assertionHeader]: '',
    },
    claims: Object.fromEntries(
      said.flatMap(({ field, value }) => (value === undefined ? [] : [[field, value]])),
    ),
  }
}

/** What a header cannot hold, and what may part values, is percent-encoded. */
function printValue(value: Introspection[(typeof fields)[keyof typeof fields] | 'exp']): string {
  if (value === undefined) return ''
  return wordsOf(value)
    .join(' ')
    .replace(/[^ !-$&-+\--~]/gu, encodeURIComponent)
}

/** Of a sender: how it is known, and by what. */
function wordsOf(value: string | number | readonly string[] | Confirmation): readonly string[] {
  if (typeof value !== 'object') return [String(value)]
  return isList(value) ? value : Object.entries(value).map(([name, thumbprint]) => `${name}=${thumbprint}`)
}

function isList(value: readonly string[] | Confirmation): value is readonly string[] {
  return Array.isArray(value)
}
