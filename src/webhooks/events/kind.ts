/**
 * Spec 2 and 6: the kinds of webhook, the actions of each, and the shape of each payload. Policy as a table.
 */
import type { TObject } from 'typebox'
import { keysOf, recordOf } from '../../vocabulary/record-of.ts'
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'

export const kinds = ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] as const
export type Kind = (typeof kinds)[number]

/** AUTHORIZATION is sent only to webhooks that name it. */
export const defaultKinds: readonly Kind[] = ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE']

/** The kinds that the brokerage publishes itself. */
export type PublishedKind = Exclude<Kind, 'AUTHORIZATION'>

export function isPublishedKind(word: unknown): word is PublishedKind {
  return typeof word === 'string' && Object.hasOwn(payloads, word)
}

/** Spec 3. */
export const actions = {
  TRANSACTION: ['SUBMITTED', 'APPROVED', 'COMPLETED'],
  APPLICATION: [
    'SUBMITTED',
    'PENDING',
    'APPROVED',
    'REJECTED',
    'VERIFIED',
    'COMPLETED',
    'CANCELED',
    'AUTHORIZED',
  ],
  ACH_PROFILE: ['SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'CANCELED', 'MICRODEPOSITS_POSTED'],
  AUTHORIZATION: ['GRANTED', 'CHANGED', 'REVOKED'],
} as const satisfies Record<Kind, readonly string[]>

const id = (description: string) => integer(description, 42, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const kindWord = (kind: PublishedKind) => oneOf([kind], { description: 'The kind, always the same.' })
/** Without a name: kinds share actions, and values of named ones must differ in generated Go. */
export const actionOf = (kind: Kind) => oneOf<string>(actions[kind], { description: 'What happened.' })
const account = text('A clearing account.', '6YA10001', { minLength: 1, maxLength: 100 })
const email = text('An e-mail address.', 'ada@example.com', {
  // Every part excludes its separator, so that no text can make the checker try twice.
  pattern: '^[^\\s@]+@[^\\s@.]+(\\.[^\\s@.]+)+$',
  maxLength: 320,
})
const exactly = (
  properties: Parameters<typeof Type.Object>[0],
  about: { title: string; description: string; examples: Payload[] },
) => Type.Object(properties, { additionalProperties: false, ...about })

/** Every field is required, and no other is allowed. The order is the order in which they are delivered. */
export const payloads: Record<PublishedKind, TObject & { readonly examples?: readonly Payload[] }> = {
  TRANSACTION: exactly(
    {
      transactionId: id('The transaction.'),
      clearingAccount: account,
      type: kindWord('TRANSACTION'),
      action: actionOf('TRANSACTION'),
      branchId: id('The branch.'),
      email,
      amount: Type.Number({
        description: 'A decimal number. Its digits reach the receiver as they were sent.',
        examples: [500.25],
        minimum: 0,
      }),
      direction: oneOf(['DEPOSIT', 'WITHDRAWAL'], { description: 'Into the account, or out of it.' }),
    },
    {
      title: 'TransactionPayload',
      description: 'A deposit or a withdrawal.',
      examples: [
        {
          transactionId: 42,
          clearingAccount: '6YA10001',
          type: 'TRANSACTION',
          action: 'SUBMITTED',
          branchId: 1,
          email: 'ada@example.com',
          amount: 500.25,
          direction: 'DEPOSIT',
        },
      ],
    },
  ),
  APPLICATION: exactly(
    {
      applicationId: id('The account application.'),
      clearingAccount: Type.Unsafe<string | null>({
        description: 'A clearing account; null before one exists.',
        examples: ['6YA10001'],
        type: ['string', 'null'],
        maxLength: 100,
      }),
      type: kindWord('APPLICATION'),
      action: actionOf('APPLICATION'),
      branchId: id('The branch.'),
      email,
    },
    {
      title: 'ApplicationPayload',
      description: 'An application for an account.',
      examples: [
        {
          applicationId: 42,
          clearingAccount: null,
          type: 'APPLICATION',
          action: 'SUBMITTED',
          branchId: 1,
          email: 'ada@example.com',
        },
      ],
    },
  ),
  ACH_PROFILE: exactly(
    {
      profileId: id('The ACH profile.'),
      clearingAccount: account,
      type: kindWord('ACH_PROFILE'),
      action: actionOf('ACH_PROFILE'),
      branchId: id('The branch.'),
    },
    {
      title: 'AchProfilePayload',
      description: 'A bank account that is linked for transfers.',
      examples: [
        { profileId: 42, clearingAccount: '6YA10001', type: 'ACH_PROFILE', action: 'SUBMITTED', branchId: 1 },
      ],
    },
  ),
}

export const entityFields: Record<PublishedKind, string> = {
  TRANSACTION: 'transactionId',
  APPLICATION: 'applicationId',
  ACH_PROFILE: 'profileId',
}

export type Payload = Readonly<Record<string, unknown>>

/** Events of one entity are delivered in order. */
export function entityOf(kind: PublishedKind, payload: Payload): string {
  return `${kind.toLowerCase()}:${payload[entityFields[kind]]}`
}

/** The names of each kind's fields, ready to be written. */
const printedNames = recordOf(keysOf(payloads), (kind) =>
  Object.keys(payloads[kind].properties).map((name) => ({ name, text: `${JSON.stringify(name)}:` })),
)

/**
 * `exactAmount` is the amount as it was written: `500.10` stays `500.10`, twenty digits stay twenty digits.
 */
export function printPayload(kind: PublishedKind, payload: Payload, exactAmount: string | undefined): string {
  let text = ''
  for (const field of printedNames[kind]) {
    const isExact = field.name === 'amount' && exactAmount !== undefined
    text += `${text === '' ? '{' : ','}${field.text}${isExact ? exactAmount : JSON.stringify(payload[field.name])}`
  }
  return `${text}}`
}
