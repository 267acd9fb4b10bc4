/** What a failing receiver answered last, and why, in the same words wherever it is told. */
import { cut } from '../../text/cut.ts'
import type { Attempt } from '../../webhooks/deliveries/delivery.ts'
import { type Condition, isFailing, isUnsettled } from '../../webhooks/health/condition.ts'
import type { FailedAttempt, WebhookFailure } from '../../webhooks/health/failure.ts'
import { findCause } from '../../webhooks/health/likely-cause.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { printMoment } from '../frame/parts.ts'

/** Of an attempt that got no answer. */
const errorWords = new Map([
  ['timeout', 'Timed out'],
  ['dns', 'DNS error'],
  ['tls', 'TLS error'],
  ['connection', 'Connection failed'],
  ['protocol', 'Not HTTP'],
  ['forbidden-address', 'Address not allowed'],
  ['no-secret', 'No secret to sign with'],
])

/** `HTTP 503`, or `TLS error (CERT_HAS_EXPIRED)`. */
export function nameAnswer({
  status,
  why,
  detail,
}: Pick<FailedAttempt, 'status' | 'why' | 'detail'>): string {
  if (status !== null) return `HTTP ${status}`
  const word = errorWords.get(why ?? '') ?? why ?? 'No answer'
  return detail === null ? word : `${word} (${detail.split(':')[0]})`
}

const excerptLength = 120

/** Its beginning, on one line. */
function printExcerpt(response: string | null): Html | undefined {
  const line = response?.replaceAll(/\s+/g, ' ').trim() ?? ''
  if (line === '') return undefined
  return html`<q class="excerpt">${cut(line, excerptLength)}${line.length > excerptLength && '…'}</q>`
}

/** In a list: what it answered last and when, and the likely cause, which leads to the rest. */
export function printWhy(condition: Condition, failure: WebhookFailure | undefined, incident: string): Html {
  if (!isFailing(condition) && !(failure && isUnsettled(condition))) return html`–`
  return printReason(failure?.last, incident)
}

export function printReason(last: FailedAttempt | undefined, incident: string): Html {
  if (!last) return html`<a href="${incident}">Why it fails</a>`
  return html`<strong>${nameAnswer(last)}</strong>
    <span class="faint">${printMoment(last.at)}</span> ${printExcerpt(last.response)}
<br><a href="${incident}">Why: ${findCause(last).title}</a>`
}

/**
 * On a home, or the webhook's own page: the likely cause first, then what was answered; a click leads to the
 * rest.
 */
export function printTrouble(what: Content, failure: WebhookFailure | undefined, incident: string): Html {
  const last = failure?.last
  return html`<section class="card trouble"><h2>${what}</h2>
${
  last
    ? html`<p><strong>${findCause(last).title}</strong></p>
<p>Last answer: ${nameAnswer(last)}, ${printMoment(last.at)}. ${printExcerpt(last.response)}</p>`
    : html`<p>No failure details yet.</p>`
}
<p><a class="button" href="${incident}">Why, and how to fix it</a></p></section>`
}

/** A whole answer, with what was seen beside it. */
export function printAnswer(
  attempt: FailedAttempt | (Omit<FailedAttempt, 'outcome'> & Pick<Attempt, 'outcome'>),
): Html {
  const { status, detail, response, at, durationMs, number } = attempt
  const seen = status === null ? undefined : (detail ?? undefined)
  return html`<p><strong>${nameAnswer(attempt)}</strong>
    <span class="faint">attempt ${number}, ${printMoment(at)}, after ${durationMs.toLocaleString('en')}
    ms</span></p>
${seen && html`<pre tabindex="0" aria-label="Headers of the answer">${seen}</pre>`}
${status === null && detail !== null && html`<pre tabindex="0" aria-label="The error">${detail}</pre>`}
${
  response !== null &&
  response !== '' &&
  html`<pre tabindex="0"
  aria-label="The beginning of the answer">${response}</pre>`
}`
}
