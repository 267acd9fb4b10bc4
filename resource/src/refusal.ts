/** Why a request is not let in, as an answer to it: RFC 6750, 3; RFC 9470, 3; RFC 9728, 5.1. */
export class Refusal {
  readonly status: 401 | 403 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly error: string; readonly error_description: string }

  constructor(
    status: Refusal['status'],
    error: string,
    description: string,
    headers: Readonly<Record<string, string>>,
  ) {
    this.status = status
    this.body = { error, error_description: description }
    this.headers = { 'cache-control': 'no-store', ...headers }
  }
}

export interface Challenge {
  readonly status: 401 | 403
  /** Undefined where no credential was shown: RFC 6750, 3.1 wants no code then. */
  readonly error: string | undefined
  readonly description: string
  /** In the body, where RFC 6750 has no word for it. */
  readonly name?: string
  /** What to ask for, to get in. */
  readonly parameters?: Readonly<Record<string, string | undefined>>
}

export function challenge({ status, error, description, name, parameters = {} }: Challenge): Refusal {
  const all = {
    realm: 'countersign',
    ...(error !== undefined && { error, error_description: description }),
    ...parameters,
  }
  const printed = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${value}"`)
  return new Refusal(status, name ?? error ?? 'unauthorized', description, {
    'www-authenticate': `Bearer ${printed.join(', ')}`,
  })
}

export function unavailable(retryAfterSeconds: number): Refusal {
  const description = 'Whether this token may be used cannot be found out at present. Try again.'
  return new Refusal(503, 'temporarily_unavailable', description, {
    'retry-after': String(retryAfterSeconds),
  })
}
