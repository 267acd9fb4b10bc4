/** How webhooks and deliveries are, in the same words wherever it is told. */
import type { BlockingDelivery, Delivery, DeliveryState } from '../../webhooks/deliveries/delivery.ts'
import { type Condition, conditions } from '../../webhooks/health/condition.ts'
import type { LaneHealth } from '../../webhooks/health/lane-health.ts'
import { countedAtMost } from '../../webhooks/health/webhook-health.ts'
import type { Html } from '../frame/html.ts'
import { badge, type Tone } from '../frame/parts.ts'

const conditionTones: Record<Condition, Tone> = {
  'breaker open': 'bad',
  disabled: 'bad',
  failing: 'wait',
  late: 'wait',
  'not tried': 'wait',
  retrying: 'wait',
  paused: 'off',
  held: 'off',
  idle: 'off',
  healthy: 'good',
}

/** Of many together; programs and addresses say it as the engine does. */
export const conditionLabels: Record<Condition, string> = {
  'breaker open': 'failing: one retry a minute',
  disabled: 'disabled',
  failing: 'failing',
  late: 'late',
  'not tried': 'queued, not tried',
  retrying: 'some retrying',
  paused: 'paused',
  held: 'on hold',
  idle: 'not tried',
  healthy: 'healthy',
}

const notTried: Record<LaneHealth['termBegan'], string> = {
  created: 'not tried yet',
  resumed: 'not tried since it was resumed',
  approved: 'not tried since the partner was approved',
  readdressed: 'not tried at its new address',
}

type Told = Pick<LaneHealth, 'condition' | 'termBegan'>

function isUntried({ condition }: Told): boolean {
  return condition === 'not tried' || condition === 'idle'
}

/** How it is: `failing`, or `not tried since it was resumed`. */
export function labelOf(lane: Told): string {
  return isUntried(lane) ? notTried[lane.termBegan] : conditionLabels[lane.condition]
}

export function conditionBadge(lane: Told): Html {
  return badge(conditionTones[lane.condition], labelOf(lane))
}

/** How many there are in each. */
export function countBadges(counts: ReadonlyMap<Condition, number>): { condition: Condition; badge: Html }[] {
  return conditions.map((condition) => ({
    condition,
    badge: badge(
      conditionTones[condition],
      `${conditionLabels[condition]} · ${(counts.get(condition) ?? 0).toLocaleString('en')}`,
    ),
  }))
}

const conditionWords: Record<Condition, string> = {
  'breaker open':
    'Ten attempts in a row failed, of three entities or more. One delivery at a time is retried, up to a minute apart, until one is accepted.',
  disabled: 'Nothing is sent until it is resumed; then queued deliveries are sent.',
  failing:
    'The last attempts failed. When ten in a row have failed, of three entities or more, one delivery at a time is retried.',
  late: 'Deliveries have been due for more than a minute and have not been sent.',
  'not tried': 'Whether its receiver answers is not known yet.',
  retrying: 'The last attempt was accepted. Deliveries that failed before are retried.',
  paused: 'Deliveries are queued and go out when it is resumed.',
  held: 'Its partner is not approved. Deliveries are queued and go out when it is.',
  idle: 'Nothing is queued. Whether its receiver answers is known after the next delivery.',
  healthy: 'The last attempt was accepted.',
}

/** In a sentence or two. */
export function describeCondition(lane: Told): string {
  const words = conditionWords[lane.condition]
  if (!isUntried(lane)) return words
  const first = notTried[lane.termBegan]
  return `${first[0]!.toUpperCase()}${first.slice(1)}. ${words}`
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

const stateWords: Record<DeliveryState, string> = {
  blocked: 'It waits for an earlier delivery of the same entity.',
  waiting: 'It waits for its first attempt.',
  delivered: 'The receiver accepted it.',
  exhausted: 'Every attempt failed. It can be replayed.',
  canceled: 'It was skipped before it was delivered.',
  expired: 'It was still undelivered when its event was too old to be kept.',
}

type Tried = Pick<Delivery, 'state' | 'attempts'>

/** What was tried in vain is retrying; what was not tried yet is waiting. */
function isRetrying({ state, attempts }: Tried): boolean {
  return state === 'waiting' && attempts > 0
}

export const retrying = 'retrying'

export function stateLabel(delivery: Tried): string {
  return isRetrying(delivery) ? retrying : stateLabels[delivery.state]
}

export function describeState(delivery: Tried): string {
  return isRetrying(delivery)
    ? 'Its attempts failed so far, and it is tried again.'
    : stateWords[delivery.state]
}

/** With the number of the one that it waits behind, where that is known. */
export function stateBadge(delivery: Tried, ahead?: Pick<BlockingDelivery, 'aheadId'>): Html {
  return badge(stateTones[delivery.state], ahead ? `queued behind #${ahead.aheadId}` : stateLabel(delivery))
}

export function printCount(count: number): string {
  return count >= countedAtMost ? `${countedAtMost.toLocaleString('en')} or more` : count.toLocaleString('en')
}
