/** What a notice says, before it is laid out as a message. */

import type { Vault } from '../crypto/vault.ts'
import type { Brand } from '../vocabulary/brand.ts'
import type { Environment, SiteAddresses } from '../vocabulary/environment.ts'
import type { NoticeFacts, NoticeKind } from './facts.ts'

export interface NoticeText {
  readonly subject: string
  readonly happened: string
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly advice: string
  /** Why it comes here, or what it stands for. */
  readonly notes?: readonly string[]
  /** The reader may have no account: nothing is said of one. */
  readonly isForStranger?: true
  /** The site that it is about. */
  readonly environment: Environment
}

export type NoticeWriter<Kind extends NoticeKind> = (
  facts: NoticeFacts[Kind],
  at: Date,
  addresses: SiteAddresses,
  vault: Vault,
  brands: Brands,
) => NoticeText

/** The sender's brand, on each site. */
export type Brands = Readonly<Record<Environment, Brand>>

/** `2 March 2026, 10:00 UTC` */
export function printMoment(date: Date): string {
  const words = date.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  return `${words}, ${date.toISOString().slice(11, 16)} UTC`
}
