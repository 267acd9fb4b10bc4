/**
 * Spec 6: `x-webhook-signature` is the lower-case hex HMAC-SHA256 of the exact bytes sent. Beside it stand the headers of
 * Standard Webhooks, signed with every live secret, for receivers that want replay protection and rotation.
 */
import { signText } from '../crypto/hash.ts'

export interface SigningSecrets {
  /** Signs `x-webhook-signature`. */
  readonly current: string
  /** Every live one, the current first. */
  readonly all: readonly string[]
}

export interface SignedMessage {
  readonly id: string
  readonly body: string
  readonly sentAt: Date
}

export function printSignatures({ id, body, sentAt }: SignedMessage, secrets: SigningSecrets): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000))
  const base = `${id}.${timestamp}.${body}`
  return {
    'x-webhook-signature': signText(secrets.current, body, 'hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.all.map((secret) => `v1,${signText(secret, base, 'base64')}`).join(' '),
  }
}
