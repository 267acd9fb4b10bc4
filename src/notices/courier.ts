/** Takes messages away: to a mail server where one is named, into a folder where none is. */
import type { MailConfig } from '../config.ts'
import type { Message } from './message.ts'

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

/** What writes messages is loaded with the first of them. */
export function openCourier(mail: MailConfig): Courier {
  let opening: Promise<Courier> | undefined
  let closed = false
  return {
    async send(message) {
      if (closed) return { kind: 'away', why: 'The gateway closes.' }
      opening ??= open(mail)
      return (await opening).send(message)
    },
    close() {
      closed = true
      void opening?.then((courier) => courier.close())
    },
  }
}

async function open({ server, from, outbox }: MailConfig): Promise<Courier> {
  if (server) return (await import('./smtp.ts')).openSmtp(server, from)
  return (await import('./outbox.ts')).openOutbox(outbox, from)
}
