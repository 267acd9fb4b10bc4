/**
 * Spec 6: `x-webhook-signature` is the lower-case hex HMAC-SHA256 of the exact bytes sent. Beside it stand
 * the headers of Standard Webhooks, signed with every live secret, for receivers that want replay protection
 * and rotation.
 */
import { signText } from '../../crypto/hash.ts'

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

export function printSignatures(message: SignedMessage, secrets: SigningSecrets): Record<string, string> {
  const { id, body } = message
  const timestamp = printTimestamp(message)
  const base = `${id}.${timestamp}.${body}`
  const keys = secrets.all.flatMap(standardKeysOf)
  return {
    'x-webhook-signature': signText(secrets.current, body, 'hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${signText(key, base, 'base64')}`).join(' '),
  }
}

interface CachedSignatures {
  readonly secrets: SigningSecrets
  readonly signatures: Record<string, string>
}

/**
 * An event goes to all webhooks of its branch in one moment, and those that one client registered are signed
 * by the same secrets: within a second its signatures are the same, and are computed once.
 */
export class SignaturesOfEvents {
  readonly #last = new WeakMap<object, CachedSignatures>()

  /** Of a message that carries this event. */
  print(event: object, message: SignedMessage, secrets: SigningSecrets): Record<string, string> {
    const last = this.#last.get(event)
    if (last?.signatures['webhook-timestamp'] === printTimestamp(message) && areSame(last.secrets, secrets))
      return last.signatures
    const signatures = printSignatures(message, secrets)
    this.#last.set(event, { secrets, signatures })
    return signatures
  }
}

function areSame(left: SigningSecrets, right: SigningSecrets): boolean {
  // The current one is the first of all.
  return (
    left.all.length === right.all.length && left.all.every((secret, index) => secret === right.all[index])
  )
}

function printTimestamp({ sentAt }: SignedMessage): string {
  return String(Math.floor(sentAt.getTime() / 1000))
}

const standardPrefix = 'whsec_'

/**
 * A secret is the UTF-8 of its text. Libraries of Standard Webhooks read what follows `whsec_` as base64:
 * such a secret signs by both keys, and a receiver needs to know only one of them.
 */
function standardKeysOf(secret: string): (string | Buffer)[] {
  const decoded = decodeStandardKey(secret)
  return decoded ? [secret, decoded] : [secret]
}

export function decodeStandardKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(standardPrefix)) return undefined
  const text = secret.slice(standardPrefix.length)
  return /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}
