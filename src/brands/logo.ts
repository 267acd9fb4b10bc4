/**
 * Whether a logo can be seen where it stands: on light pages and on dark ones. It has to stand out by 3 to 1
 * (WCAG 2.2, 1.4.11) with at least half of what it paints.
 */
import type { Sql } from '../database/database.ts'
import { type Mode, modes } from '../vocabulary/brand.ts'
import { type BrandRow, coloursOf, logosOf } from './brand-row.ts'
import { selectImage } from './images.sql.ts'
import { contrast, makePalette } from './palette.ts'
import { coloursOfPng, type PaintedColours } from './png-colours.ts'
import { coloursOfSvg } from './svg-colours.ts'

export interface FaintLogo {
  readonly mode: Mode
  /** Of the page around it. */
  readonly paper: string
  /** Whether there is one for the other pages alone. */
  readonly isBorrowed: boolean
}

const standsOut = 3
const leastShare = 0.5

export async function findFaintLogos(sql: Sql, draft: BrandRow): Promise<readonly FaintLogo[]> {
  const logos = logosOf(draft)
  const found = await Promise.all(
    modes.map(async (mode) => {
      const logo = logos[mode]
      const [image] = logo ? await sql.query(selectImage, { hash: logo.hash }) : []
      if (!image) return []
      const colours = image.type === 'image/png' ? await coloursOfPng(image.bytes) : coloursOfSvg(image.bytes)
      const paper = makePalette(coloursOf(draft), mode).card
      const isBorrowed = (mode === 'light' ? draft.logoLight : draft.logoDark) === null
      return shareSeen(colours, paper) < leastShare ? [{ mode, paper, isBorrowed }] : []
    }),
  )
  return found.flat()
}

/** With the remedy. */
export function describeFaintLogo({ mode, paper, isBorrowed }: FaintLogo): string {
  const other = mode === 'light' ? 'dark' : 'light'
  const which = isBorrowed ? `The logo for ${other} pages, which stands on ${mode} ones as well,` : 'The logo'
  const name = `“Logo, ${mode}”`
  const remedy = isBorrowed ? `Upload another as ${name}.` : `Upload one as ${name} that stands out from it.`
  return `${which} can hardly be seen on ${mode} pages (${paper}): less than half of it has a contrast of 3 to 1. ${remedy}`
}

/** What paints nothing is not seen; of a colour that is not known it is not said that it cannot be. */
export function shareSeen(colours: PaintedColours, paper: string): number {
  const all = [...colours.values()].reduce((sum, each) => sum + each, 0)
  const seen = [...colours]
    .filter(([colour]) => colour === 'unknown' || contrast(colour, paper) >= standsOut)
    .reduce((sum, [, each]) => sum + each, 0)
  return all === 0 ? 0 : seen / all
}
