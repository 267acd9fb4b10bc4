/**
 * Every way a request can be refused: the status, what it means, its headers, and which rows of the table can
 * answer so.
 */
import type { DescribedRoute, HeaderName, SchemeName } from '../../http/described-route.ts'

export interface Refusal {
  readonly status: number
  readonly name: string
  readonly description: string
  /** The code and the words of one such answer. */
  readonly example: readonly [string, string]
  readonly headers: readonly HeaderName[]
  readonly applies: (row: DescribedRoute) => boolean
}

export const rateHeaders = [
  'X-Ratelimit-Allowed',
  'X-Ratelimit-Used',
  'X-Ratelimit-Available',
  'X-Ratelimit-Expiry',
] as const satisfies readonly HeaderName[]

const always = () => true
const isGuarded = ({ schema }: DescribedRoute) => schema.security.length > 0
const takesScheme = (name: SchemeName) => (row: DescribedRoute) =>
  row.schema.security.some((each) => name in each)
export const takesTokens = takesScheme('personalToken')
export const takesClients = takesScheme('clientBasic')
/** Of these a body is read, whether or not the route wants one. */
const mayHaveBody = ({ method }: DescribedRoute) => method !== 'GET'

export const refusals: readonly Refusal[] = [
  {
    status: 400,
    name: 'BadRequest',
    description:
      'The request cannot be used as it is. `error_description` says why; `fields` names each field at fault.',
    example: ['invalid_request', 'url is missing.'],
    headers: [],
    applies: always,
  },
  {
    status: 401,
    name: 'Unauthorized',
    description:
      'The credentials are missing, wrong, expired or revoked. Repeating the request unchanged is useless.',
    example: ['unauthorized', 'The credentials are missing or wrong.'],
    headers: ['WWW-Authenticate'],
    applies: isGuarded,
  },
  {
    status: 403,
    name: 'Forbidden',
    description:
      'The caller is known and may not do this: a token without the scope (named in `WWW-Authenticate`), a member whose role does not reach so far, a partner that is not approved, or a system of the brokerage that may not speak for this source.',
    example: ['forbidden', 'This application is not approved at present.'],
    headers: ['WWW-Authenticate'],
    applies: (row) => takesTokens(row) || row.schema.mayForbid === true,
  },
  {
    status: 404,
    name: 'NotFound',
    description: 'There is no such thing, or it belongs to another branch.',
    example: ['not_found', 'This branch has no webhook 7.'],
    headers: [],
    applies: ({ schema }) => schema.params !== undefined || schema.mayMiss === true,
  },
  {
    status: 405,
    name: 'MethodNotAllowed',
    description: 'This address takes other methods, which `Allow` lists.',
    example: ['invalid_request', 'PATCH is not a method of this endpoint. It takes GET, POST.'],
    headers: ['Allow'],
    applies: always,
  },
  {
    status: 408,
    name: 'RequestTimeout',
    description: 'The request took too long to arrive.',
    example: ['invalid_request', 'The request took too long to arrive.'],
    headers: [],
    applies: always,
  },
  {
    status: 409,
    name: 'Conflict',
    description: 'It is not possible at present; `error_description` says what stands in the way.',
    example: ['conflict', 'This webhook is paused. Resume it, then probe.'],
    headers: [],
    applies: ({ schema }) => schema.mayConflict === true,
  },
  {
    status: 412,
    name: 'PreconditionFailed',
    description:
      'It is not as `If-Match` or `If-None-Match` says: `moved` names the fields that were changed since. Read it again.',
    example: ['precondition_failed', 'It was changed since: spec.state. Read it again.'],
    headers: [],
    applies: ({ schema }) => schema.mayHaveMoved === true,
  },
  {
    status: 413,
    name: 'ContentTooLarge',
    description: 'The body is larger than this endpoint reads.',
    example: ['invalid_request', 'The request body is larger than this endpoint accepts.'],
    headers: [],
    applies: mayHaveBody,
  },
  {
    status: 415,
    name: 'UnsupportedMediaType',
    description: 'The body is of a `Content-Type` or a `Content-Encoding` that this endpoint does not read.',
    example: ['invalid_request', 'The body must be application/json.'],
    headers: [],
    applies: mayHaveBody,
  },
  {
    status: 429,
    name: 'TooManyRequests',
    description: 'A limit is reached. Wait as many seconds as `Retry-After` says.',
    example: ['too_many_requests', 'This token has used up its requests for this minute.'],
    headers: ['Retry-After', ...rateHeaders],
    applies: isGuarded,
  },
  {
    status: 431,
    name: 'RequestHeaderFieldsTooLarge',
    description:
      'Address and header fields together are larger than the gateway reads, 16 KiB unless set otherwise.',
    example: ['invalid_request', 'The address and the headers of the request are too large together.'],
    headers: [],
    applies: always,
  },
  {
    status: 500,
    name: 'InternalServerError',
    description: 'A fault of the gateway. Tell support the request id.',
    example: ['server_error', 'Something went wrong on our side. Tell support the request id.'],
    headers: [],
    applies: always,
  },
  {
    status: 503,
    name: 'ServiceUnavailable',
    description:
      'The gateway is away or has too much to do. The same request is right after `Retry-After` seconds.',
    example: ['temporarily_unavailable', 'The service is away for a moment. Try the same request again.'],
    headers: ['Retry-After'],
    applies: always,
  },
]
