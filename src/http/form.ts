/**
 * application/x-www-form-urlencoded, for queries and bodies. A name that comes twice becomes an array, so
 * that no reader can take one of two values by accident; the one that may come more than once always is one. `parseFormBytes` keeps every byte (as Latin-1), for
 * values that must be echoed exactly.
 */
export type Form = Record<string, string | string[]>

export function parseForm(text: string): Form {
  return parse(text, decodeFormText)
}

export function parseFormBytes(text: string): Form {
  return parse(text, decodeFormBytes)
}

/**
 * Without a prototype: a form holds what was sent and nothing else. Made by a constructor, it is quick to
 * fill and to read.
 */
class EmptyForm {
  [name: string]: string | string[]
}
Object.setPrototypeOf(EmptyForm.prototype, null)
Reflect.deleteProperty(EmptyForm.prototype, 'constructor')

function parse(text: string, decode: (raw: string) => string): Form {
  const form = new EmptyForm()
  for (let start = 0; start < text.length; ) {
    const ampersand = text.indexOf('&', start)
    const end = ampersand < 0 ? text.length : ampersand
    if (end > start) addPair(form, text.slice(start, end), decode)
    start = end + 1
  }
  return form
}

function addPair(form: Form, pair: string, decode: (raw: string) => string): void {
  const equals = pair.indexOf('=')
  const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals))
  const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
  const present = form[name]
  if (present === undefined) form[name] = name === repeatable ? [value] : value
  else if (Array.isArray(present)) present.push(value)
  else form[name] = [present, value]
}

/** RFC 6749, 3.1: a parameter without a value counts as one that was not sent. */
export function withoutEmpty(form: Form): Form {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''))
}

/** RFC 8707, 2. */
export const repeatable = 'resource'

/** Each once, without the empty. */
export function resourcesOf(form: Form): string[] {
  return [...new Set([form[repeatable] ?? []].flat())].filter((value) => value !== '')
}

/** ASCII without an escape. */
const verbatim = /^[\0-$&-*,-\x7f]*$/

/** One value as UTF-8; bytes that are not UTF-8 become U+FFFD. */
export function decodeFormText(raw: string): string {
  if (verbatim.test(raw)) return raw
  return Buffer.from(decodeFormBytes(raw), 'latin1').toString('utf8')
}

const escapes = /%([0-9A-Fa-f]{2})|\+/g

/** One value as bytes, a character a byte. A `%` that begins no escape stands for itself. */
function decodeFormBytes(raw: string): string {
  if (!raw.includes('%') && !raw.includes('+')) return raw
  return raw.replace(escapes, (_, hex?: string) =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : ' ',
  )
}

/** Percent-encodes every byte but the unreserved ones of RFC 3986. */
export function encodeFormBytes(bytes: string): string {
  return bytes.replace(
    /[^A-Za-z0-9\-._~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/** The part behind the question mark, with non-ASCII characters as the bytes they came in. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}
