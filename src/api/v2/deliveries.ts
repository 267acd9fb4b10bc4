/** The delivery log: what was sent where, what came back, and sending it again. */
import Type from 'typebox'
import { Invalid } from '../../problem.ts'
import {
  type Attempt,
  redeliver as again,
  type Delivery,
  type DeliveryFilter,
  deliveryStates,
  getDelivery,
  listAttempts,
} from '../../webhooks/delivery.ts'
import { listDeliveries as list } from '../../webhooks/delivery-search.ts'
import { printEventId } from '../../webhooks/event.ts'
import { type Kind, kinds } from '../../webhooks/kind.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import {
  Entity,
  IdParams,
  idOf,
  limitOf,
  PageQuery,
  parseCursor,
  printCursor,
  problems,
  webhookSchema,
} from './webhook-resource.ts'
import { find } from './webhooks.ts'

const DeliveryBody = Type.Object({
  id: Type.Integer(),
  webhookId: Type.Integer(),
  eventId: Type.String(),
  kind: Type.String(),
  action: Type.String(),
  entity: Type.String(),
  state: Type.String(),
  attempts: Type.Integer(),
  createdAt: Type.Integer(),
  nextAttemptAt: Type.Optional(Type.Integer()),
  settledAt: Type.Optional(Type.Integer()),
})

const AttemptBody = Type.Object({
  number: Type.Integer(),
  at: Type.Integer(),
  durationMs: Type.Integer(),
  outcome: Type.String(),
  status: Type.Optional(Type.Integer()),
  why: Type.Optional(Type.String()),
  response: Type.Optional(Type.String()),
})

const oneOf = (values: readonly string[]) => Type.Unsafe<string>({ type: 'string', enum: [...values] })
const instant = Type.String({ pattern: '^\\d{1,15}$', description: 'epoch milliseconds' })

export const listDeliveries: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'The deliveries of a webhook, newest first',
    params: IdParams,
    querystring: Type.Object({
      state: Type.Optional(oneOf(deliveryStates)),
      kind: Type.Optional(oneOf(kinds)),
      entity: Type.Optional(Entity),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
      ...PageQuery,
    }),
    response: {
      200: Type.Object({
        deliveries: Type.Array(DeliveryBody),
        next: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
      }),
      ...problems,
    },
  },
  async handle(context, caller, request) {
    const query = request.query as Record<string, string | undefined>
    const webhook = await find(context, caller, request)
    const most = limitOf(query as { limit?: string })
    const page = await list(
      context.db,
      webhook,
      parseFilter(query),
      parseCursor(query.cursor, Number.MAX_SAFE_INTEGER),
      most,
    )
    return {
      deliveries: page.map(printDelivery),
      next: printCursor(page.length === most ? page.at(-1)!.id : undefined),
    }
  },
}

export const fetchDelivery: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'One delivery with its payload and every attempt',
    params: IdParams,
    response: {
      200: Type.Object({ ...DeliveryBody.properties, body: Type.String(), log: Type.Array(AttemptBody) }),
      ...problems,
    },
  },
  async handle({ db }, caller, request) {
    const delivery = await getDelivery(db, caller, idOf(request.params))
    return {
      ...printDelivery(delivery),
      body: delivery.body,
      log: (await listAttempts(db, delivery.id)).map(printAttempt),
    }
  },
}

export const redeliver: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Send a delivery again',
    params: IdParams,
    response: { 202: DeliveryBody, ...problems },
  },
  async handle({ db, clock }, caller, request, reply) {
    const id = idOf(request.params)
    const delivery = await getDelivery(db, caller, id)
    await again(db, delivery, clock.now())
    // It is set going: that it cannot be looked at again is no reason to refuse.
    return reply.status(202).send(printDelivery(await getDelivery(db, caller, id).catch(() => delivery)))
  },
}

function parseFilter(query: Record<string, string | undefined>): DeliveryFilter {
  const date = (text: string | undefined) => (text === undefined ? undefined : new Date(Number(text)))
  const filter = {
    state: query.state,
    kind: query.kind as Kind,
    entity: query.entity,
    from: date(query.from),
    to: date(query.to),
  }
  if (filter.from && filter.to && filter.from >= filter.to)
    throw new Invalid([{ field: 'from', problem: 'must be earlier than to' }])
  return filter as DeliveryFilter
}

function printDelivery(delivery: Delivery) {
  const { id, webhook_id, uid, kind, action, entity, state, attempts, created_at, due_at, settled_at } = delivery
  return {
    ...{ id, webhookId: webhook_id, eventId: printEventId(uid), kind, action, entity, state, attempts },
    createdAt: created_at.getTime(),
    ...(state === 'waiting' && { nextAttemptAt: due_at.getTime() }),
    ...(settled_at && { settledAt: settled_at.getTime() }),
  }
}

function printAttempt({ number, at, duration_ms, outcome, status, why, response }: Attempt) {
  return {
    ...{ number, at: at.getTime(), durationMs: duration_ms, outcome },
    ...(status !== null && { status }),
    ...(why !== null && { why }),
    ...(response !== null && { response }),
  }
}
