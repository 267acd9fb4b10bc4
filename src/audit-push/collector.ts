/** Where the audit log is pushed to, and what becomes of a push. */
import type { StreamedBlock } from '../audit/stream-line.ts'
import { second } from '../clock.ts'
import type { AuditPushConfig } from '../settings/config.ts'
import { codeOf, messageOf } from '../text/thrown.ts'

/** Of one push, however the collector spends it; shorter than the lease of whoever pushes. */
export const pushTimeoutMs = 30 * second

export interface Collector {
  /** Undefined when it was heard, otherwise why not: in words that repeat nothing the collector said. */
  push(blocks: readonly StreamedBlock[], signal: AbortSignal): Promise<string | undefined>
  close(): Promise<void>
}

/** What both take of TLS. */
export function tlsOf({ certificateAuthority: ca, cert, key }: AuditPushConfig) {
  return {
    minVersion: 'TLSv1.2' as const,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  }
}

export function failureOf(error: unknown): string {
  const { name } = error instanceof Error ? error : { name: '' }
  if (name === 'TimeoutError') return `no answer within ${pushTimeoutMs / 1_000} seconds`
  return codeOf(error) ?? messageOf(error)
}
