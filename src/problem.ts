/**
 * What can be wrong with a request, in the words its sender needs. Turned into a response in one place,
 * http/errors.ts.
 */
export interface FieldProblem {
  readonly field: string
  readonly problem: string
}

interface ProblemDetails {
  readonly fields?: readonly FieldProblem[]
  readonly moved?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: readonly FieldProblem[] | undefined
  /** What is not any more as the caller has seen it. */
  readonly moved: readonly string[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, description: string, more: ProblemDetails = {}) {
    super(description)
    const { fields, moved, headers = {} } = more
    this.status = status
    this.code = code
    this.fields = fields
    this.moved = moved
    this.headers = headers
  }
}

const nearest = new Map([
  ['"', "'"],
  ['\\', '/'],
  ['…', '...'],
  ...Array.from('“”„‘’', (mark): [string, string] => [mark, "'"]),
  ...Array.from('–—', (dash): [string, string] => [dash, '-']),
])

/**
 * As `error_description` may hold it, in a body, a redirect and a challenge alike (RFC 6749, 5.2; RFC 6750,
 * 3): printable ASCII without quotation mark and backslash. What a sender wrote may stand in a description.
 */
export function printDescription(description: string): string {
  return description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/gu, (character) => nearest.get(character) ?? '?')
}

/** All faults at once, each with its field and the remedy. */
export class Invalid extends Problem {
  declare readonly fields: readonly FieldProblem[]

  constructor(fields: readonly FieldProblem[]) {
    super(
      400,
      'invalid_request',
      fields
        .map(({ field, problem }) => `${field} ${problem}`)
        .join('; ')
        .concat('.'),
      { fields },
    )
  }
}

export class NotFound extends Problem {
  constructor(description = 'There is nothing at this address.') {
    super(404, 'not_found', description)
  }
}

/** Not at this address, but at another. */
export class WrongAddress extends NotFound {
  readonly address: string
  constructor(description: string, address: string) {
    super(`${description}: ${address}`)
    this.address = address
  }
}

export class Conflict extends Problem {
  constructor(description: string) {
    super(409, 'conflict', description)
  }
}

export class Forbidden extends Problem {
  constructor(description: string) {
    super(403, 'forbidden', description)
  }
}

/** The same request may succeed in a moment. */
export class Unavailable extends Problem {
  constructor(description = 'The service is away for a moment. Try the same request again.') {
    super(503, 'temporarily_unavailable', description, { headers: { 'retry-after': '1' } })
  }
}

export class TooManyRequests extends Problem {
  constructor(description: string, retryAfterSeconds: number, headers: Record<string, string> = {}) {
    super(429, 'too_many_requests', description, {
      headers: { 'retry-after': String(Math.max(1, retryAfterSeconds)), ...headers },
    })
  }
}

/**
 * JSON has numbers that no number here can be: they are read as infinite, and "must be a number" would help
 * no client.
 */
export function findOverflow(value: unknown): string | undefined {
  if (value === Number.POSITIVE_INFINITY) return `is too large: at most ${Number.MAX_VALUE}`
  if (value === Number.NEGATIVE_INFINITY) return `is too small: at least ${-Number.MAX_VALUE}`
  return undefined
}
