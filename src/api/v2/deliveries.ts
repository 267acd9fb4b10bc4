/** The delivery log: what was sent where, what came back, and sending it again. */
import type { Context } from '../../context.ts'
import { Invalid } from '../../problem.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import {
  type Attempt,
  redeliver as again,
  type Delivery,
  type DeliveryFilter,
  type DeliveryState,
  deliveryStates,
  getDelivery,
  listAttempts,
} from '../../webhooks/deliveries/delivery.ts'
import { listDeliveries as list, placePattern } from '../../webhooks/deliveries/delivery-search.ts'
import { findNextMoment } from '../../webhooks/deliveries/next-attempt.ts'
import { printCanceler, skipDelivery as skip } from '../../webhooks/deliveries/skip.ts'
import { printEventId } from '../../webhooks/events/event.ts'
import { type Kind, kinds } from '../../webhooks/events/kind.ts'
import { readLanes } from '../../webhooks/health/lane-health.ts'
import { KindBody } from '../../webhooks/subscriptions/webhook-bodies.ts'
import type { Endpoint } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
import { attemptFields, DeliveryStateBody, deliveryId, EventId } from './delivery-resource.ts'
import { reasonOf, SkipDraft } from './skips.ts'
import { Entity, IdParams, limitOf, NextCursor, PageQuery, webhookSchema } from './webhook-resource.ts'
import { find } from './webhooks.ts'

const DeliveryBody = Type.Object(
  {
    id: deliveryId('The id of the delivery.'),
    webhookId: integer('The webhook it is for.', 1),
    eventId: EventId,
    kind: KindBody,
    action: text('What happened.', 'SUBMITTED'),
    entity: text('What it happened to.', 'transaction:42'),
    state: DeliveryStateBody,
    attempts: integer('How often it was sent.', 1),
    createdAt: instant('When it was made'),
    nextAttemptAt: Type.Optional(
      instant(
        'When it is sent next, while it waits: absent while nothing can be said to go, because its webhook is paused, disabled or fails',
      ),
    ),
    settledAt: Type.Optional(instant('When it was delivered, or failed after all retries')),
    repeats: Type.Optional(deliveryId('The delivery that this one sends again.')),
    reason: Type.Optional(text('Why it was canceled.', 'skipped')),
    canceledBy: Type.Optional(
      text('Who skipped it: `client:` or `user:` with an id, or `brokerage`.', 'client:CLIENT_ID'),
    ),
  },
  { title: 'Delivery', description: 'One event for one webhook.' },
)

const AttemptBody = Type.Object(
  {
    number: integer('1 for the first.', 1),
    at: instant('When it was sent'),
    ...attemptFields,
    response: Type.Optional(text('What the receiver answered, 8 KiB at most.', 'ok')),
  },
  { title: 'Attempt', description: 'One try to deliver.' },
)

const DeliveryWithLog = Type.Object(
  {
    ...DeliveryBody.properties,
    body: text('The payload, byte for byte as it is sent.', '{"transactionId":42}'),
    log: Type.Array(AttemptBody, { description: 'Every attempt that is still kept, oldest first.' }),
  },
  { title: 'DeliveryWithLog', description: 'One delivery with its payload and every attempt.' },
)

const DeliveryPage = Type.Object(
  { deliveries: Type.Array(DeliveryBody, { description: 'Newest first.' }), next: NextCursor },
  { title: 'DeliveryPage', description: 'Some of the deliveries of a webhook.' },
)

const DeliveryParams = Type.Object({ id: deliveryId('The id of the delivery.') })

export const listDeliveries: Endpoint<BranchCaller, { Querystring: DeliveryQuery }> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'listDeliveries', tags: ['Deliveries'] },
    summary: 'The deliveries of a webhook, newest first',
    description:
      'In pages, in the order of the events; what was sent again stands beside its event. Those of a state, a kind, an entity or a time, where asked for. A page that looks for what is rare may be short: `next` says whether there is more.',
    params: IdParams,
    querystring: Type.Object({
      state: Type.Optional(oneOf(deliveryStates, { description: 'Only those in this state.' })),
      kind: Type.Optional(oneOf(kinds, { description: 'Only those of this kind.' })),
      entity: Type.Optional(Entity),
      from: Type.Optional(instant('Only those made at or after this moment')),
      to: Type.Optional(
        instant('Only those made before this moment; later than `from`', { examples: [1_798_761_600_000] }),
      ),
      limit: PageQuery.limit,
      cursor: Type.Optional(
        text('`next` of the page before.', 'c345-12-0', { pattern: `^c${placePattern}$` }),
      ),
    }),
    response: { 200: DeliveryPage },
  },
  async handle(context, caller, request) {
    const { query } = request
    const webhook = await find(context, caller, request)
    const most = limitOf(query)
    const { deliveries, next } = await list(
      context.db,
      webhook,
      parseFilter(query),
      query.cursor?.slice(1),
      most,
    )
    return {
      deliveries: await printDeliveries(context, caller, deliveries),
      next: next === undefined ? null : `c${next}`,
    }
  },
}

export const fetchDelivery: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'getDelivery', tags: ['Deliveries'] },
    summary: 'One delivery with its payload and every attempt',
    description:
      'Deliveries and their attempts are kept for 90 days, what receivers answered for 30, unless set otherwise.',
    params: DeliveryParams,
    response: { 200: DeliveryWithLog },
  },
  async handle(context, caller, request) {
    const { db } = context
    const delivery = await getDelivery(db, caller, deliveryIdOf(request.params))
    return {
      ...(await printOne(context, caller, delivery)),
      body: delivery.body,
      log: (await listAttempts(db, caller, delivery)).map(printAttempt),
    }
  },
}

export const redeliver: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'redeliver', tags: ['Deliveries'] },
    summary: 'Send a delivery again',
    description:
      'One that has ended stays as it is: a new delivery of the same event is made, which names it in `repeats`. One that waits is sent now; one that waits for an earlier one of its entity is refused with 409.',
    params: DeliveryParams,
    response: { 202: DeliveryBody },
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { db } = context
    const delivery = await getDelivery(db, caller, deliveryIdOf(request.params))
    const id = await again(db, caller.branchId, delivery, caller.act)
    // It is set going: that it cannot be looked at again is no reason to refuse.
    const sent = await getDelivery(db, caller, id).catch(() => delivery)
    return reply.status(202).send(await printOne(context, caller, sent))
  },
}

export const skipDelivery: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'skipDelivery', tags: ['Deliveries'] },
    summary: 'Skip a delivery that waits',
    description:
      'It is canceled, and what waits behind it for the same entity goes on. One that has ended stays as it ended: the answer says how. An attempt that is under way is not called back.',
    params: DeliveryParams,
    body: SkipDraft,
    response: { 200: DeliveryBody },
  },
  async handle(context, caller, request) {
    const { db } = context
    const delivery = await getDelivery(db, caller, deliveryIdOf(request.params))
    const reason = reasonOf(request.body)
    await skip(db, caller.branchId, delivery, reason, caller.act)
    return printOne(context, caller, await getDelivery(db, caller, delivery.id))
  },
}

function deliveryIdOf(params: unknown): string {
  return (params as { id: string }).id
}

interface DeliveryQuery extends PageQuery {
  readonly state?: DeliveryState
  readonly kind?: Kind
  readonly entity?: string
  readonly from?: number
  readonly to?: number
}

function parseFilter({ state, kind, entity, from, to }: DeliveryQuery): DeliveryFilter {
  const date = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms))
  const filter = { state, kind, entity, from: date(from), to: date(to) }
  if (filter.from && filter.to && filter.from >= filter.to)
    throw new Invalid([{ field: 'from', problem: 'must be earlier than to' }])
  return filter
}

async function printOne(context: Clocked, caller: BranchCaller, delivery: Delivery) {
  return (await printDeliveries(context, caller, [delivery]))[0]!
}

type Clocked = Pick<Context, 'db' | 'clock'>

async function printDeliveries(
  { db, clock }: Clocked,
  { branchId }: BranchCaller,
  deliveries: readonly Delivery[],
) {
  const now = clock.now()
  const waiting = deliveries.filter(({ state }) => state === 'waiting')
  const ids = new Set(waiting.map(({ webhookId }) => webhookId))
  const lanes = await readLanes(
    db,
    [...ids].map((id) => ({ id, branchId })),
    now,
  )
  return deliveries.map((delivery) =>
    printDelivery(delivery, findNextMoment(delivery, lanes.get(delivery.webhookId)?.condition, now)),
  )
}

function printDelivery(delivery: Delivery, nextAt: Date | undefined) {
  const { id, webhookId, uid, kind, action, entity, state, attempts, createdAt, settledAt, repeats } =
    delivery
  const { reason, canceledBy } = delivery
  return {
    ...{ id, webhookId, eventId: printEventId(uid), kind, action, entity, state, attempts },
    createdAt: createdAt.getTime(),
    ...(nextAt && { nextAttemptAt: nextAt.getTime() }),
    ...(settledAt && { settledAt: settledAt.getTime() }),
    ...(repeats !== null && { repeats }),
    ...(reason !== null && { reason }),
    ...(canceledBy !== null && { canceledBy: printCanceler(canceledBy) }),
  }
}

function printAttempt({ number, at, durationMs, outcome, status, why, detail, response }: Attempt) {
  return {
    ...{ number, at: at.getTime(), durationMs, outcome },
    ...(status !== null && { status }),
    ...(why !== null && { why }),
    ...(detail !== null && { detail }),
    ...(response !== null && { response }),
  }
}
