/** Spec 2: the Webhook resource and what its endpoints have in common. */
import type { Context } from '../../context.ts'
import { instant, integer, oneOf, Type, text } from '../../schema.ts'
import { kinds } from '../../webhooks/kind.ts'
import type { RegistrationDesk, Webhook } from '../../webhooks/webhook.ts'

export const KindBody = oneOf(kinds, { title: 'Kind', description: 'What an event is about.' })

export const WebhookBody = Type.Object(
  {
    id: integer('The id of the webhook.', 1),
    createdAt: instant('When it was registered'),
    updatedAt: instant('When it last changed'),
    url: text('Where its deliveries go.', 'https://app.example.com/hooks'),
  },
  { title: 'Webhook', description: 'A registered URL.' },
)

export const ListedWebhook = Type.Object(
  {
    ...WebhookBody.properties,
    kinds: Type.Array(KindBody, { description: 'The kinds of events it is told of.' }),
    state: oneOf(['active', 'paused', 'disabled'], { description: 'Whether deliveries go out.' }),
    disabledReason: Type.Optional(text('Why the gateway disabled it.', 'The receiver answered 410 Gone.')),
  },
  { title: 'ListedWebhook', description: 'A registered URL with its state.' },
)

export const idOfPath = (description: string, example = 1) =>
  integer(description, example, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const IdParams = Type.Object({ id: idOfPath('The id of the webhook.') })

export const KindList = Type.Array(KindBody, {
  minItems: 1,
  uniqueItems: true,
  description: 'The kinds of events to be told of. Unless given: all but `AUTHORIZATION`.',
  examples: [['TRANSACTION']],
})

export const webhookSchema = { tags: ['Webhooks'], security: [{ clientBasic: [] }, { personalToken: [] }] } as const

export function printWebhook({ id, createdAt, updatedAt, url }: Webhook) {
  return { id, createdAt: createdAt.getTime(), updatedAt: updatedAt.getTime(), url }
}

export function printListedWebhook(webhook: Webhook) {
  const { kinds: subscribed, state, disabledReason } = webhook
  return {
    ...printWebhook(webhook),
    kinds: [...subscribed],
    state,
    ...(disabledReason !== null && { disabledReason }),
  }
}

export function registrationDesk({ db, vault, guard }: Context): RegistrationDesk {
  return { db, vault, policy: guard }
}

export function idOf(params: unknown): number {
  return (params as { id: number }).id
}

const defaultLimit = 50

/** Cursors are opaque to clients; here they are the id after which the next page begins. */
export function printCursor(id: number | undefined): string | null {
  return id === undefined ? null : `c${id}`
}

/** Of the shape that the schema of the query has let through. */
export function parseCursor(cursor: string | undefined, start: number): number {
  return cursor === undefined ? start : Number(cursor.slice(1))
}

export const PageQuery = {
  cursor: Type.Optional(text('`next` of the page before.', 'c1000000', { pattern: '^c[0-9]{1,16}$' })),
  limit: Type.Optional(integer('How many at most.', defaultLimit, { minimum: 1, maximum: 100, default: defaultLimit })),
}

export interface PageQuery {
  readonly cursor?: string
  readonly limit?: number
}

export const NextCursor = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'Pass it as `cursor` for the next page; null on the last one.',
  examples: ['c1000000'],
})

/** PostgreSQL's text holds every character but this one. */
export const Entity = text('What an event is about, such as `transaction:42`.', 'transaction:42', {
  maxLength: 100,
  pattern: '^[^\\u0000]*$',
})

export function limitOf({ limit = defaultLimit }: PageQuery): number {
  return limit
}
