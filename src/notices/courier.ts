/** What carries messages away: SMTP, or a folder. */
import type { Message } from './message.ts'

export type SendResult =
  | { readonly kind: 'sent' }
  /** This message will never be taken. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Not now: the same message may be taken later. */
  | { readonly kind: 'later'; readonly why: string }
  /** Not now, nor any other. */
  | { readonly kind: 'away'; readonly why: string }

export interface Courier {
  send(message: Message): Promise<SendResult>
  /** What is under way is given up. */
  close(): void
}
