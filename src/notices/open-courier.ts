/** Takes messages away: to a mail server where one is named, into a folder where none is. */
import type { MailConfig } from '../settings/config.ts'
import type { Courier } from './courier.ts'

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
      // One that never opened has told whoever sends.
      opening?.then(
        (courier) => courier.close(),
        () => {},
      )
    },
  }
}

async function open({ server, from, outbox }: MailConfig): Promise<Courier> {
  if (server) return (await import('./smtp.ts')).openSmtp(server, from)
  return (await import('./outbox.ts')).openOutbox(outbox, from)
}
