/**
 * HTML as tagged templates. Whatever is put into one is escaped, unless it is HTML from another template. What
 * depends on the reader's time zone is told when the page is sent; until then it is told in UTC.
 */
import { type TimeZone, utc } from './time-zone.ts'

type Part = string | ((zone: TimeZone) => string)

export class Html {
  /** As it is told in UTC. */
  readonly text: string
  /** Undefined where every zone is told the same. */
  readonly parts: readonly Part[] | undefined

  constructor(text: string, parts?: readonly Part[]) {
    this.text = text
    this.parts = parts
  }

  in(zone: TimeZone): string {
    if (!this.parts || zone === utc) return this.text
    return this.parts.map((part) => (typeof part === 'string' ? part : part(zone))).join('')
  }

  /** Of what is the same in every zone; `open` begins anew for each reading. */
  rewrite(open: () => (text: string) => string): Html {
    const rewrite = open()
    const parts = this.parts?.map((part) => (typeof part === 'string' ? rewrite(part) : part))
    return new Html(open()(this.text), parts)
  }

  toString(): string {
    return this.text
  }
}

export type Content = Html | string | number | undefined | false | readonly Content[]

export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  const written = joinedLines.get(strings) ?? joinLines(strings)
  const text = written.reduce((text, string, index) => text + print(values[index - 1]) + string)
  if (!values.some(isTold)) return new Html(text)
  return new Html(
    text,
    written.flatMap((string, index) => [...(index === 0 ? [] : partsOf(values[index - 1])), string]),
  )
}

/** What is told to each reader in their zone. */
export function told(tell: (zone: TimeZone) => Html): Html {
  return new Html(tell(utc).text, [(zone) => tell(zone).text])
}

function isTold(value: Content): boolean {
  if (value instanceof Html) return value.parts !== undefined
  return typeof value === 'object' && value.some(isTold)
}

function partsOf(value: Content): readonly Part[] {
  if (value instanceof Html) return value.parts ?? [value.text]
  return typeof value === 'object' ? value.flatMap(partsOf) : [print(value)]
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
