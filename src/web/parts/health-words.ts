import type { BlockingDelivery, Delivery, DeliveryState } from '../../webhooks/deliveries/delivery.ts'
import { type Condition, countedAtMost } from '../../webhooks/health/webhook-health.ts'
import type { Html } from '../frame/html.ts'
import { badge, type Tone } from '../frame/parts.ts'

export const conditionTones: Record<Condition, Tone> = {
  healthy: 'good',
  failing: 'wait',
  'breaker open': 'bad',
  paused: 'off',
  disabled: 'bad',
}

/** On pages; programs and addresses say it as the engine does. */
export const conditionLabels: Record<Condition, string> = {
  healthy: 'healthy',
  failing: 'failing',
  'breaker open': 'failing: one retry a minute',
  paused: 'paused',
  disabled: 'disabled',
}

export const conditionWords: Record<Condition, string> = {
  healthy: 'The last attempt was accepted, or none has been made yet.',
  failing:
    'The last attempts failed. When ten in a row have failed, of three entities or more, one delivery at a time is retried.',
  'breaker open':
    'Ten attempts in a row failed, of three entities or more. One delivery at a time is retried, up to a minute apart, until one is accepted.',
  paused: 'Deliveries are queued and go out when you resume it.',
  disabled: 'Nothing is sent until you resume it; then queued deliveries are sent.',
}

export function conditionBadge(condition: Condition): Html {
  return badge(conditionTones[condition], conditionLabels[condition])
}

const stateTones: Record<DeliveryState, Tone> = {
  blocked: 'off',
  waiting: 'wait',
  delivered: 'good',
  exhausted: 'bad',
  canceled: 'off',
  expired: 'bad',
}

export const stateLabels: Record<DeliveryState, string> = {
  blocked: 'queued behind an earlier one',
  waiting: 'waiting',
  delivered: 'delivered',
  exhausted: 'failed after all retries',
  canceled: 'canceled',
  expired: 'expired',
}

export const stateWords: Record<DeliveryState, string> = {
  blocked: 'It waits for an earlier delivery of the same entity.',
  waiting: 'It is due, or waits for its next attempt.',
  delivered: 'The receiver accepted it.',
  exhausted: 'Every attempt failed. It can be replayed.',
  canceled: 'It was skipped before it was delivered.',
  expired: 'It was still undelivered when its event was too old to be kept.',
}

/** With the number of the one that it waits behind, where that is known. */
export function stateBadge(
  { state }: Pick<Delivery, 'state'>,
  ahead?: Pick<BlockingDelivery, 'aheadId'>,
): Html {
  return badge(stateTones[state], ahead ? `queued behind #${ahead.aheadId}` : stateLabels[state])
}

export function printCount(count: number): string {
  return count >= countedAtMost ? `${countedAtMost.toLocaleString('en')} or more` : count.toLocaleString('en')
}
