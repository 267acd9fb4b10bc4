/** The profile of a client, as operators and members read it. */
import { type ClientProfile, profileOf } from '../../oauth/profile.ts'
import type { Client } from '../../partners/client.ts'
import type { Readiness } from '../../partners/client-profile.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import { badge } from '../frame/parts.ts'

const words: Readonly<Record<ClientProfile, string>> = {
  standard: 'Standard',
  moving: 'Moving to FAPI 2.0',
  fapi2: 'FAPI 2.0',
}

const looks = { standard: 'off', moving: 'wait', fapi2: 'good' } as const

export function profileBadge(client: Client, now: Date): Html {
  const profile = profileOf(client, now)
  return badge(looks[profile], words[profile])
}

/** Since when, or from when on, and what becomes of bearer tokens then. */
export function printTerms(client: Client, now: Date): Html | undefined {
  const { fapi2From, fapi2EndsBearers } = client
  if (fapi2From === null) return undefined
  const isMoving = profileOf(client, now) === 'moving'
  const ends = fapi2EndsBearers ? 'end' : 'live out their 24 hours'
  return html`${isMoving ? 'from' : 'since'} ${printDate(fapi2From)}${isMoving && `, when bearer tokens ${ends}`}`
}

/** What it proves itself by. */
export function printProof(
  { jwksUri, certificateSubject }: Client,
  { keys, keyLastUsedAt }: Readiness,
): Html {
  const own = keys === 0 ? 'no keys' : keys === 1 ? '1 key' : `${keys} keys`
  return html`${own}${jwksUri !== null && html`, read at ${jwksUri}`}${
    keyLastUsedAt !== null && html`, last used ${printDate(keyLastUsedAt)}`
  }${certificateSubject !== null && html` · certificate of ${certificateSubject}`}`
}
