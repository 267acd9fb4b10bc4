/**
 * Who the brokerage is to the people it serves: the one place for its name, its mark, its colour and its links. Pages, mail, authenticator apps and
 * passkeys read it, and nothing else names anybody to them.
 */
interface Brand {
  readonly name: string
  /** A file of public/. */
  readonly mark: string
  /** What can be pressed, and the words on it, by day and by night. Words are read at 4.5 to 1 or better. */
  readonly accent: { readonly light: Ink; readonly dark: Ink }
  /** At the foot of every page: terms, privacy, help. */
  readonly links: readonly { readonly label: string; readonly url: string }[]
}

interface Ink {
  readonly colour: string
  readonly on: string
}

export const brand: Brand = {
  name: 'Countersign',
  mark: 'mark.svg',
  accent: { light: { colour: '#0f5c4d', on: '#ffffff' }, dark: { colour: '#4cc3a5', on: '#06241c' } },
  links: [],
}

/** The accent as a style sheet of its own: pages let no style in that does not come from a file. */
export function printAccent({ light, dark }: Brand['accent']): string {
  const rule = ({ colour, on }: Ink) => `:root { --act: ${colour}; --act-ink: ${on}; }`
  return `${rule(light)}\n@media (prefers-color-scheme: dark) { ${rule(dark)} }\n`
}
