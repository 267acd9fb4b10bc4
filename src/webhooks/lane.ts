/**
 * A lane is one webhook's queue as the worker that holds it sees it: what is in hand, how many attempts may run at once, and the
 * breaker (a circuit breaker; half open while it probes). It opens by evidence: five different entities whose first attempt failed,
 * with no success between them. Then one attempt at a time probes, at growing distance, until one succeeds. An entity that the
 * receiver refuses again and again is no evidence: it is held alone, by its own schedule.
 */
import { after, type Clock, day, minute, second } from '../clock.ts'
import { statementLimitMs } from '../database/statement-limit.ts'
import { SendLimit } from './send-limit.ts'

const attemptsAtOnce = 10
/** Answered and not written down yet: a database that is slow slows the sending. */
const unsettledAtMost = 100
export const breakerThreshold = 5
/** Whoever writes what is due now commits within this. */
const slackMs = statementLimitMs + second
const firstProbeMs = 5 * second
const longestProbeMs = minute
const disableAfterMs = 5 * day
const disableAfterAttempts = 100

export interface DueDelivery {
  readonly id: number
  readonly webhookId: number
  readonly eventId: number
  readonly entity: string
  readonly branchId: number
  readonly dueAt: Date
  readonly attempts: number
  /** The delivery that this one sends again. */
  readonly repeats: number | null
  readonly url: string
  readonly event: DueEvent
}

export interface DueEvent {
  readonly id: number
  readonly uid: string
  readonly publishedAt: Date
  /** The span it was published under; null where nobody traced. */
  readonly traceparent: string | null
  readonly simulated: boolean
  readonly body: string
}

export interface Lane {
  readonly webhookId: number
  readonly part: number
  readonly branchId: number
  readonly claimId: string
  /** By `performance.now()`: what the lease says, as far as this worker knows. Past it nothing is sent. */
  leasedUntilMs: number
  /** Read from the database and not yet sent. */
  readonly buffer: DueDelivery[]
  /** Read and not yet settled: sent or about to be. */
  readonly inHand: Set<number>
  sending: number
  /** Answered and not written down yet. */
  unsettled: number
  /** Attempts that failed since the last success. */
  failures: number
  failingSince: Date | undefined
  /** Different entities whose first attempt failed since the last success. */
  evidence: number
  readonly failedEntities: Set<string>
  /** Nothing that waits and is not in hand is due before this. */
  dueFrom: Date
  /** Nothing more was due when the worker last looked. */
  drained: boolean
  /** By `performance.now()`: when the worker last knew what is due in it; infinite while it is being read. */
  readMs: number
  /** The webhook or its partner changed since the worker last looked: what it reads now may be stale. */
  changed: boolean
  /** Not before this, whatever is due: the breaker's next probe. */
  probeAt: Date | undefined
  /** Nor before this: the receiver asked for it. */
  heldUntil: Date | undefined
  /** How many attempts a second the receiver wants at most. */
  limit: SendLimit | undefined
  /** Nor before this: so many have been begun already, by this worker or the one before. */
  limitedUntil: Date | undefined
  /** Something may wait behind what is in hand: whoever settles that does not wait for company. */
  awaited: boolean
  /** On its way to another worker: nothing more is begun. */
  leaving: boolean
  /** Whether it is still this worker's is being asked: nothing more is begun. */
  doubtful: boolean
  lost: boolean
  /** Since when there is nothing to do, by `performance.now()`. */
  quietSince: number | undefined
}

type ClaimedLane = Pick<
  Lane,
  | 'webhookId'
  | 'branchId'
  | 'part'
  | 'claimId'
  | 'leasedUntilMs'
  | 'failures'
  | 'failingSince'
  | 'evidence'
  | 'dueFrom'
  | 'limitedUntil'
>

export function openLane(claimed: ClaimedLane): Lane {
  return {
    ...claimed,
    buffer: [],
    inHand: new Set(),
    sending: 0,
    unsettled: 0,
    failedEntities: new Set(),
    drained: false,
    readMs: 0,
    changed: false,
    probeAt: undefined,
    heldUntil: undefined,
    limit: undefined,
    awaited: false,
    leaving: false,
    doubtful: false,
    lost: false,
    quietSince: undefined,
  }
}

export function isBreakerOpen(lane: Lane): boolean {
  return lane.evidence >= breakerThreshold
}

export function isLeased(lane: Lane): boolean {
  return !lane.lost && performance.now() < lane.leasedUntilMs
}

export function freeSlots(lane: Lane, clock: Clock): number {
  if (lane.probeAt || lane.heldUntil || lane.leaving || lane.doubtful || !isLeased(lane)) return 0
  const atOnce = isBreakerOpen(lane) ? 1 : attemptsAtOnce
  return Math.min(atOnce - lane.sending, unsettledAtMost - lane.unsettled, leftOfLimit(lane, clock))
}

/** Most lanes have no limit, and ask for no time. */
export function leftOfLimit(lane: Lane, clock: Clock): number {
  if (waitOfLimit(lane, clock) > 0) return 0
  return lane.limit ? lane.limit.left(clock.now()) : Number.POSITIVE_INFINITY
}

/** For how long none may be begun, in milliseconds: a second at most, whatever a clock said that has been set back since. */
export function waitOfLimit({ limitedUntil }: Lane, clock: Clock): number {
  if (limitedUntil === undefined) return 0
  const waitMs = limitedUntil.getTime() - clock.now().getTime()
  return waitMs > second ? 0 : Math.max(0, waitMs)
}

/** As its webhook says now. What was begun before counts on. */
export function setLimit(lane: Lane, perSecond: number | null): void {
  if (lane.limit?.perSecond === (perSecond ?? undefined)) return
  lane.limit = perSecond === null ? undefined : new SendLimit(perSecond, lane.limit)
  if (lane.limit === undefined) lane.limitedUntil = undefined
}

export function noteBegun(lane: Lane, clock: Clock): void {
  if (lane.limit) lane.limitedUntil = lane.limit.note(clock.now())
}

/** Whoever holds the lane next begins nothing before this. */
export function limitedBeyond({ limit, limitedUntil }: Lane, now: Date): Date | undefined {
  const clearAt = limit?.clearAt(now) ?? limitedUntil
  return clearAt && clearAt > now ? clearAt : undefined
}

export function noteSuccess(lane: Lane): void {
  lane.failures = 0
  lane.failingSince = undefined
  lane.evidence = 0
  lane.failedEntities.clear()
  lane.probeAt = undefined
}

/**
 * An open breaker hands back what is not sent yet and waits for its next probe. What was under way when it opened tells nothing
 * new: ten that fail together are one reason to wait, not five.
 */
export function noteFailure(lane: Lane, { entity, attempts }: DueDelivery, now: Date): void {
  if (lane.probeAt) return
  const wasOpen = isBreakerOpen(lane)
  lane.failures++
  lane.failingSince ??= now
  const isNew = attempts === 0 && !lane.failedEntities.has(entity)
  if (isNew || wasOpen) lane.evidence++
  if (isNew) lane.failedEntities.add(entity)
  if (!isBreakerOpen(lane)) return
  const wait = Math.min(longestProbeMs, firstProbeMs * 2 ** Math.min(10, lane.evidence - breakerThreshold))
  lane.probeAt = after(now, wait)
  handBack(lane)
}

/** The receiver says when it wants to be asked again: for all of its lane, not only for what it refused. */
export function holdUntil(lane: Lane, at: Date): void {
  if (lane.heldUntil === undefined || lane.heldUntil < at) lane.heldUntil = at
  handBack(lane)
}

/** When the lane may be served again at the earliest. */
export function notBefore(lane: Lane, now: Date): Date | undefined {
  const bounds = [lane.probeAt, lane.heldUntil, limitedBeyond(lane, now)].filter((bound) => bound !== undefined)
  return bounds.sort((one, other) => other.getTime() - one.getTime())[0]
}

/** Everything that was due at that moment is in hand: what comes later is due later, but for what is being written just now. */
export function noteDrained(lane: Lane, at: Date): void {
  const from = after(at, -slackMs)
  if (lane.dueFrom < from) lane.dueFrom = from
}

/**
 * Not what the lane no longer wants: its webhook changed, or its breaker opened, while the reading was under way. Nor more than may be begun now: what
 * happens meanwhile would wait behind what is sent again.
 */
export function takeInHand(lane: Lane, delivery: DueDelivery, clock: Clock): void {
  if (lane.inHand.has(delivery.id)) return
  const isWanted = !lane.changed && !lane.probeAt && !lane.heldUntil && !lane.leaving
  if (!isWanted) {
    leaveBehind(lane, delivery)
    return
  }
  if (lane.buffer.length >= leftOfLimit(lane, clock)) {
    hasMoreSince(lane, delivery.dueAt)
    return
  }
  lane.buffer.push(delivery)
  lane.inHand.add(delivery.id)
  lane.quietSince = undefined
}

/** What was read and not sent yet is somebody else's again. */
export function handBack(lane: Lane): void {
  for (const delivery of lane.buffer.splice(0)) {
    lane.inHand.delete(delivery.id)
    leaveBehind(lane, delivery)
  }
}

/** What was read may be stale: the next look reads it anew. */
export function lookAgainAt(lane: Lane): void {
  handBack(lane)
  lane.drained = false
}

/** What became due then was written down just now, however long that took: the next look must find it. */
export function hasMoreSince(lane: Lane, dueAt: Date): void {
  lane.drained = false
  leaveBehind(lane, { dueAt })
}

/** Whoever looks next must find it. */
export function leaveBehind(lane: Lane, { dueAt }: Pick<DueDelivery, 'dueAt'>): void {
  if (dueAt < lane.dueFrom) lane.dueFrom = dueAt
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
