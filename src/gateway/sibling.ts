import type { Clock } from '../clock.ts'
import { openPlaces, type Places } from '../http/places.ts'
import { openTally, type Tally } from '../http/tally.ts'
import { openSpentProofs, type SpentProofs } from '../oauth/spent-proofs.ts'

/**
 * Of several processes this one. The private server and the address for Prometheus are the parent's, which
 * counts for all of them.
 */
export interface Sibling {
  /** Does what is done once for all of them. */
  readonly keepsHouse: boolean
  /** `tell`: what the other processes count is known here before a request asks. */
  openTally(limit: string, tell: boolean): Tally
  openPlaces(places: string, most: number): Places
  openSpentProofs(clock: Clock): SpentProofs
}

/** The only process there is. */
export const alone: Sibling = {
  keepsHouse: true,
  openTally,
  openPlaces: (_, most) => openPlaces(most),
  openSpentProofs: (clock) => openSpentProofs(clock),
}
