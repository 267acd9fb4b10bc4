/**
 * Spec 4.6: sends a simulated webhook to every registered URL, with the data of the request. Nothing is checked against real
 * records. The handler publishes an event; the worker delivers it like any other. `Prefer: wait=N` waits for the outcomes.
 */
import { setTimeout as wait } from 'node:timers/promises'
import Type from 'typebox'
import type { Context } from '../../context.ts'
import { isBlocked } from '../../database/database.ts'
import { type EventDelivery, isInboxed, listDeliveriesOfEvent } from '../../webhooks/delivery.ts'
import { dispatchOnce } from '../../webhooks/dispatch.ts'
import { printEventId } from '../../webhooks/event.ts'
import { type Payload, type PublishedKind, payloads } from '../../webhooks/kind.ts'
import { simulateEvent } from '../../webhooks/simulated-event.ts'
import { exactAmounts } from '../exact-amounts.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { problems, webhookSchema } from './webhook-resource.ts'

const longestWaitSeconds = 30
const pollMs = 25
/** How long the answer waits for its deliveries to be created. */
const dispatchPatienceMs = 5_000
const eventsAtOnce = 100

const TestHookAnswer = Type.Object({
  eventId: Type.String(),
  deliveries: Type.Array(
    Type.Object({
      id: Type.Integer(),
      webhookId: Type.Integer(),
      url: Type.String(),
      state: Type.String(),
      attempt: Type.Optional(
        Type.Object({
          outcome: Type.String(),
          status: Type.Optional(Type.Integer()),
          why: Type.Optional(Type.String()),
          durationMs: Type.Integer(),
        }),
      ),
    }),
    { description: 'one for each webhook; none where there is none, or when they could not be created at once' },
  ),
})

export function testHook(kind: PublishedKind): Endpoint<BranchCaller> {
  return {
    schema: {
      ...webhookSchema,
      summary: `Send a simulated ${kind} webhook to every registered URL`,
      body: payloads[kind],
      response: { 202: TestHookAnswer, ...problems },
    },
    async handle(context, caller, request, reply) {
      const { branchId, environment } = caller
      const payload = request.body as Payload
      const [amount] = exactAmounts(request.bodyText, [payload], () => 'amount')
      const event = simulateEvent(caller, kind, payload, amount)
      const [published] = await context.publisher.publish([event], context.clock.now(), request.span?.traceparent)
      const { id, uid } = published!
      const wished = parsePatience(request.headers.prefer)
      // Who waits looks at the database again and again. A preference may be ignored, and beyond so many it is.
      const leave = wished > 0 ? context.waits.take(`${environment} ${branchId}`) : undefined
      const patience = leave ? wished : 0
      const deliveries = await findDeliveries(context, id, patience).finally(leave)
      if (patience > 0) reply.header('preference-applied', `wait=${patience}`)
      return reply.status(202).send({ eventId: printEventId(uid), deliveries: deliveries.map(printEventDelivery) })
    },
  }
}

/** RFC 7240. */
function parsePatience(prefer: string | string[] | undefined): number {
  const match = /(?:^|[,;\s])wait=(\d{1,5})/.exec([prefer ?? ''].flat().join(','))
  return match ? Math.min(longestWaitSeconds, Number(match[1])) : 0
}

/** The event is published and will be delivered: whatever fails here makes the answer shorter, and never a refusal. */
async function findDeliveries(context: Context, eventId: number, patienceSeconds: number): Promise<EventDelivery[]> {
  const giveUpAt = performance.now() + patienceSeconds * 1000
  let deliveries: EventDelivery[] = []
  try {
    await dispatchPatiently(context, eventId)
    for (;;) {
      deliveries = await listDeliveriesOfEvent(context.db, eventId)
      if (deliveries.every((delivery) => delivery.attempts > 0) || performance.now() >= giveUpAt) return deliveries
      await wait(pollMs)
    }
  } catch (error) {
    context.log.warn({ err: error }, 'a test hook is published; what became of it could not be read')
    return deliveries
  }
}

/** A worker may do the same meanwhile; whoever is in the other's way tries again. */
async function dispatchPatiently({ db, clock, tracing }: Context, eventId: number): Promise<void> {
  const giveUpAt = performance.now() + dispatchPatienceMs
  while (performance.now() < giveUpAt && (await isInboxed(db, eventId))) {
    const taken = await dispatchOnce(db, clock.now(), eventsAtOnce, tracing?.dispatch).catch((error: unknown) => {
      if (!isBlocked(error)) throw error
      return 0
    })
    if (taken === 0) await wait(pollMs)
  }
}

function printEventDelivery({ id, webhook_id, url, state, last_attempt }: EventDelivery) {
  if (!last_attempt) return { id, webhookId: webhook_id, url, state }
  const { outcome, status, why, duration_ms } = last_attempt
  const attempt = { outcome, ...(status !== null && { status }), ...(why !== null && { why }), durationMs: duration_ms }
  return { id, webhookId: webhook_id, url, state, attempt }
}
