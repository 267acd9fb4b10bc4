/**
 * A lane is one webhook's queue as the worker that holds it sees it: what is in hand, how many attempts may run at once, and the
 * breaker. Five failures in a row open the breaker: then one attempt at a time probes, at growing distance, until one succeeds.
 */
import { after, day, minute, second } from '../clock.ts'

const attemptsAtOnce = 10
export const breakerThreshold = 5
const firstProbeMs = 5 * second
const longestProbeMs = minute
const disableAfterMs = 5 * day
const disableAfterAttempts = 100

export interface DueDelivery {
  readonly id: number
  readonly webhook_id: number
  readonly branch_id: number
  readonly due_at: Date
  readonly attempts: number
  readonly tries: number
  readonly uid: string
  readonly published_at: Date
  /** The span it was published under; null where nobody traced. */
  readonly traceparent: string | null
  readonly body: string
  readonly url: string
}

export interface Lane {
  readonly webhookId: number
  readonly branchId: number
  readonly claimId: string
  /** By `performance.now()`: what the lease says, as far as this worker knows. Past it nothing is sent. */
  leasedUntilMs: number
  /** Read from the database and not yet sent. */
  readonly buffer: DueDelivery[]
  /** Read and not yet settled: sent or about to be. */
  readonly inHand: Set<number>
  sending: number
  failures: number
  failingSince: Date | undefined
  /** Nothing more was due when the worker last looked. */
  drained: boolean
  /** The webhook or its partner changed since the worker last looked: what it reads now may be stale. */
  changed: boolean
  /** Not before this, whatever is due: the breaker's next probe. */
  probeAt: Date | undefined
  lost: boolean
  /** Since when there is nothing to do, by `performance.now()`. */
  quietSince: number | undefined
}

export type ClaimedLane = Pick<
  Lane,
  'webhookId' | 'branchId' | 'claimId' | 'leasedUntilMs' | 'failures' | 'failingSince'
>

export function openLane(claimed: ClaimedLane): Lane {
  return {
    ...claimed,
    buffer: [],
    inHand: new Set(),
    sending: 0,
    drained: false,
    changed: false,
    probeAt: undefined,
    lost: false,
    quietSince: undefined,
  }
}

export function isBreakerOpen(lane: Lane): boolean {
  return lane.failures >= breakerThreshold
}

export function isLeased(lane: Lane): boolean {
  return !lane.lost && performance.now() < lane.leasedUntilMs
}

export function freeSlots(lane: Lane): number {
  if (lane.probeAt || !isLeased(lane)) return 0
  return (isBreakerOpen(lane) ? 1 : attemptsAtOnce) - lane.sending
}

export function noteSuccess(lane: Lane): void {
  lane.failures = 0
  lane.failingSince = undefined
  lane.probeAt = undefined
}

/**
 * An open breaker hands back what is not sent yet and waits for its next probe. What was under way when it opened tells nothing
 * new: ten that fail together are one reason to wait, not five.
 */
export function noteFailure(lane: Lane, now: Date): void {
  if (lane.probeAt) return
  lane.failures++
  lane.failingSince ??= now
  if (!isBreakerOpen(lane)) return
  const wait = Math.min(longestProbeMs, firstProbeMs * 2 ** Math.min(10, lane.failures - breakerThreshold))
  lane.probeAt = after(now, wait)
  handBack(lane)
}

/** Not what the lane no longer wants: its webhook changed, or its breaker opened, while the reading was under way. */
export function takeInHand(lane: Lane, delivery: DueDelivery): void {
  if (lane.changed || lane.probeAt || lane.inHand.has(delivery.id)) return
  lane.buffer.push(delivery)
  lane.inHand.add(delivery.id)
}

/** What was read and not sent yet is somebody else's again. */
export function handBack(lane: Lane): void {
  for (const delivery of lane.buffer.splice(0)) lane.inHand.delete(delivery.id)
}

/** Five days without one success among at least a hundred attempts. */
export function shouldDisable(lane: Lane, now: Date): boolean {
  const { failures, failingSince } = lane
  return (
    failures >= disableAfterAttempts &&
    failingSince !== undefined &&
    now.getTime() - failingSince.getTime() >= disableAfterMs
  )
}
