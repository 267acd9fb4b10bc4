/**
 * What whoever collects traces is told of. These names load nothing: OpenTelemetry is loaded only where an
 * address for it is set.
 */
import type { RequestSpan } from '../http/spans.ts'
import type { AttemptMade } from '../webhooks/engine/attempt-made.ts'

export interface Tracing {
  /** Under the caller's span when `traceparent` names one. */
  openRequest(environment: string, name: string, traceparent: string | undefined): RequestSpan
  attempt(attempt: AttemptMade): void
  /** Sends what is left, as long as that does not take too long. */
  close(): Promise<void>
}
