/**
 * Who a request comes from, as the service's row lets it know: in headers, and in the claims of an assertion.
 * Every header is there each time, empty where there is nothing, so that a proxy that copies them overwrites
 * whatever a client sent by their names.
 */
import type { Bearer } from '../oauth/bearer.ts'
import { describeBearer, type Introspection } from '../oauth/introspection.ts'
import type { Service } from '../services/service.ts'

export interface Identity {
  readonly headers: Readonly<Record<string, string>>
  readonly claims: Omit<Introspection, 'active' | 'token_type' | 'iss' | 'iat' | 'exp' | 'aud' | 'tags'>
}

export const assertionHeader = 'x-countersign-assertion'

/** What was said of a bearer stays true for as long as it is remembered. */
const known = new WeakMap<Bearer, WeakMap<Service, Identity>>()

export function identityOf(bearer: Bearer, service: Service, issuer: string): Identity {
  const ofBearer = known.get(bearer) ?? new WeakMap<Service, Identity>()
  const identity = ofBearer.get(service) ?? describe(bearer, service, issuer)
  known.set(bearer, ofBearer.set(service, identity))
  return identity
}

function describe(bearer: Bearer, service: Service, issuer: string): Identity {
  const told = describeBearer(service.sees, bearer, issuer)
  const { active: _, token_type, iss, iat, exp, aud, ...claims } = told
  return {
    headers: {
      'x-countersign-subject': printValue(claims.sub),
      'x-countersign-username': printValue(claims.username),
      'x-countersign-customer': printValue(claims.customer),
      'x-countersign-client': printValue(claims.client_id),
      'x-countersign-partner': printValue(claims.branch_id),
      'x-countersign-scope': claims.scope ?? '',
      'x-countersign-accounts': (claims.account_numbers ?? []).map(printValue).join(' '),
      'x-countersign-grant': printValue(claims.grant_id),
      'x-countersign-auth-time': printValue(claims.auth_time),
      'x-countersign-acr': printValue(claims.acr),
      'x-countersign-expires': printValue(exp),
      [assertionHeader]: '',
    },
    claims,
  }
}

/** What a header cannot hold, and what parts a list, is percent-encoded. */
function printValue(value: string | number | undefined): string {
  return String(value ?? '').replace(/[^!-$&-+\--~]/gu, encodeURIComponent)
}
