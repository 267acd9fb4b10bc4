/**
 * Why a webhook fails: the first failure since its last success, and the last one, as the receiver answered. They are noted with the settlement of what
 * failed, so that a list of webhooks can say it without looking for it.
 */
import type { Sql, Step } from '../database/database.ts'
import type { Outcome } from './attempt.ts'
import { noteFailures, selectFailures } from './failures.sql.ts'
import type { DueDelivery, Lane } from './lane.ts'
import type { Webhook } from './webhook.ts'

interface MadeAttempt {
  readonly lane: Lane
  readonly delivery: DueDelivery
  readonly outcome: Outcome
  readonly at: Date
}

/** A step of the settlement where something failed; none where nothing did. A lane that succeeded since does not fail. */
export function notingFailures(made: readonly MadeAttempt[], day: number): Step[] {
  const failed = made.filter(({ lane, outcome }) => outcome.kind !== 'accepted' && lane.failingSince !== undefined)
  const lanes = [...Map.groupBy(failed, ({ lane }) => lane)].map(([lane, attempts]) => {
    const inOrder = attempts.sort((one, other) => one.at.getTime() - other.at.getTime())
    return { lane, first: inOrder[0]!.delivery, last: inOrder.at(-1)!.delivery }
  })
  if (lanes.length === 0) return []
  // In the order in which everybody locks: of the parts' locks one settlement may hold several.
  lanes.sort((one, other) => one.lane.webhookId - other.lane.webhookId)
  const values = [
    lanes.map(({ lane }) => lane.webhookId),
    lanes.map(({ lane }) => lane.claimId),
    lanes.map(({ lane }) => lane.failingSince),
    lanes.map(({ first }) => first.id),
    lanes.map(({ first }) => first.attempts + 1),
    lanes.map(({ last }) => last.id),
    lanes.map(({ last }) => last.attempts + 1),
    day,
  ]
  return [[noteFailures, values]]
}

/** An attempt that failed, with an excerpt of what came back. */
export interface FailedAttempt {
  readonly deliveryId: number
  readonly number: number
  readonly at: Date
  readonly durationMs: number
  readonly outcome: 'refused' | 'unreachable'
  readonly status: number | null
  readonly why: string | null
  readonly detail: string | null
  readonly response: string | null
}

export interface WebhookFailure {
  readonly webhookId: number
  readonly since: Date
  /** Undefined when it has left with its day. */
  readonly first: FailedAttempt | undefined
  readonly last: FailedAttempt | undefined
}

export type ReadAttempt = Omit<FailedAttempt, 'at'> & { readonly atMs: number }

interface Row extends Pick<WebhookFailure, 'webhookId' | 'since'> {
  readonly first: ReadAttempt | null
  readonly last: ReadAttempt | null
}

/** Of those that ever failed, whether or not they have succeeded since. */
export async function readFailures(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id'>[],
): Promise<ReadonlyMap<number, WebhookFailure>> {
  if (webhooks.length === 0) return new Map()
  const rows = await sql.query<Row>(selectFailures, [webhooks.map((webhook) => webhook.id)])
  return new Map(rows.map((row) => [row.webhookId, { ...row, first: attemptOf(row.first), last: attemptOf(row.last) }]))
}

/** As the database tells it, with its moment as a number. */
export function attemptOf(read: ReadAttempt | null): FailedAttempt | undefined {
  if (!read) return undefined
  const { atMs, ...rest } = read
  return { ...rest, at: new Date(atMs) }
}
