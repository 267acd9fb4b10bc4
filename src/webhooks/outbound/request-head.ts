/** The head of a delivery's request, as it is sent and as the portal explains it. */
import type { SignedMessage } from './signature.ts'

const userAgent = 'Countersign-Webhooks/1'

interface SentMessage extends SignedMessage {
  /** Counted from 1. */
  readonly attempt: number
  /** Of a test hook: nothing happened. */
  readonly simulated: boolean
}

/** What the partner chose comes first: nothing of ours can be replaced by it. */
export function printHead(
  message: SentMessage,
  signatures: Record<string, string>,
  chosen: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    ...chosen,
    'content-type': 'application/json',
    'user-agent': userAgent,
    'x-webhook-attempt': String(message.attempt),
    ...(message.simulated && { 'x-webhook-test': 'true' }),
    ...signatures,
  }
}

/** Said by the gateway, and never by the partner (webhook-headers.ts refuses these names). */
export function isOwnHeader(name: string): boolean {
  return name === 'content-type' || name === 'user-agent' || /^(x-)?webhook-/.test(name)
}
