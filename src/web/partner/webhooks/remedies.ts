/**
 * What to do about a refusal, by its code and, where one code has several reasons, by its words. Policy as a
 * table.
 */
import type { KeptRefusedCall } from '../../../partners/refused-calls.ts'

interface Remedy {
  readonly code: string
  readonly words?: RegExp
  readonly text: string
}

const remedies: readonly Remedy[] = [
  {
    code: 'invalid_client',
    text: 'Send client_id and client_secret by HTTP Basic, of the environment you call. If the secret may be lost, make a new one under Clients.',
  },
  {
    code: 'unauthorized',
    text: 'Send client_id:client_secret by HTTP Basic, or a personal token of a member. Check that the secret has not ended under Clients.',
  },
  {
    code: 'invalid_token',
    words: /environment/,
    text: 'The token belongs to the other environment: call the address that the message names.',
  },
  {
    code: 'invalid_token',
    words: /^This is/,
    text: 'A token of this kind is not taken here: send what the message names.',
  },
  {
    code: 'invalid_token',
    text: 'The token has expired or was revoked. Refresh it, or send the account holder through authorize again.',
  },
  {
    code: 'insufficient_scope',
    text: 'Ask for the scope at authorize; the account holder has to approve it, and the last approval counts for earlier tokens too. The client must be allowed it under Clients.',
  },
  {
    code: 'invalid_grant',
    words: /code/i,
    text: 'A code works once, for ten minutes, for the client and callback it was issued to, with its code_verifier if it had a challenge. Exchange it at once and once.',
  },
  {
    code: 'invalid_grant',
    text: 'The refresh token has ended, with its authorization or because it was replaced. Send the account holder through authorize again.',
  },
  {
    code: 'unauthorized_client',
    words: /not approved/,
    text: 'The application or the partner is not approved at present. See the overview, or ask the brokerage.',
  },
  { code: 'unauthorized_client', text: 'The partner has no refresh access. Ask for it under Clients.' },
  { code: 'unsupported_grant_type', text: 'Use grant_type=authorization_code, or refresh_token.' },
  { code: 'unsupported_response_type', text: 'Use response_type=code, or leave it out.' },
  {
    code: 'invalid_scope',
    text: 'Ask only for scopes that the client may ask for: see Clients, where you can ask the brokerage for more.',
  },
  {
    code: 'forbidden',
    words: /needs the \w+ role/,
    text: 'The token is of a member whose role does not reach so far. Send the credentials of a client, or ask an owner under Members for the role that the message names.',
  },
  {
    code: 'forbidden',
    text: 'The application or the partner is not approved at present. See the overview, or ask the brokerage.',
  },
  {
    code: 'not_found',
    text: 'There is nothing with this id in this environment, or it belongs to somebody else. Compare with the lists here.',
  },
  {
    code: 'conflict',
    text: 'It contradicts something that is there already; the message says what to do first.',
  },
  {
    code: 'too_many_requests',
    text: 'Wait as long as Retry-After says, and spread requests out. X-Ratelimit-Available tells what is left.',
  },
  {
    code: 'invalid_request',
    words: /Content-Type|JSON|form/i,
    text: 'Send the Content-Type that the endpoint takes: forms at OAuth endpoints, application/json at /v2.',
  },
  {
    code: 'invalid_request',
    text: 'Correct what the message names. The API reference has the fields of every endpoint.',
  },
]

export function remedyOf({ code, description }: Pick<KeptRefusedCall, 'code' | 'description'>): string {
  const found = remedies.find((each) => each.code === code && (each.words?.test(description) ?? true))
  return (
    found?.text ?? 'The message says what is wrong. If it does not help, tell the brokerage the request id.'
  )
}
