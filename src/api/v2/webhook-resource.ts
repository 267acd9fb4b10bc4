/** Spec 2: the Webhook resource and what its endpoints have in common. */
import type { Context } from '../../context.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { RegistrationDependencies, Webhook } from '../../webhooks/subscriptions/webhook.ts'
import { ActionLists, Description, KindBody, RateLimit } from '../../webhooks/subscriptions/webhook-bodies.ts'
import { headerLimits, listHeaderNames } from '../../webhooks/subscriptions/webhook-headers.ts'

export const WebhookBody = Type.Object(
  {
    id: integer('The id of the webhook.', 1),
    createdAt: instant('When it was registered'),
    updatedAt: instant('When it last changed'),
    url: text('Where its deliveries go.', 'https://app.example.com/hooks'),
  },
  { title: 'Webhook', description: 'A registered URL.' },
)

export const HeaderValues = Type.Unsafe<Record<string, string | null>>({
  title: 'HeaderValues',
  description:
    'Headers of your own for each delivery, by name. Values are never shown again; null removes a header, and what is not named stays.',
  examples: [{ 'X-Api-Key': 'a key of your receiver' }],
  type: 'object',
  maxProperties: 2 * headerLimits.headers,
  additionalProperties: {
    type: ['string', 'null'],
    minLength: 1,
    maxLength: headerLimits.valueCharacters,
    description: 'What is sent.',
  },
})

const settings = {
  kinds: Type.Array(KindBody, { description: 'The kinds of events to send.' }),
  actions: ActionLists,
  rateLimit: RateLimit,
  headers: Type.Array(text('A name, in lower case.', 'x-api-key'), {
    description: 'The names of its own headers. Their values are shown to nobody.',
  }),
  description: Description,
}

export const WebhookSettingsBody = Type.Object(settings, {
  title: 'WebhookSettings',
  description: 'What was chosen for a webhook.',
})

export const ListedWebhook = Type.Object(
  {
    ...WebhookBody.properties,
    ...settings,
    state: oneOf(['active', 'paused', 'disabled'], { description: 'Whether deliveries go out.' }),
    disabledReason: Type.Optional(text('Why the gateway disabled it.', 'The receiver answered 410 Gone.')),
  },
  { title: 'ListedWebhook', description: 'A registered URL with its state.' },
)

export const idOfPath = (description: string, example = 1) =>
  integer(description, example, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const IdParams = Type.Object({ id: idOfPath('The id of the webhook.') })

export const webhookSchema = {
  tags: ['Webhooks'],
  security: [{ clientBasic: [] }, { personalToken: [] }],
} as const

export function printWebhook({ id, createdAt, updatedAt, url }: Webhook) {
  return { id, createdAt: createdAt.getTime(), updatedAt: updatedAt.getTime(), url }
}

export function printSettings(webhook: Webhook, headers: readonly string[]) {
  const { kinds: subscribed, actions: wanted, rateLimit, description } = webhook
  return { kinds: [...subscribed], actions: wanted, rateLimit, headers: [...headers], description }
}

export async function printListedWebhooks({ db }: Context, webhooks: readonly Webhook[]) {
  const names = await listHeaderNames(db, webhooks)
  return webhooks.map((webhook) => ({
    ...printWebhook(webhook),
    ...printSettings(webhook, names.get(webhook.id) ?? []),
    state: webhook.state,
    ...(webhook.disabledReason !== null && { disabledReason: webhook.disabledReason }),
  }))
}

export function registrationDependencies({ db, vault, guard }: Context): RegistrationDependencies {
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
  limit: Type.Optional(
    integer('How many at most.', defaultLimit, { minimum: 1, maximum: 100, default: defaultLimit }),
  ),
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
