/** Names of certificates as text (RFC 4514), in one spelling each, so that they can be compared. */

/** What types are called that are written as numbers (RFC 4514, 3; X.520; ETSI EN 319 412-1). */
const typesByNumber: ReadonlyMap<string, string> = new Map([
  ['2.5.4.3', 'cn'],
  ['2.5.4.4', 'sn'],
  ['2.5.4.5', 'serialnumber'],
  ['2.5.4.6', 'c'],
  ['2.5.4.7', 'l'],
  ['2.5.4.8', 'st'],
  ['2.5.4.9', 'street'],
  ['2.5.4.10', 'o'],
  ['2.5.4.11', 'ou'],
  ['2.5.4.12', 'title'],
  ['2.5.4.15', 'businesscategory'],
  ['2.5.4.17', 'postalcode'],
  ['2.5.4.42', 'gn'],
  ['2.5.4.97', 'organizationidentifier'],
  ['0.9.2342.19200300.100.1.1', 'uid'],
  ['0.9.2342.19200300.100.1.25', 'dc'],
  ['1.2.840.113549.1.9.1', 'emailaddress'],
  ['1.3.6.1.4.1.311.60.2.1.3', 'jurisdictionc'],
])

/** UTF8String, PrintableString, IA5String: what a value in hexadecimal may be. */
const stringTags = [0x0c, 0x13, 0x16]

/** A value neither begins nor ends with a plain space: a run of them is read once. */
const attribute =
  / *([a-z][a-z0-9-]*|\d+(?:\.\d+)+) *= *(?:#((?:[0-9a-f]{2})+)|(?![ #])((?: *(?:[^\\,+"<>; ]|\\(?:[0-9a-f]{2}|[ "#+,;<=>\\])))+)) *([,+]|$)/iy

/** Undefined when it is no name, or the empty one. Values are compared as they are, types in any case. */
export function normaliseName(text: string): string | undefined {
  const names: string[][] = [[]]
  attribute.lastIndex = 0
  for (;;) {
    const [, type, inHex, escaped, next] = attribute.exec(text) ?? []
    if (type === undefined) return undefined
    const value = inHex === undefined ? unescapeValue(escaped!) : readHex(inHex)
    if (value === undefined || value === '') return undefined
    const known = typesByNumber.get(type) ?? type.toLowerCase()
    names.at(-1)!.push(`${known}=${value}`)
    if (next === '') break
    if (next === ',') names.push([])
  }
  return JSON.stringify(names.map((parts) => parts.sort()))
}

/** As Node prints the subject of a certificate: a line each, the widest first. */
export function normaliseSubject(lines: string | undefined): string | undefined {
  return normaliseName((lines ?? '').split('\n').reverse().join(','))
}

function unescapeValue(text: string): string {
  return text.replace(/((?:\\[0-9a-f]{2})+)|\\(.)/gi, (_, bytes: string | undefined, sign: string) =>
    bytes === undefined ? sign : Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString(),
  )
}

/** DER of a short string. */
function readHex(hex: string): string | undefined {
  const bytes = Buffer.from(hex, 'hex')
  const [tag = 0, length = 0] = bytes
  const isString = stringTags.includes(tag) && length < 128 && bytes.length === length + 2
  return isString ? bytes.toString('utf8', 2) : undefined
}
