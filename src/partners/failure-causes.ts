/**
 * Why calls fail, and what to do about it: by the rule that the error names, or else found by its code and,
 * where one code has several reasons, by its status or its words. Policy as a table; the first row that fits. A
 * call's line keeps the name alone: an error's own words may hold what was sent.
 */
import { assertionCauses, demandCauses, dpopCauses } from './proof-causes.ts'

interface Rule {
  readonly code?: string
  readonly status?: number
  readonly words?: RegExp
  readonly problem: string
  readonly remedy: string
}

const tellBrokerage = 'If it does not go away, tell the brokerage the request id.'

const found = {
  'client-credentials': {
    code: 'invalid_client',
    problem: 'The client credentials are missing or wrong.',
    remedy:
      'Send client_id and client_secret by HTTP Basic, of the environment you call. If the secret may be lost, make a new one under Clients.',
  },
  'no-bearer': {
    code: 'unauthorized',
    words: /bearer/i,
    problem: 'The access token is missing.',
    remedy: 'Send the header Authorization: Bearer, a space, and the access token.',
  },
  'branch-credentials': {
    code: 'unauthorized',
    problem: 'The credentials are missing or wrong.',
    remedy:
      'Send client_id:client_secret by HTTP Basic, or a personal token of a member. Check under Clients that the secret has not ended.',
  },
  'other-environment': {
    code: 'invalid_token',
    words: /environment/,
    problem: 'The token belongs to the other environment.',
    remedy: 'Call the address of the environment that issued the token; the answer names it.',
  },
  'other-kind-of-token': {
    code: 'invalid_token',
    words: /^This is/,
    problem: 'A token of this kind is not taken here.',
    remedy: 'Send the kind of token that the answer names.',
  },
  'access-paused': {
    words: /has paused/,
    problem: 'The user has paused this application.',
    remedy: 'Nothing is lost. It works again when the user resumes it; trying again before is no use.',
  },
  'no-account': {
    words: /no longer holds/,
    problem: 'The user no longer holds any of the accounts that this access was given for.',
    remedy: 'Send the user through authorize again, to choose accounts that they hold now.',
  },
  'token-ended': {
    code: 'invalid_token',
    problem: 'The access token is unknown, expired or revoked.',
    remedy: 'Refresh it, or send the user through authorize again.',
  },
  'scope-lacking': {
    code: 'insufficient_scope',
    problem: 'The token lacks the scope that this endpoint needs.',
    remedy:
      'Ask for the scope at authorize; the user has to approve it, and the last approval counts for earlier tokens too. The client must be allowed it under Clients.',
  },
  'code-of-other-key': {
    code: 'invalid_grant',
    words: /bound to another key/,
    problem: 'The code is bound to another key than that of the DPoP proof.',
    remedy:
      'Exchange it with a proof by the key whose proof or thumbprint (dpop_jkt) was pushed, or push neither.',
  },
  'code-used': {
    code: 'invalid_grant',
    words: /code has been used/i,
    problem: 'The code has been used before; the tokens that it gave are revoked.',
    remedy: 'Exchange each code once, then send the user through authorize again.',
  },
  'code-not-taken': {
    code: 'invalid_grant',
    words: /code/i,
    problem: 'The code is unknown or has expired, or its callback or code_verifier is another.',
    remedy:
      'A code works once, for ten minutes (with FAPI 2.0 for one), for the client and callback it was issued to, with its code_verifier if it had a challenge. Exchange it at once.',
  },
  'grant-ended': {
    code: 'invalid_grant',
    problem: 'The refresh token has ended: with its authorization, or because it was replaced.',
    remedy: 'Send the user through authorize again.',
  },
  'no-refresh': {
    code: 'unauthorized_client',
    words: /refresh/,
    problem: 'The partner has no refresh access.',
    remedy: 'Ask the brokerage for it under Clients, or send the user through authorize again.',
  },
  'client-not-approved': {
    code: 'unauthorized_client',
    problem: 'The application or the partner is not approved at present.',
    remedy: 'See the overview, or ask the brokerage.',
  },
  'request-uri': {
    code: 'invalid_request_uri',
    problem: 'request_uri is unknown, too old, of another client, or used already.',
    remedy:
      'Push the request anew for each authorization, and send the browser off within the 90 seconds of expires_in.',
  },
  'grant-type': {
    code: 'unsupported_grant_type',
    problem: 'This endpoint does not take that grant_type.',
    remedy: 'Use grant_type=authorization_code, or refresh_token.',
  },
  'response-type': {
    code: 'unsupported_response_type',
    problem: 'There is only response_type=code.',
    remedy: 'Use response_type=code, or leave it out.',
  },
  scope: {
    code: 'invalid_scope',
    problem: 'The scope is missing, unknown, or not allowed to this client.',
    remedy:
      'Ask only for scopes that the client may ask for: see Clients, where you can ask the brokerage for more.',
  },
  denied: {
    code: 'access_denied',
    problem: 'The user did not approve.',
    remedy: 'Nothing is wrong. Offer the user to start again.',
  },
  'role-lacking': {
    code: 'forbidden',
    words: /needs the \w+ role/,
    problem: 'The token is of a member whose role does not reach so far.',
    remedy:
      'Send the credentials of a client, or ask an owner under Members for the role that the answer names.',
  },
  'not-approved': {
    code: 'forbidden',
    problem: 'The application or the partner is not approved at present.',
    remedy: 'See the overview, or ask the brokerage.',
  },
  'no-such-address': {
    code: 'not_found',
    words: /at this address/,
    problem: 'There is nothing at this address.',
    remedy: 'Compare the address, letter by letter, with the API reference.',
  },
  'not-found': {
    code: 'not_found',
    problem: 'There is nothing with this id in this environment, or it belongs to somebody else.',
    remedy: 'Compare the id with the lists here, and the environment with the address you call.',
  },
  conflict: {
    code: 'conflict',
    problem: 'It contradicts something that is there already.',
    remedy: 'The answer says what stands in the way, and what to do first.',
  },
  'too-many': {
    code: 'too_many_requests',
    problem: 'A limit was reached.',
    remedy:
      'Wait as many seconds as Retry-After says, and spread requests out. X-Ratelimit-Available tells what is left.',
  },
  method: {
    status: 405,
    problem: 'This address does not take that method.',
    remedy: 'Use a method that the answer lists in Allow.',
  },
  'too-slow': {
    status: 408,
    problem: 'The request took too long to arrive.',
    remedy: 'Send the whole request at once. Look for a proxy or a network that holds it up.',
  },
  'body-too-large': {
    status: 413,
    problem: 'The body is larger than this endpoint reads.',
    remedy: 'Send less at once.',
  },
  'head-too-large': {
    status: 431,
    problem: 'The address and the headers are too large together.',
    remedy: 'Leave out headers that the API reference does not name, cookies first.',
  },
  packed: {
    status: 415,
    words: /Content-Encoding/,
    problem: 'The body is packed in a way that this endpoint does not unpack.',
    remedy: 'Send the body as it is, without a Content-Encoding.',
  },
  charset: {
    status: 415,
    words: /UTF-8/,
    problem: 'The body names another charset than UTF-8.',
    remedy: 'Send the body in UTF-8, with that charset or none in Content-Type.',
  },
  'content-type': {
    status: 415,
    problem: 'The Content-Type is missing, or not the one that this endpoint takes.',
    remedy:
      'Send Content-Type: application/x-www-form-urlencoded at OAuth endpoints, application/json at /v2.',
  },
  'body-broken-off': {
    words: /ended before its body/,
    problem: 'The connection closed before the whole body had arrived.',
    remedy:
      'Let Content-Length be the number of bytes, not of characters, and keep the connection open until the answer is read.',
  },
  'body-length': {
    words: /as long as Content-Length/,
    problem: 'The body is not as long as Content-Length says.',
    remedy: 'Let Content-Length be the number of bytes, not of characters, or leave it to your HTTP library.',
  },
  'json-cut-short': {
    words: /ends before its JSON/,
    problem: 'The body arrived whole, but its JSON ends in the middle.',
    remedy:
      'Look for what cuts the text before it is sent: a buffer, a Content-Length counted in characters instead of bytes.',
  },
  'no-json': {
    words: /is not JSON/,
    problem: 'The body is not JSON.',
    remedy: 'Print the body with a JSON library: names and texts in double quotes, no comma at the end.',
  },
  'no-body': {
    words: /has no (body|form)/,
    problem: 'The request has no body.',
    remedy: 'Send the fields that the API reference lists for this endpoint.',
  },
  'not-utf8': {
    words: /not UTF-8|NUL character/,
    problem: 'The request has bytes that are not UTF-8, or a NUL character.',
    remedy: 'Encode the text as UTF-8 before you send it.',
  },
  'redirect-uri': {
    words: /^redirect_uri/,
    problem: 'redirect_uri differs from the registered callback URL.',
    remedy:
      'Leave redirect_uri out, or send the callback URL character by character as it stands under Clients.',
  },
  'client-unknown': {
    words: /names no application/,
    problem: 'client_id names no application of this environment.',
    remedy: 'Compare client_id, and the environment, with those under Clients.',
  },
  'no-https': {
    words: /^Use https/,
    problem: 'The request came without https.',
    remedy: 'Call the https address, and replace whatever was sent in the clear.',
  },
  'two-ways': {
    words: /in two ways at once/,
    problem: 'The client authenticated in two ways at once.',
    remedy: 'Send client_assertion alone: no Authorization header and no client_secret beside it.',
  },
  'wrong-fields': {
    status: 400,
    code: 'invalid_request',
    problem: 'Something in the request is missing or not as it should be.',
    remedy: 'Correct what the answer names. The API reference has the fields of every endpoint.',
  },
  away: {
    code: 'temporarily_unavailable',
    problem: 'The gateway was away for a moment, or had too much to do.',
    remedy: 'Send the same request again after as many seconds as Retry-After says.',
  },
  left: {
    code: 'client_left',
    problem: 'The caller closed the connection before it was answered.',
    remedy:
      'Give the request more time. What it asked for may have been done all the same: look before you repeat it.',
  },
  fault: {
    status: 500,
    problem: 'Something went wrong in the gateway.',
    remedy: `Send the same request again. ${tellBrokerage}`,
  },
  other: {
    problem: 'The answer says what is wrong.',
    remedy: tellBrokerage,
  },
} as const satisfies Record<string, Rule>

export const failureCauses = { ...found, ...assertionCauses, ...dpopCauses, ...demandCauses }

export type FailureCause = keyof typeof failureCauses

const rules = Object.entries(found) as [keyof typeof found, Rule][]

interface Failure {
  readonly code: string
  readonly status: number
  /** Those of the error that was answered. */
  readonly words: string
  readonly rule: string | undefined
}

export function causeOf(failure: Failure): FailureCause {
  const fits = ({ code, status, words }: Rule) =>
    (code === undefined || code === failure.code) &&
    (status === undefined || status === failure.status) &&
    (words === undefined || words.test(failure.words))
  const { rule } = failure
  if (rule !== undefined && Object.hasOwn(failureCauses, rule)) return rule as FailureCause
  return rules.find(([, rule]) => fits(rule))?.[0] ?? 'other'
}
