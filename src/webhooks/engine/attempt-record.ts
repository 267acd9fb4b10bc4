/**
 * One attempt with all that is known of it: what the log, the metrics and the traces are told when it has
 * been settled.
 */
import type { Logger } from 'pino'
import type { LogEntry } from '../events/entry.ts'
import { printEventId } from '../events/event.ts'
import type { Outcome, Timing } from '../outbound/attempt.ts'
import type { Verdict } from './lane.ts'

export interface AttemptRecord {
  readonly delivery: {
    readonly id: string
    readonly webhookId: number
    readonly branchId: number
    /** Counted from 1. */
    readonly attempt: number
    /** Whether it was asked for again. */
    readonly isRepeat: boolean
    readonly dueAt: Date
    readonly event: LogEntry
  }
  readonly outcome: Outcome
  readonly at: Date
  /** The same moment by `performance.now()`. */
  readonly startedMs: number
  readonly timing: Timing
  readonly answeredAt: Date
  readonly verdict: Verdict
  /** False where the delivery had ended meanwhile, or the lane was lost: nothing of it is written down. */
  readonly isKept: boolean
}

/** A wide line. A receiver's 500 is an outcome like any other, not an error of ours. */
export function logAttempt(lines: Logger, attempt: AttemptRecord): void {
  const { delivery, outcome, timing, verdict, isKept } = attempt
  lines.info(
    {
      delivery: delivery.id,
      event: printEventId(delivery.event.uid),
      webhook: delivery.webhookId,
      branch: delivery.branchId,
      attempt: delivery.attempt,
      outcome: outcome.kind,
      ...(outcome.kind === 'unreachable' ? { why: outcome.why } : { status: outcome.status }),
      ...describeTimes(attempt),
      ms: Math.round(timing.totalMs),
      state: nameState(attempt),
      next_attempt_at: isKept ? verdict.dueAt : undefined,
    },
    'attempt',
  )
}

/** What has become of the delivery, in the words of its states. */
export function nameState({ isKept, verdict }: Pick<AttemptRecord, 'isKept' | 'verdict'>): string {
  if (!isKept) return 'not kept'
  return verdict.state === 'retrying' ? 'waiting' : verdict.state
}

/** How long it was due, until there was a connection, and until the receiver began to answer. */
function describeTimes({ delivery, at, timing }: AttemptRecord) {
  return {
    waited_ms: at.getTime() - delivery.dueAt.getTime(),
    connect_ms: rounded(timing.connectMs),
    answer_ms: rounded(timing.answerMs),
  }
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
