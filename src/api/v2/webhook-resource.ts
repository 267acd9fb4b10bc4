/** Spec 2: the Webhook resource and what its endpoints have in common. */
import Type from 'typebox'
import type { Context } from '../../context.ts'
import { Invalid } from '../../problem.ts'
import { kinds } from '../../webhooks/kind.ts'
import type { RegistrationDesk, Webhook } from '../../webhooks/webhook.ts'
import { ProblemBody } from '../problem-body.ts'

export const WebhookBody = Type.Object({
  id: Type.Integer(),
  createdAt: Type.Integer({ description: 'epoch milliseconds' }),
  updatedAt: Type.Integer({ description: 'epoch milliseconds' }),
  url: Type.String(),
})

export const ListedWebhook = Type.Object({
  ...WebhookBody.properties,
  kinds: Type.Array(Type.String()),
  state: Type.String(),
  disabledReason: Type.Optional(Type.String()),
})

export const IdParams = Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,14}$', description: 'an integer' }) })

export const KindList = Type.Array(Type.Unsafe<(typeof kinds)[number]>({ type: 'string', enum: [...kinds] }), {
  minItems: 1,
  uniqueItems: true,
})

export const webhookSchema = {
  tags: ['Webhooks'],
  security: [{ client: [] }, { bearer: [] }],
}
export const problems = { '4xx': ProblemBody }

export function printWebhook({ id, created_at, updated_at, url }: Webhook) {
  return { id, createdAt: created_at.getTime(), updatedAt: updated_at.getTime(), url }
}

export function printListedWebhook(webhook: Webhook) {
  const { kinds: subscribed, state, disabled_reason } = webhook
  return {
    ...printWebhook(webhook),
    kinds: [...subscribed],
    state,
    ...(disabled_reason !== null && { disabledReason: disabled_reason }),
  }
}

export function registrationDesk({ db, vault, guard }: Context): RegistrationDesk {
  return { db, vault, policy: guard }
}

export function idOf(params: unknown): number {
  return Number((params as { id: string }).id)
}

/** Cursors are opaque to clients; here they are the id after which the next page begins. */
export function printCursor(id: number | undefined): string | null {
  return id === undefined ? null : Buffer.from(String(id)).toString('base64url')
}

export function parseCursor(text: string | undefined, start: number): number {
  if (text === undefined) return start
  const id = Buffer.from(text, 'base64url').toString()
  if (!/^\d{1,16}$/.test(id)) throw new Invalid([{ field: 'cursor', problem: 'is not one that this service issued' }])
  return Number(id)
}

export const PageQuery = {
  cursor: Type.Optional(Type.String({ description: 'from `next` of the page before' })),
  limit: Type.Optional(Type.String({ pattern: '^([1-9][0-9]?|100)$', description: '1 to 100; 50 unless given' })),
}

/** Both JavaScript and PostgreSQL know it: the year 33658. */
export const latestInstantMs = 999_999_999_999_999

/** PostgreSQL's text holds every character but this one. */
export const Entity = Type.String({ maxLength: 100, pattern: '^[^\\u0000]*$', description: 'such as transaction:42' })

export function limitOf(query: { limit?: string }): number {
  return Number(query.limit ?? 50)
}
