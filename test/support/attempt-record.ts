/** An attempt as a worker tells of it. */
import type { AttemptRecord } from '../../src/webhooks/engine/attempt-record.ts'

interface AttemptDraft {
  readonly webhookId: number
  readonly at: Date
  readonly kind?: AttemptRecord['outcome']['kind']
  readonly ms?: number
  /** How long before the attempt the event was published. */
  readonly publishedMsBefore?: number
  readonly isRepeat?: boolean
  /** Whether it was written down. */
  readonly isKept?: boolean
}

export function attemptOf(draft: AttemptDraft): AttemptRecord {
  const {
    webhookId,
    at,
    kind = 'accepted',
    ms = 40,
    publishedMsBefore = 5,
    isRepeat = false,
    isKept = true,
  } = draft
  const event = {
    ...{
      seq: 1,
      day: 260302,
      uid: '',
      kind: 'TRANSACTION',
      action: 'SUBMITTED',
      entity: 'transaction:1',
      simulated: false,
    },
    ...{
      webhookId: null,
      createdAt: new Date(at.getTime() - publishedMsBefore),
      traceparent: null,
      body: '',
    },
  }
  return {
    delivery: { id: `${webhookId}-1`, webhookId, branchId: 1, attempt: 1, isRepeat, dueAt: at, event },
    outcome: outcomeOf(kind),
    ...{
      at,
      startedMs: 0,
      timing: { totalMs: ms } as AttemptRecord['timing'],
      answeredAt: new Date(at.getTime() + ms),
    },
    ...{ verdict: { state: 'delivered', dueAt: undefined }, isKept },
  }
}

function outcomeOf(kind: AttemptRecord['outcome']['kind']): AttemptRecord['outcome'] {
  if (kind === 'unreachable') return { kind, why: 'timeout' }
  return { kind, status: kind === 'accepted' ? 200 : 500, response: '' } as AttemptRecord['outcome']
}
