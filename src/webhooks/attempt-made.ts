/** One attempt with all that is known of it: what the log, the metrics and the traces are told when it has been settled. */
import type { Logger } from 'pino'
import type { Outcome, Timing } from './attempt.ts'
import { printEventId } from './event.ts'
import type { DueDelivery } from './lane.ts'
import type { Settled } from './settlement.ts'

export interface AttemptMade {
  readonly delivery: DueDelivery
  readonly outcome: Outcome
  readonly at: Date
  /** The same moment by `performance.now()`. */
  readonly startedMs: number
  readonly timing: Timing
  readonly answeredAt: Date
  readonly settled: Settled
}

/** A wide line. A receiver's 500 is an outcome like any other, not an error of ours. */
export function logAttempt(lines: Logger, attempt: AttemptMade): void {
  const { delivery, outcome, timing, settled } = attempt
  lines.info(
    {
      delivery: delivery.id,
      event: printEventId(delivery.event.uid),
      webhook: delivery.webhookId,
      branch: delivery.branchId,
      attempt: delivery.attempts + 1,
      outcome: outcome.kind,
      ...(outcome.kind === 'unreachable' ? { why: outcome.why } : { status: outcome.status }),
      ...describeTimes(attempt),
      ms: Math.round(timing.totalMs),
      state: settled.accepted ? settled.verdict.state : 'lease lost',
      next_attempt_at: settled.accepted ? settled.verdict.dueAt : undefined,
    },
    'attempt',
  )
}

/** How long it was due, until there was a connection, and until the receiver began to answer. */
function describeTimes({ delivery, at, timing }: AttemptMade) {
  return {
    waited_ms: at.getTime() - delivery.dueAt.getTime(),
    connect_ms: rounded(timing.connectMs),
    answer_ms: rounded(timing.answerMs),
  }
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
