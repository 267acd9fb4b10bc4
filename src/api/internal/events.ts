/**
 * POST /internal/v1/events: the brokerage's own systems say what happened. All events of a request are
 * published, or none.
 */
import type { Act } from '../../audit/audit.ts'
import { Invalid } from '../../problem.ts'
import { Type, text } from '../../vocabulary/schema.ts'
import { type NewEvent, printEventId } from '../../webhooks/events/event.ts'
import {
  entityOf,
  type Payload,
  type PublishedKind,
  payloads,
  printPayload,
} from '../../webhooks/events/kind.ts'
import { exactAmounts } from '../frame/exact-amounts.ts'
import type { Endpoint } from '../frame/route.ts'
import { EventId } from '../v2/delivery-resource.ts'

const eventsAtOnce = 1_000
const bodyLimitBytes = 2 * 1024 * 1024

/** The field `type` says which of the payloads an event is, and so which of its fields are at fault. */
const EventPayload = Type.Unsafe<Payload & { type: PublishedKind }>({
  title: 'EventPayload',
  type: 'object',
  discriminator: { propertyName: 'type' },
  required: ['type'],
  oneOf: Object.values(payloads),
})

const EventBatch = Type.Object(
  {
    events: Type.Array(EventPayload, {
      minItems: 1,
      maxItems: eventsAtOnce,
      description: 'In the order they happened.',
    }),
  },
  {
    title: 'EventBatch',
    description: 'What happened.',
    additionalProperties: false,
    examples: [{ events: [...(payloads.TRANSACTION.examples ?? [])] }],
  },
)

const PublishedEvents = Type.Object(
  { eventIds: Type.Array(EventId, { description: 'In the order of the request.' }) },
  { title: 'PublishedEvents', description: 'All of them are published.' },
)

type PublishedPayload = Payload & { readonly type: PublishedKind; readonly branchId: number }

export const publishEvents: Endpoint<Act, { Body: { readonly events: readonly PublishedPayload[] } }> = {
  bodyLimit: bodyLimitBytes,
  schema: {
    operationId: 'publishEvents',
    summary: 'Publish events',
    description:
      'For systems of the brokerage. All events of a request are published, or none. With an `Idempotency-Key` the same request may be sent again without harm.',
    tags: ['Internal'],
    security: [{ serviceBasic: [] }],
    headers: Type.Object({
      'idempotency-key': Type.Optional(
        text('The same key again publishes nothing and is answered the same.', 'payroll-2026-01', {
          minLength: 1,
          maxLength: 200,
        }),
      ),
    }),
    body: EventBatch,
    response: { 202: PublishedEvents },
    mayConflict: true,
  },
  async handle(context, { by, at }, request, reply) {
    const { events } = request.body
    const amounts = exactAmounts(request.bodyText, events, (place) => `events.${place}.amount`)
    const published = events.map(
      (payload, index): NewEvent => ({
        environment: context.environment,
        branchId: payload.branchId,
        kind: payload.type,
        action: String(payload.action),
        entity: entityOf(payload.type, payload),
        body: printPayload(payload.type, payload, amounts[index]),
        simulated: false,
      }),
    )
    const key = request.headers['idempotency-key']
    if (Array.isArray(key))
      throw new Invalid([{ field: 'idempotency-key', problem: 'was sent more than once' }])
    const idempotency = key === undefined ? undefined : { owner: by.name, key }
    const traceparent = request.span?.traceparent
    const stored = await context.publisher.publish(published, at, { idempotency, traceparent })
    return reply.status(202).send({ eventIds: stored.map((event) => printEventId(event.uid)) })
  },
}
