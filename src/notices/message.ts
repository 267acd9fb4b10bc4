/**
 * A notice as a message: text, and the same as HTML. Whatever came from outside is one line of printable
 * characters before it gets here.
 */
import type { SendMailOptions } from 'nodemailer/lib/mailer'
import { sha256 } from '../crypto/hash.ts'
import type { Mailbox } from '../settings/kinds.ts'
import { unprintable } from '../text/printable.ts'
import { type Brand, houseBrand, type ImageType } from '../vocabulary/brand.ts'
import { type Letter, printLetterPage } from './letter.ts'

export interface NoticeWords {
  readonly subject: string
  readonly text: string
  /** The same words for readers who prefer them laid out. */
  readonly letter?: Letter
  /** Goes with it, and is shown by it. */
  readonly logo?: { readonly type: ImageType; readonly bytes: Buffer } | undefined
}

export interface Message extends NoticeWords {
  readonly id: number
  readonly key: string
  readonly to: string
  readonly at: Date
}

/**
 * A recipient who gets it twice, because a node died between sending and writing it down, gets the same
 * message id twice.
 */
export function composeMessage(usual: Mailbox, message: Message): SendMailOptions {
  const { id, key, to, at, subject, text, letter, logo } = message
  const { brand = houseBrand } = letter ?? {}
  const from = senderOf(usual, brand)
  const [, domain] = from.address.split('@')
  return {
    from,
    ...(brand.mail.replyTo !== undefined && { replyTo: { name: '', address: brand.mail.replyTo } }),
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    ...(letter && { html: printLetterPage(letter, subject, logo && `cid:logo@${domain}`) }),
    ...(letter && logo && { attachments: [attach(logo, `logo@${domain}`)] }),
    date: at,
    messageId: `<notice-${id}-${sha256(key).toString('hex').slice(0, 16)}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** Shown inside, and named as nothing that could be opened. */
function attach({ type, bytes }: NonNullable<NoticeWords['logo']>, cid: string) {
  return {
    cid,
    filename: 'logo.png',
    content: bytes,
    contentType: type,
    contentDisposition: 'inline' as const,
  }
}

/** A brand that is in force names the sender, also at the usual address. */
function senderOf(usual: Mailbox, brand: Brand): Mailbox {
  if (brand === houseBrand) return { name: usual.name, address: usual.address }
  return brand.mail.sender ?? { name: brand.name, address: usual.address }
}

/** Names are others' words: on one line, without what could end it, and not too many of them. */
export function oneLine(text: string, most = 100): string {
  const line = text.replace(new RegExp(unprintable, 'gu'), ' ').replace(/\s+/g, ' ').trim()
  return [...line].length > most ? `${[...line].slice(0, most - 1).join('')}…` : line
}
