/** A notice as a message. Plain text; whatever came from outside is one line of printable characters before it gets here. */
import type { SendMailOptions } from 'nodemailer/lib/mailer'
import { sha256 } from '../crypto/hash.ts'
import { unprintable } from '../printable.ts'
import type { Mailbox } from '../settings/kinds.ts'

export interface NoticeWords {
  readonly subject: string
  readonly text: string
}

export interface Message extends NoticeWords {
  readonly id: number
  readonly key: string
  readonly to: string
  readonly at: Date
}

/** Who gets it twice, because a node died between sending and writing it down, gets the same message id twice. */
export function composeMessage(from: Mailbox, { id, key, to, at, subject, text }: Message): SendMailOptions {
  const domain = from.address.split('@')[1]!
  return {
    from: { name: from.name, address: from.address },
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    date: at,
    messageId: `<notice-${id}-${sha256(key).toString('hex').slice(0, 16)}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** Names are others' words: on one line, without what could end it, and not too many of them. */
export function oneLine(text: string, most = 100): string {
  const line = text.replace(new RegExp(unprintable, 'gu'), ' ').replace(/\s+/g, ' ').trim()
  return [...line].length > most ? `${[...line].slice(0, most - 1).join('')}…` : line
}
