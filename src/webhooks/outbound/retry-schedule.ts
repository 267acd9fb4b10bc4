/**
 * When a delivery that failed is tried again (exponential backoff with jitter). 11 attempts in about 70
 * hours; then it is exhausted (a dead letter), and still replayable.
 */
import { after, hour, minute, second } from '../../clock.ts'

export const retryWaitsMs = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  hour,
  3 * hour,
  6 * hour,
  12 * hour,
  24 * hour,
  24 * hour,
] as const

const jitter = 0.1

/** For people: the waits, and what they come to. */
export const retryWords = {
  waits: retryWaitsMs.map(printWait).join(', '),
  jitter: `±${jitter * 100} %`,
  all: `${retryWaitsMs.length + 1} attempts in about ${Math.round(retryWaitsMs.reduce<number>((sum, wait) => sum + wait, 0) / hour)} hours`,
}

function printWait(ms: number): string {
  if (ms < minute) return `${ms / second} s`
  return ms < hour ? `${ms / minute} min` : `${ms / hour} h`
}
const longestRetryAfterMs = 24 * hour

/** Undefined when the schedule is used up. `tries` counts the attempts made so far, this one included. */
export function nextAttemptAt(
  tries: number,
  now: Date,
  retryAfterMs = 0,
  random: () => number = Math.random,
): Date | undefined {
  const wait = retryWaitsMs[tries - 1]
  if (wait === undefined) return undefined
  const spread = wait * (1 + jitter * (2 * random() - 1))
  return after(now, Math.max(spread, Math.min(retryAfterMs, longestRetryAfterMs)))
}

/** A receiver that is overloaded and says for how long is left alone as a whole. */
export function askedToWaitUntil(
  answer: { status: number; retryAfter: string | undefined },
  now: Date,
): Date | undefined {
  if (answer.status !== 429 && answer.status !== 503) return undefined
  const waitMs = Math.min(parseRetryAfter(answer.retryAfter, now), longestRetryAfterMs)
  return waitMs > 0 ? after(now, waitMs) : undefined
}

/** RFC 9110: seconds, or a date. */
export function parseRetryAfter(text: string | undefined, now: Date): number {
  if (text === undefined) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * second
  const date = Date.parse(text)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime())
}
