import {
  type Attempt,
  type DeliveryWithBody,
  getDelivery,
  listAttempts,
  redeliver,
} from '../webhooks/deliveries/delivery.ts'
import { listDeliveries } from '../webhooks/deliveries/delivery-search.ts'
import { findNextMoment } from '../webhooks/deliveries/next-attempt.ts'
import { skipDelivery } from '../webhooks/deliveries/skip.ts'
import { printEventId } from '../webhooks/events/event.ts'
import { getLane } from '../webhooks/health/lane-health.ts'
import type { Command } from './command.ts'
import { atWebhook, branchOf, branchOptions, parseReason, reasonOption } from './on-webhook.ts'

export const deliveryCommands: readonly Command[] = [
  atWebhook(
    'delivery list',
    'Lists the newest deliveries of a webhook.',
    [
      {
        name: 'state',
        value: 'STATE',
        meaning: 'blocked, waiting, delivered, exhausted, canceled or expired',
      },
      { name: 'entity', value: 'ENTITY', meaning: 'such as transaction:42' },
      { name: 'limit', value: 'N', meaning: '50 unless given' },
    ],
    async ({ db, clock }, webhook, words) => {
      const filter = { state: words.find('state') as 'waiting' | undefined, entity: words.find('entity') }
      const most = Number(words.find('limit') ?? 50) || 50
      const { deliveries } = await listDeliveries(db, webhook, filter, undefined, most)
      const now = clock.now()
      const { condition } = await getLane(db, webhook.id, now)
      return deliveries.map((delivery) => {
        const { id, kind, action, entity, state, attempts, createdAt } = delivery
        return {
          ...{ id, kind, action, entity, state, attempts, created_at: createdAt },
          next_attempt_at: findNextMoment(delivery, condition, now) ?? null,
        }
      })
    },
  ),
  {
    name: 'delivery show',
    needs: 'reading',
    summary: 'Shows one delivery with every attempt.',
    positionals: ['delivery'],
    options: branchOptions,
    async run(context, words) {
      const branch = await branchOf(context, words)
      const delivery = await getDelivery(context.db, branch, words.positional('delivery'))
      const attempts = await listAttempts(context.db, branch, delivery)
      const now = context.clock.now()
      const { condition } = await getLane(context.db, delivery.webhookId, now)
      const next = findNextMoment(delivery, condition, now) ?? null
      context.print.record({ ...fieldsOf(delivery, next), log: attempts.map(attemptFields) })
    },
  },
  {
    name: 'delivery redeliver',
    needs: 'database',
    summary: 'Sends one delivery again.',
    positionals: ['delivery'],
    options: branchOptions,
    async run(context, words) {
      const branch = await branchOf(context, words)
      const delivery = await getDelivery(context.db, branch, words.positional('delivery'))
      const again = await redeliver(context.db, branch.branchId, delivery, context.act())
      context.print.record({ redelivering: delivery.id, delivery: again })
    },
  },
  {
    name: 'delivery skip',
    needs: 'database',
    summary: 'Skips one delivery that waits: it is canceled, and what waits behind it goes on.',
    positionals: ['delivery'],
    options: [...branchOptions, reasonOption],
    async run(context, words) {
      const branch = await branchOf(context, words)
      const delivery = await getDelivery(context.db, branch, words.positional('delivery'))
      await skipDelivery(context.db, branch.branchId, delivery, parseReason(words), context.act())
      const { id, state, reason } = await getDelivery(context.db, branch, delivery.id)
      context.print.record({ delivery: id, state, reason })
    },
  },
]

function fieldsOf(delivery: DeliveryWithBody, nextAttemptAt: Date | null) {
  const { id, webhookId, state, entity, attempts, createdAt, settledAt } = delivery
  const { repeats, reason, canceledBy, uid, kind, action, body, simulated } = delivery
  return {
    ...{ id, webhook_id: webhookId, event_id: printEventId(uid), state, entity, attempts },
    next_attempt_at: nextAttemptAt,
    created_at: createdAt,
    ...{ settled_at: settledAt, repeats, reason, canceled_by: canceledBy, kind, action, body, simulated },
  }
}

function attemptFields({ number, at, durationMs, outcome, status, why, detail, response }: Attempt) {
  return { number, at, duration_ms: durationMs, outcome, status, why, detail, response }
}
