/** When a delivery is sent next, as far as that can be said: never a moment that has passed. */
import type { Condition } from '../health/condition.ts'
import type { Delivery } from './delivery.ts'

export type NextAttempt =
  | { readonly kind: 'at'; readonly at: Date }
  | { readonly kind: 'now' }
  /** Its receiver fails: one delivery at a time is tried, and all go on when one is accepted. */
  | { readonly kind: 'in turn' }
  /** Nothing is sent until its webhook is resumed, or its partner approved. */
  | { readonly kind: 'held'; readonly until: 'resumed' | 'approved' }

/** Of one that waits for its own moment; undefined for others. */
export function findNextAttempt(
  { state, dueAt }: Pick<Delivery, 'state' | 'dueAt'>,
  condition: Condition | undefined,
  now: Date,
): NextAttempt | undefined {
  if (state !== 'waiting') return undefined
  if (condition === 'paused' || condition === 'disabled') return { kind: 'held', until: 'resumed' }
  if (condition === 'held') return { kind: 'held', until: 'approved' }
  if (condition === 'breaker open') return { kind: 'in turn' }
  return dueAt > now ? { kind: 'at', at: dueAt } : { kind: 'now' }
}

/** For programs; undefined where no moment can be named. */
export function findNextMoment(
  delivery: Pick<Delivery, 'state' | 'dueAt'>,
  condition: Condition | undefined,
  now: Date,
): Date | undefined {
  const next = findNextAttempt(delivery, condition, now)
  if (next?.kind === 'at') return next.at
  return next?.kind === 'now' ? now : undefined
}
