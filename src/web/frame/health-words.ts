import type { Delivery, DeliveryState } from '../../webhooks/delivery.ts'
import { type Condition, countedAtMost } from '../../webhooks/webhook-health.ts'
import type { Html } from './html.ts'
import { badge, type Tone } from './parts.ts'

export const conditionTones: Record<Condition, Tone> = {
  healthy: 'good',
  failing: 'wait',
  'breaker open': 'bad',
  paused: 'off',
  disabled: 'bad',
}

export const conditionWords: Record<Condition, string> = {
  healthy: 'The last attempt was accepted, or none has been made yet.',
  failing: 'The last attempts failed. When five different entities have failed, one attempt at a time probes.',
  'breaker open':
    'Five different entities failed, with no success between them. One attempt at a time probes, 5 to 60 seconds apart.',
  paused: 'Deliveries gather and go out when you resume it.',
  disabled: 'Nothing is sent until you resume it; then what gathered goes out.',
}

export function conditionBadge(condition: Condition): Html {
  return badge(conditionTones[condition], condition)
}

const stateTones: Record<DeliveryState, Tone> = {
  blocked: 'off',
  waiting: 'wait',
  delivered: 'good',
  exhausted: 'bad',
  canceled: 'off',
  expired: 'bad',
}

export const stateWords: Record<DeliveryState, string> = {
  blocked: 'It waits for an earlier delivery of the same entity.',
  waiting: 'It is due, or waits for its next attempt.',
  delivered: 'The receiver accepted it.',
  exhausted: 'Every attempt failed. It can be sent again.',
  canceled: 'It was skipped before it was delivered.',
  expired: 'It was still undelivered when its event was too old to be kept.',
}

export function stateBadge({ state }: Pick<Delivery, 'state'>): Html {
  return badge(stateTones[state], state)
}

export function printCount(count: number): string {
  return count >= countedAtMost ? `${countedAtMost.toLocaleString('en')} or more` : count.toLocaleString('en')
}
