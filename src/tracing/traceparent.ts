/**
 * The header of W3C Trace Context: which span of which trace asks. Whatever does not look exactly like one
 * counts as none.
 */
import type { SpanContext } from '@opentelemetry/api'

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?$/
const nothing = /^0+$/

export function parseTraceparent(text: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags = '', more] = shape.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || nothing.test(traceId) || nothing.test(spanId))
    return undefined
  // Later versions may say more behind these fields; the first one may not, and ff is none.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

export function printTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
