/** HTML as tagged templates. Whatever is put into one is escaped, unless it is HTML from another template. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
}

export type Content = Html | string | number | undefined | false | readonly Content[]

export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  const written = joinedLines.get(strings) ?? joinLines(strings)
  return new Html(written.reduce((text, string, index) => text + print(values[index - 1]) + string))
}

const joinedLines = new WeakMap<TemplateStringsArray, readonly string[]>()

/** A line of a template that is indented continues the one before: the break is a space. Once a template. */
function joinLines(strings: TemplateStringsArray): readonly string[] {
  const joined = strings.map((string) => string.replaceAll(/\n[ ]+/g, ' '))
  joinedLines.set(strings, joined)
  return joined
}

function print(value: Content): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(print).join('')
  return escapeHtml(String(value))
}

const entities = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities.get(character) ?? '')
}
