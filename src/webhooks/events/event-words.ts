/**
 * What each kind of event, each of its actions and each header of a delivery means, for developers of
 * receivers. A new one does not compile without its words.
 */
import type { actions, Kind } from './kind.ts'

interface KindWords {
  readonly title: string
  readonly meaning: string
  readonly when: string
}

export const wordsOfKinds: Readonly<Record<Kind, KindWords>> = {
  TRANSACTION: {
    title: 'Transaction',
    meaning: 'A deposit into an account, or a withdrawal from it.',
    when: 'Sent when the brokerage reports the next step of the transaction.',
  },
  APPLICATION: {
    title: 'Account application',
    meaning: 'An application for a brokerage account.',
    when: 'Sent when the brokerage reports the next step of the application. Steps may be left out, and the brokerage decides on their order.',
  },
  ACH_PROFILE: {
    title: 'ACH profile',
    meaning: 'A bank account that is linked for transfers.',
    when: 'Sent when the brokerage reports the next step of linking it.',
  },
  AUTHORIZATION: {
    title: 'Authorization',
    meaning: 'What an account holder lets one of your applications do.',
    when: 'Sent by the gateway itself, at once. Only webhooks that ask for this kind get it, and there is no test event of it: approve your application in the sandbox.',
  },
}

type ActionWords = { readonly [Each in Kind]: Readonly<Record<(typeof actions)[Each][number], string>> }

export const wordsOfActions: ActionWords = {
  TRANSACTION: {
    SUBMITTED: 'It was submitted, and waits for approval.',
    APPROVED: 'It was approved, and is being carried out.',
    COMPLETED: 'It is done.',
  },
  APPLICATION: {
    SUBMITTED: 'The applicant has submitted it.',
    PENDING: 'It is being looked at, or waits for something that is missing.',
    APPROVED: 'The brokerage has approved it.',
    REJECTED: 'The brokerage has rejected it.',
    VERIFIED: 'The applicant’s identity has been verified.',
    COMPLETED: 'It is done, and the account can be used.',
    CANCELED: 'It was canceled, and nothing more will happen to it.',
    AUTHORIZED: 'The applicant has authorized it.',
  },
  ACH_PROFILE: {
    SUBMITTED: 'The bank account was submitted.',
    PENDING: 'It is being looked at, or waits for something that is missing.',
    APPROVED: 'It can be used for transfers.',
    REJECTED: 'It was rejected.',
    CANCELED: 'The link was canceled.',
    MICRODEPOSITS_POSTED: 'Small deposits were sent to the bank account. Its holder confirms their amounts.',
  },
  AUTHORIZATION: {
    GRANTED: 'An account holder has approved the application, for the first time or after revoking it.',
    CHANGED:
      'The account holder has approved it anew, with other scopes or accounts, or has paused or resumed it: see paused.',
    REVOKED: 'The account holder or the brokerage has ended it: see reason. Its tokens are refused.',
  },
}

export interface HeaderWords {
  readonly meaning: string
  /** Not on every delivery. */
  readonly isSometimes?: true
}

/** In the order in which they are sent. */
export const wordsOfHeaders: ReadonlyMap<string, HeaderWords> = new Map<string, HeaderWords>([
  ['content-type', { meaning: 'Always the same.' }],
  ['user-agent', { meaning: 'Always the same.' }],
  ['x-webhook-attempt', { meaning: 'Which attempt this is, from 1.' }],
  ['x-webhook-test', { meaning: 'Only on test events: nothing happened.', isSometimes: true }],
  ['x-webhook-signature', { meaning: 'HMAC-SHA256 of the exact bytes of the body, in lower-case hex.' }],
  ['webhook-id', { meaning: 'The event: the same on every attempt, on every replay and at every webhook.' }],
  ['webhook-timestamp', { meaning: 'When this attempt was made, in seconds since 1970.' }],
  [
    'webhook-signature',
    {
      meaning:
        'The signatures of Standard Webhooks, over id, timestamp and body: one for each secret that is good.',
    },
  ],
])
