/**
 * Spec 4.6: sends a simulated webhook to every registered URL, or to one of them, with the data of the
 * request. Nothing is checked against real records. The handler publishes an event; the worker delivers it
 * like any other. `Prefer: wait=N` waits for the outcomes.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { integer, Type, text } from '../../vocabulary/schema.ts'
import { type EventDelivery, listDeliveriesOfEvent } from '../../webhooks/deliveries/delivery.ts'
import type { Branch } from '../../webhooks/events/branch.ts'
import { branchKey } from '../../webhooks/events/branch-signal.ts'
import { printEventId } from '../../webhooks/events/event.ts'
import { type Payload, type PublishedKind, payloads } from '../../webhooks/events/kind.ts'
import { partOf } from '../../webhooks/events/part.ts'
import { simulateEvent } from '../../webhooks/events/simulated-event.ts'
import { getWebhook } from '../../webhooks/subscriptions/webhook.ts'
import { exactAmounts } from '../frame/exact-amounts.ts'
import type { Endpoint } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
import { attemptFields, DeliveryStateBody, deliveryId, EventId } from './delivery-resource.ts'
import { idOfPath, webhookSchema } from './webhook-resource.ts'

const longestWaitSeconds = 30
const pollMs = 25

const TestAttempt = Type.Object(attemptFields, {
  title: 'TestAttempt',
  description: 'What became of it so far.',
})

const TestDelivery = Type.Object(
  {
    id: deliveryId('The id of the delivery.'),
    webhookId: integer('The webhook it is for.', 1),
    url: text('Where it goes.', 'https://app.example.com/hooks'),
    state: DeliveryStateBody,
    attempt: Type.Optional(TestAttempt),
  },
  { title: 'TestDelivery', description: 'The simulated event for one webhook.' },
)

const TestHookAnswer = Type.Object(
  {
    eventId: EventId,
    deliveries: Type.Array(TestDelivery, {
      description:
        'One for each webhook; none where there is none, or when they could not be created at once.',
    }),
  },
  { title: 'TestWebhookAnswer', description: 'The simulated event is on its way.' },
)

const hooks = {
  TRANSACTION: { operationId: 'testTransactionWebhook', words: 'a transaction' },
  APPLICATION: { operationId: 'testApplicationWebhook', words: 'an account application' },
  ACH_PROFILE: { operationId: 'testAchProfileWebhook', words: 'an ACH profile' },
} as const

export function testHook(
  kind: PublishedKind,
): Endpoint<BranchCaller, { Body: Payload; Querystring: { readonly webhookId?: number } }> {
  return {
    schema: {
      ...webhookSchema,
      ...{ operationId: hooks[kind].operationId, tags: ['Test webhooks'] },
      summary: `Send a simulated webhook of ${hooks[kind].words} to every registered URL, or to one`,
      description:
        'The data may be made up: nothing is checked against real records. Deliveries are marked with `x-webhook-test: true` and never hold up a real one. Two with the same id are delivered in order: use a fresh id for each.',
      headers: Type.Object({
        prefer: Type.Optional(
          text(
            `RFC 7240: \`wait=10\` waits up to ten seconds, ${longestWaitSeconds} at most, for the outcome at every URL. Any other preference is ignored.`,
            'wait=2',
          ),
        ),
      }),
      querystring: Type.Object({
        webhookId: Type.Optional(
          idOfPath('Only to this webhook, whatever kinds it takes. Unless given: to all.'),
        ),
      }),
      body: payloads[kind],
      response: { 202: TestHookAnswer },
      answerHeaders: ['Preference-Applied'],
      mayMiss: true,
    },
    async handle(context, caller, request, reply) {
      const payload = request.body
      const [amount] = exactAmounts(request.bodyText, [payload], () => 'amount')
      const { webhookId } = request.query
      // Another branch's does not exist.
      if (webhookId !== undefined) await getWebhook(context.db, caller, webhookId)
      const event = simulateEvent(caller, kind, payload, amount, webhookId)
      if (context.testHooks.isOn) await context.testHooks.count(branchKey(caller))
      const traceparent = request.span?.traceparent
      const [published] = await context.publisher.publish([event], context.clock.now(), { traceparent })
      const { uid } = published!
      const wished = parseWait(request.headers.prefer)
      // A request that waits looks at the database again and again. A preference may be ignored, and beyond
      // so many waiting requests it is.
      const leave = wished > 0 ? await context.waits.take(branchKey(caller)) : undefined
      const waitSeconds = leave ? wished : 0
      const deliveries = await findDeliveries(context, caller, uid, waitSeconds).finally(leave)
      if (waitSeconds > 0) reply.header('preference-applied', `wait=${waitSeconds}`)
      return reply
        .status(202)
        .send({ eventId: printEventId(uid), deliveries: deliveries.map(printEventDelivery) })
    },
  }
}

/** RFC 7240. */
function parseWait(prefer: string | string[] | undefined): number {
  const match = /(?:^|[,;\s])wait=(\d{1,5})/.exec([prefer ?? ''].flat().join(','))
  return match ? Math.min(longestWaitSeconds, Number(match[1])) : 0
}

/**
 * The event is published and will be delivered: whatever fails here makes the answer shorter, and never a
 * refusal.
 */
async function findDeliveries(
  { db, numbering, log }: Context,
  branch: Branch,
  uid: string,
  waitSeconds: number,
): Promise<EventDelivery[]> {
  const giveUpAt = performance.now() + waitSeconds * 1000
  let deliveries: EventDelivery[] = []
  try {
    await numbering.number(partOf(branch.branchId))
    for (;;) {
      deliveries = await listDeliveriesOfEvent(db, branch, uid)
      if (deliveries.every((delivery) => delivery.attempts > 0) || performance.now() >= giveUpAt)
        return deliveries
      await wait(pollMs)
    }
  } catch (error) {
    log.warn({ err: error }, 'a test hook is published; what became of it could not be read')
    return deliveries
  }
}

function printEventDelivery({ id, webhookId, url, state, lastAttempt }: EventDelivery) {
  if (!lastAttempt) return { id, webhookId, url, state }
  const { outcome, status, why, detail, durationMs } = lastAttempt
  const told = {
    ...(status !== null && { status }),
    ...(why !== null && { why }),
    ...(detail !== null && { detail }),
  }
  const attempt = { outcome, ...told, durationMs }
  return { id, webhookId, url, state, attempt }
}
