/**
 * Who the brokerage is to the people it serves: its name, its logo, its colours and its links. Pages, mail,
 * authenticator apps and passkeys take it from the brand they are handed, and from nowhere else. What brand
 * is in force is for brands/active-brands.ts to say.
 */
export interface Brand {
  /** On pages, in subjects and in apps. */
  readonly name: string
  /** At the foot of pages and messages. */
  readonly legalName: string
  /** Without one the name stands alone. */
  readonly logo: ByMode<Picture | undefined>
  readonly favicon: Picture | undefined
  /** Absent: as the style sheet and `houseAccent` have it. */
  readonly colours: Colours | undefined
  /** At the foot of every page: help, privacy, terms. */
  readonly links: readonly BrandLink[]
  readonly mail: MailLook
}

/** How pages look by day and by night. */
export interface ByMode<Value> {
  readonly light: Value
  readonly dark: Value
}

export const modes = ['light', 'dark'] as const
export type Mode = (typeof modes)[number]

/** A file of public/, or an image that was uploaded. */
export type Picture = { readonly file: string } | StoredPicture

export interface StoredPicture {
  readonly hash: string
  readonly type: ImageType
  readonly width: number
  readonly height: number
}

export const imageTypes = ['image/png', 'image/svg+xml'] as const
export type ImageType = (typeof imageTypes)[number]

/** `#rrggbb`: what can be pressed, and what the page is on. */
export interface Colours {
  readonly accent: ByMode<string>
  readonly background: ByMode<string>
}

interface BrandLink {
  readonly label: string
  readonly url: string
}

interface MailLook {
  /** Absent: MAIL_FROM; with an address of a brand in force its name is the brand's. */
  readonly sender: { readonly name: string; readonly address: string } | undefined
  readonly replyTo: string | undefined
  readonly footer: string | undefined
}

/** What the gateway comes with: in force on a site as long as no other is. */
export const houseBrand: Brand = {
  name: 'Countersign',
  legalName: 'Countersign',
  logo: { light: { file: 'mark.svg' }, dark: { file: 'mark.svg' } },
  favicon: { file: 'mark.svg' },
  colours: undefined,
  links: [],
  mail: { sender: undefined, replyTo: undefined, footer: undefined },
}

interface Ink {
  readonly colour: string
  readonly on: string
}

/** What can be pressed, and the words on it. Words are read at 4.5 to 1 or better. */
export const houseAccent: ByMode<Ink> = {
  light: { colour: '#0f5c4d', on: '#ffffff' },
  dark: { colour: '#4cc3a5', on: '#06241c' },
}

/** As public/countersign.css has it. */
export const houseBackground: ByMode<string> = { light: '#f6f7f4', dark: '#0e1513' }

/** The accent as a style sheet of its own: pages let no style in that does not come from a file. */
export function printAccent({ light, dark }: ByMode<Ink>): string {
  const rule = ({ colour, on }: Ink) => `:root { --act: ${colour}; --act-ink: ${on}; }`
  return `${rule(light)}\n@media (prefers-color-scheme: dark) { ${rule(dark)} }\n`
}
