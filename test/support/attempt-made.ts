/** An attempt as a worker tells of it. */
import type { AttemptMade } from '../../src/webhooks/attempt-made.ts'

interface Told {
  readonly webhookId: number
  readonly at: Date
  readonly kind?: AttemptMade['outcome']['kind']
  readonly ms?: number
  /** How long before the attempt the event was published. */
  readonly publishedMsBefore?: number
  readonly repeats?: number | null
  /** Whether it was written down. */
  readonly accepted?: boolean
}

export function attemptOf(told: Told): AttemptMade {
  const { webhookId, at, kind = 'accepted', ms = 40, publishedMsBefore = 5, repeats = null, accepted = true } = told
  const publishedAt = new Date(at.getTime() - publishedMsBefore)
  const event = { id: 1, uid: '', publishedAt, traceparent: null, simulated: false, body: '' }
  return {
    delivery: {
      ...{ id: 1, webhookId: webhookId, eventId: 1, entity: 'transaction:1', branchId: 1, dueAt: at, attempts: 0 },
      ...{ repeats, url: '', event },
    },
    outcome: outcomeOf(kind),
    ...{ at, startedMs: 0, timing: { totalMs: ms } as AttemptMade['timing'], answeredAt: new Date(at.getTime() + ms) },
    settled: { accepted, releasedAt: undefined, verdict: { state: 'delivered', dueAt: undefined } },
  }
}

function outcomeOf(kind: AttemptMade['outcome']['kind']): AttemptMade['outcome'] {
  if (kind === 'unreachable') return { kind, why: 'timeout' }
  return { kind, status: kind === 'accepted' ? 200 : 500, response: '' } as AttemptMade['outcome']
}
