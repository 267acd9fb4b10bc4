/** What the document of the interface says in words. */

import type { HeaderName, SchemeName, Tag } from '../../http/described-route.ts'
import { scopeMeanings } from '../../vocabulary/scope.ts'

const introduction = `OAuth 2.0 authorization and signed webhooks for partner applications.

**Addresses.** The live site and the sandbox are the same service at two addresses, with credentials, webhooks and deliveries of their
own. This document is about the address in \`servers\`.

**Errors.** A refusal says in \`error_description\` what is wrong and what to do. 401 is about the credentials, never about passing
trouble: repeating it unchanged is useless. Repeating a 503 after \`Retry-After\` seconds is right.

**Numbers.** Identifiers are integers of up to 16 digits, instants are epoch milliseconds; all of them are below 2^53, so that a double holds
them exactly. Amounts are decimals: read them from the text, not as floating-point numbers.

**More to come.** Answers may gain fields: ignore those you do not know. Requests with unknown fields are refused.`

/** For people: the portal has the reference, with the ids of the member who reads it. */
export function documentationOf(baseUrl: string): string {
  return `${baseUrl}/partner`
}

export function about(baseUrl: string) {
  return {
    title: 'Brokerage Partner Interface',
    description: introduction,
    version: '1.0.0',
    contact: { name: 'Partner portal', url: documentationOf(baseUrl) },
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  }
}

const ofAdministration = `What a brokerage administers by programs: declared by names, and done every day.

**Power.** What gives power is a proposal that another person decides in the console; the rest is done at once. A credential decides
nothing.

**Secrets** are no fields: a POST makes one and shows it once.

**Dry runs.** \`dryRun=true\` answers what would come of a request, field by field, and does nothing.`

export function aboutAdministration(baseUrl: string): ReturnType<typeof about> {
  return { ...about(baseUrl), title: 'Brokerage Administration Interface', description: ofAdministration }
}

export const tags: readonly { readonly name: Tag; readonly description: string }[] = [
  { name: 'Discovery', description: 'Where everything is, for programs.' },
  { name: 'OAuth', description: 'The authorization code flow, and what to do with its tokens.' },
  { name: 'User', description: 'What a token tells about its user.' },
  { name: 'Webhooks', description: 'The URLs of a branch that are told of events.' },
  {
    name: 'Test webhooks',
    description: 'Simulated events, to try a receiver without any real application or transaction.',
  },
  { name: 'Deliveries', description: 'What was sent where, what came back, and sending it again.' },
  { name: 'Events', description: 'The events of a branch, numbered without a gap, to pull or to stream.' },
  {
    name: 'Receiver',
    description: 'What a receiver is sent: requests that the gateway makes. A client calls none of them.',
  },
  { name: 'Internal', description: "For the brokerage's own systems." },
  {
    name: 'Administration',
    description: 'What a brokerage declares, and what it does every day, for its programs.',
  },
]

export function schemes(baseUrl: string): Record<SchemeName, object> {
  return {
    clientBasic: {
      type: 'http',
      scheme: 'basic',
      description: '`client_id` and `client_secret` of a registered application.',
    },
    serviceBasic: {
      type: 'http',
      scheme: 'basic',
      description: "Id and secret of one of the brokerage's own systems.",
    },
    adminCredential: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A credential for administration. It may do what its role may, while its person may do all of that.',
    },
    personalToken: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A personal API token, or a sandbox token, made by its user under API settings. It has every scope unless its user chose fewer, in the accounts whose holding allows its user all of them.',
    },
    oauth2: {
      type: 'oauth2',
      description: 'An access token that an account holder approved. It lives for 24 hours.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${baseUrl}/v1/oauth/authorize`,
          tokenUrl: `${baseUrl}/v1/oauth/accesstoken`,
          refreshUrl: `${baseUrl}/v1/oauth/refreshtoken`,
          scopes: scopeMeanings,
        },
      },
    },
  }
}

const textHeader = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
})
const numberHeader = (description: string, example: number) => ({
  description,
  schema: { type: 'integer', format: 'int64' },
  example,
})

export const headers: Record<HeaderName, object> = {
  Allow: textHeader('The methods that this address takes.', 'GET, HEAD'),
  Deprecation: textHeader(
    'RFC 9745: when the client secret that was used was replaced, as `@` and epoch seconds.',
    '@1767225600',
  ),
  ETag: textHeader('The version of the object: send it as `If-Match`.', '"Qm9va3M0.YWJjZGVm"'),
  Location: textHeader('Where it is.', '/v2/webhooks/1'),
  'Preference-Applied': textHeader(
    'The wait that was granted, when one was asked for by `Prefer`.',
    'wait=10',
  ),
  'Retry-After': numberHeader('Seconds to wait before the next try.', 1),
  Sunset: textHeader('When the client secret that was used ends.', 'Thu, 01 Jan 2026 00:00:00 GMT'),
  'WWW-Authenticate': textHeader(
    'What to authenticate with (RFC 7617, RFC 6750).',
    'Basic realm="countersign", charset="UTF-8"',
  ),
  'X-Ratelimit-Allowed': numberHeader('Requests that the token may make in a minute.', 120),
  'X-Ratelimit-Available': numberHeader('Requests that are left in this minute.', 119),
  'X-Ratelimit-Expiry': numberHeader('When this minute ends, in epoch milliseconds.', 1_767_225_660_000),
  'X-Ratelimit-Used': numberHeader('Requests made in this minute.', 1),
  'X-Request-Id': textHeader('Names this request in our logs. Yours, when you sent one.', 'k3jf8s2a-1f'),
}
