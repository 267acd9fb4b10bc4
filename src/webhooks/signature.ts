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
  const keys = secrets.all.flatMap(standardKeysOf)
  return {
    'x-webhook-signature': signText(secrets.current, body, 'hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${signText(key, base, 'base64')}`).join(' '),
  }
}

const standardPrefix = 'whsec_'

/**
 * A secret is the UTF-8 of its text. Libraries of Standard Webhooks read what follows `whsec_` as base64: such a secret signs by both
 * keys, and whoever verifies needs to know of one.
 */
export function standardKeysOf(secret: string): (string | Buffer)[] {
  const decoded = decodeStandardKey(secret)
  return decoded ? [secret, decoded] : [secret]
}

export function decodeStandardKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(standardPrefix)) return undefined
  const text = secret.slice(standardPrefix.length)
  return /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}
