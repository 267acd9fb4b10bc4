/**
 * Text from outside, cut to a length. What comes out can be written anywhere: PostgreSQL takes neither U+0000
 * nor, in JSON, half a character, and one value that it does not take fails the whole statement it stands in.
 */
export function cut(text: string, most: number): string {
  const kept = text.slice(0, most).replaceAll('\0', '\uFFFD')
  const isHalved = /[\uD800-\uDBFF]$/.test(kept) && /^[\uDC00-\uDFFF]/.test(text.charAt(most))
  return (isHalved ? kept.slice(0, -1) : kept).toWellFormed()
}

/** JSON that PostgreSQL takes, whatever its strings hold. */
export function printJson(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? cut(each, each.length) : each))
}
