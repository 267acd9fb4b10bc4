/** What became of a delivery last, and when it is sent next, on one line: `500 · 12 ms · next in 8 min`. */
import { minute } from '../../clock.ts'
import type { Attempt } from '../../webhooks/deliveries/delivery.ts'
import type { NextAttempt } from '../../webhooks/deliveries/next-attempt.ts'
import { printUntil } from '../frame/ago.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { nameAnswer } from './failure-words.ts'

/** `in 8 min`, `now`, or what it waits for. */
export function describeNext(next: NextAttempt, now: Date): Content {
  if (next.kind === 'at')
    return next.at.getTime() - now.getTime() < minute ? 'in under a minute' : printUntil(next.at, now)
  if (next.kind === 'now') return 'now'
  if (next.kind === 'held') return `when ${next.until}`
  return 'in turn, one retry a minute'
}

/** The answer as a program reads it: its status, or what went wrong. */
export function printAnswered(attempt: Pick<Attempt, 'status' | 'why' | 'detail' | 'durationMs'>): string {
  const answer = attempt.status === null ? nameAnswer(attempt) : String(attempt.status)
  return `${answer} · ${attempt.durationMs.toLocaleString('en')} ms`
}

interface Course {
  readonly last: Attempt | undefined
  readonly next: NextAttempt | undefined
  /** Why it was skipped. */
  readonly reason: string | null
}

export function printCourse({ last, next, reason }: Course, now: Date): Html {
  const parts: Content[] = [
    ...(last ? [printAnswered(last)] : []),
    ...(next ? [html`next ${describeNext(next, now)}`] : []),
    ...(reason === null ? [] : [reason]),
  ]
  if (parts.length === 0) return html`–`
  return html`${parts.map((part, at) => (at === 0 ? html`${part}` : html` · ${part}`))}`
}
