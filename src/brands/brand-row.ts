/** A brand as a site keeps it: what was typed and uploaded, and the brand that pages and mail make of it. */

import { mailbox } from '../settings/kinds.ts'
import type { Brand, ByMode, Colours, StoredPicture } from '../vocabulary/brand.ts'
import type { Environment } from '../vocabulary/environment.ts'

/** A draft is written, one is in force, and earlier ones were. */
type BrandState = 'draft' | 'active' | 'earlier'

/** Named as the fields of the form are. What may be absent is null. */
export interface BrandWords {
  readonly shortName: string
  readonly legalName: string
  readonly accentLight: string
  readonly accentDark: string
  readonly backgroundLight: string
  readonly backgroundDark: string
  readonly helpUrl: string | null
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
  /** An e-mail address, or a page. */
  readonly securityContact: string | null
  readonly phone: string | null
  /** `Name <address>`, or an address alone. */
  readonly mailSender: string | null
  readonly mailReplyTo: string | null
  readonly mailFooter: string | null
}

export type ImagePlace = 'logoLight' | 'logoDark' | 'favicon'
export const imagePlaces: readonly ImagePlace[] = ['logoLight', 'logoDark', 'favicon']

export interface BrandRow extends BrandWords, Readonly<Record<ImagePlace, StoredPicture | null>> {
  readonly id: number
  readonly environment: Environment
  readonly state: BrandState
  readonly version: number
  readonly changedAt: Date
  readonly activatedAt: Date | null
}

export function coloursOf(words: BrandWords): Colours {
  return {
    accent: { light: words.accentLight, dark: words.accentDark },
    background: { light: words.backgroundLight, dark: words.backgroundDark },
  }
}

export function brandOf(row: BrandRow): Brand {
  return {
    name: row.shortName,
    legalName: row.legalName,
    logo: logosOf(row),
    favicon: row.favicon ?? undefined,
    colours: coloursOf(row),
    links: linksOf(row),
    mail: {
      sender: senderOf(row),
      replyTo: row.mailReplyTo ?? undefined,
      footer: row.mailFooter ?? undefined,
    },
  }
}

/** One for both where there is one. */
export function logosOf({
  logoLight,
  logoDark,
}: Pick<BrandRow, 'logoLight' | 'logoDark'>): ByMode<StoredPicture | undefined> {
  return { light: logoLight ?? logoDark ?? undefined, dark: logoDark ?? logoLight ?? undefined }
}

function linksOf({ helpUrl, privacyUrl, termsUrl, securityContact, phone }: BrandRow): Brand['links'] {
  const contact = securityContact?.includes('@') ? `mailto:${securityContact}` : securityContact
  const all = [
    ['Help', helpUrl],
    ['Privacy', privacyUrl],
    ['Terms', termsUrl],
    ['Report a security problem', contact],
    [phone ?? '', phone && `tel:${phone.replaceAll(/[^\d+]/g, '')}`],
  ] as const
  return all.flatMap(([label, url]) => (url ? [{ label, url }] : []))
}

function senderOf({ mailSender, shortName }: BrandRow): Brand['mail']['sender'] {
  const parsed = mailSender === null ? undefined : mailbox(mailSender)
  if (!parsed || !('address' in parsed)) return undefined
  return { address: parsed.address, name: parsed.name === '' ? shortName : parsed.name }
}
