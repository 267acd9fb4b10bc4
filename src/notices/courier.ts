/** Takes messages away: to a mail server where one is named, into a folder where none is. */
import type { MailConfig } from '../config.ts'
import type { Message } from './message.ts'
import { openOutbox } from './outbox.ts'
import { openSmtp } from './smtp.ts'

export type Taken =
  | { readonly kind: 'sent' }
  /** This message will never be taken. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Not now: the same message may be taken later. */
  | { readonly kind: 'later'; readonly why: string }
  /** Not now, nor any other. */
  | { readonly kind: 'away'; readonly why: string }

export interface Courier {
  send(message: Message): Promise<Taken>
  /** What is under way is given up. */
  close(): void
}

export function openCourier(mail: MailConfig): Courier {
  return mail.server ? openSmtp(mail.server, mail.from) : openOutbox(mail.outbox, mail.from)
}
