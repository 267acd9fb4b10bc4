/**
 * How a webhook is: the one judgement, which every page, list, queue, figure and command tells. It follows
 * from what its attempts said in its present term, and from what waits; no act makes it look well.
 */
import { after, minute } from '../../clock.ts'
import { attemptsLooked, entitiesAtLeast } from '../engine/breaker.ts'
import type { LaneState } from './lane-state.ts'

/**
 * The worst first. `late`: what is due has not been sent for a minute. `not tried`: something waits, and
 * nothing was tried since the webhook was made, resumed, approved or given its address. `retrying`: the last
 * attempt was accepted, and something is tried again. `held`: its partner is not approved. `idle`: not tried,
 * and nothing waits.
 */
export const conditions = [
  'breaker open',
  'disabled',
  'failing',
  'late',
  'not tried',
  'retrying',
  'paused',
  'held',
  'idle',
  'healthy',
] as const
export type Condition = (typeof conditions)[number]

export function isWell(condition: Condition): boolean {
  return condition === 'healthy' || condition === 'idle'
}

/** Its last attempt failed; or it was switched off for that. */
export function isFailing(condition: Condition): boolean {
  return condition === 'failing' || condition === 'breaker open' || condition === 'disabled'
}

/** What failed before still waits, though nothing says that it would fail now. */
export function isUnsettled(condition: Condition): boolean {
  return condition === 'retrying' || condition === 'not tried'
}

export const unwellConditions: readonly Condition[] = conditions.filter((each) => !isWell(each))

const lateMs = minute

/** As its lane judges it: a worker that takes the lane over goes on from these two. */
export function isBreakerOpen({ failures, entities }: Pick<LaneState, 'failures' | 'entities'>): boolean {
  return failures >= attemptsLooked && entities >= entitiesAtLeast
}

/** Of a webhook that is active and whose partner may act: otherwise that is how it is. */
export function judge(lane: LaneState, now: Date): Condition {
  if (isBreakerOpen(lane)) return 'breaker open'
  if (lane.failures > 0) return 'failing'
  if (lane.lateSince && lane.lateSince < after(now, -lateMs)) return 'late'
  if (!lane.isTried) return lane.dueAt ? 'not tried' : 'idle'
  return lane.retried > 0 ? 'retrying' : 'healthy'
}
