/** Spec 2 and 6: the kinds of webhook, the actions of each, and the shape of each payload. Policy as a table. */
import Type, { type TObject } from 'typebox'

export const kinds = ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] as const
export type Kind = (typeof kinds)[number]

/** AUTHORIZATION is told only to those who ask for it. */
export const defaultKinds: readonly Kind[] = ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE']

/** The kinds that the brokerage publishes itself. */
export type PublishedKind = Exclude<Kind, 'AUTHORIZATION'>

export function isPublishedKind(word: unknown): word is PublishedKind {
  return typeof word === 'string' && Object.hasOwn(payloads, word)
}

const actions = {
  TRANSACTION: ['SUBMITTED', 'APPROVED', 'COMPLETED'],
  APPLICATION: ['SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'VERIFIED', 'COMPLETED', 'CANCELED', 'AUTHORIZED'],
  ACH_PROFILE: ['SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'CANCELED', 'MICRODEPOSITS_POSTED'],
} as const

const oneOf = (values: readonly string[]) => Type.Unsafe<string>({ type: 'string', enum: values })
const id = (description: string) => Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const account = Type.String({ description: 'A clearing account', minLength: 1, maxLength: 100 })
const email = Type.String({
  description: 'An e-mail address',
  // Every part excludes its separator, so that no text can make the checker try twice.
  pattern: '^[^\\s@]+@[^\\s@.]+(\\.[^\\s@.]+)+$',
  maxLength: 320,
})
const exactly = (properties: Parameters<typeof Type.Object>[0]) =>
  Type.Object(properties, { additionalProperties: false })

/** Every field is required, and no other is allowed. The order is the order in which they are delivered. */
export const payloads: Record<PublishedKind, TObject> = {
  TRANSACTION: exactly({
    transactionId: id('A transaction'),
    clearingAccount: account,
    type: oneOf(['TRANSACTION']),
    action: oneOf(actions.TRANSACTION),
    branchId: id('A branch'),
    email,
    amount: Type.Number({
      description: 'A decimal number; its digits reach the receiver as they were sent',
      minimum: 0,
    }),
    direction: oneOf(['DEPOSIT', 'WITHDRAWAL']),
  }),
  APPLICATION: exactly({
    applicationId: id('An account application'),
    clearingAccount: Type.Unsafe<string | null>({
      description: 'null before an account exists',
      type: ['string', 'null'],
      maxLength: 100,
    }),
    type: oneOf(['APPLICATION']),
    action: oneOf(actions.APPLICATION),
    branchId: id('A branch'),
    email,
  }),
  ACH_PROFILE: exactly({
    profileId: id('An ACH profile'),
    clearingAccount: account,
    type: oneOf(['ACH_PROFILE']),
    action: oneOf(actions.ACH_PROFILE),
    branchId: id('A branch'),
  }),
}

const entityFields: Record<PublishedKind, string> = {
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
const printedNames = Object.fromEntries(
  Object.entries(payloads).map(([kind, { properties }]) => [
    kind,
    Object.keys(properties).map((name) => ({ name, text: `${JSON.stringify(name)}:` })),
  ]),
) as Record<PublishedKind, { name: string; text: string }[]>

/** `exactAmount` is the amount as it was written: `500.10` stays `500.10`, twenty digits stay twenty digits. */
export function printPayload(kind: PublishedKind, payload: Payload, exactAmount: string | undefined): string {
  let text = ''
  for (const field of printedNames[kind]) {
    const isExact = field.name === 'amount' && exactAmount !== undefined
    text += `${text === '' ? '{' : ','}${field.text}${isExact ? exactAmount : JSON.stringify(payload[field.name])}`
  }
  return `${text}}`
}
