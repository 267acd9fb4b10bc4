/** What becomes of a delivery by the answer of its receiver, and when its webhook is disabled. */
import type { PostResult } from '../outbound/attempt.ts'
import { nextAttemptAt, parseRetryAfter } from '../outbound/retry-schedule.ts'
import type { Verdict } from './lane.ts'
import type { DeliveryLane } from './settlements.ts'

/** No answer ends a delivery early but one that accepts it: what is refused is tried until the schedule ends. */
export function judge(outcome: PostResult['outcome'], attempt: number, now: Date): Verdict {
  if (outcome.kind === 'accepted') return { state: 'delivered', dueAt: undefined }
  const retryAfterMs = outcome.kind === 'refused' ? parseRetryAfter(outcome.retryAfter, now) : 0
  const dueAt = nextAttemptAt(attempt, now, retryAfterMs)
  return dueAt ? { state: 'retrying', dueAt } : { state: 'exhausted', dueAt: undefined }
}

export function findReasonToDisable(
  lane: DeliveryLane,
  outcome: PostResult['outcome'],
  now: Date,
): string | undefined {
  if (outcome.kind === 'refused' && outcome.status === 410) return 'the receiver answered 410 Gone'
  return lane.breaker.shouldDisable(now)
    ? 'no success in five days among a hundred attempts or more'
    : undefined
}
