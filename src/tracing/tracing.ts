/**
 * What a collector of traces is told of. These names load nothing: OpenTelemetry is loaded only where an
 * address for it is set.
 */
import type { RequestSpan } from '../http/spans.ts'
import type { AttemptRecord } from '../webhooks/engine/attempt-record.ts'

export interface Tracing {
  /** Under the caller's span when `traceparent` names one. */
  openRequest(environment: string, name: string, traceparent: string | undefined): RequestSpan
  attempt(attempt: AttemptRecord): void
  /** Sends what is left, as long as that does not take too long. */
  close(): Promise<void>
}
