/**
 * What partners write beside a webhook, for people: a description, the reason of a skip. The patterns here
 * judge it and stand in /openapi.json, so that the document is as strict as the gateway. They name what
 * cannot be seen, or turns words around, by its code: `\p{…}` is unknown to Python and half of the
 * generators, and characters beyond U+FFFF, of which none is a control, have no spelling that all of them
 * read.
 */

export const noteCharacters = 200

/** Format characters and private use, without control characters. */
const invisible =
  '\\xAD\\u0600-\\u0605\\u061C\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u180E\\u200B-\\u200F\\u2028-\\u202E\\u2060-\\u206F\\uE000-\\uF8FF\\uFEFF\\uFFF0-\\uFFFB'
const spaces = ' \\xA0\\u1680\\u2000-\\u200A\\u202F\\u205F\\u3000'

/** One line, or nothing. */
export const linePattern = `^[^\\x00-\\x1F\\x7F-\\x9F${invisible}]*$`

/**
 * Of any number of lines, and more than spaces. What may lead is disjoint from what must follow, so that no
 * text is read twice.
 */
export const textPattern = `^[\\t\\n\\r${spaces}]*[^\\x00-\\x1F\\x7F-\\x9F${spaces}${invisible}][^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F${invisible}]*$`

const line = new RegExp(linePattern, 'u')
const text = new RegExp(textPattern, 'u')

/** Half a surrogate pair is no text, whatever a pattern says. */
const fits = (note: string, pattern: RegExp) =>
  [...note].length <= noteCharacters && note.isWellFormed() && pattern.test(note)

export function findLineProblem(note: string): string | undefined {
  return fits(note, line)
    ? undefined
    : `must be one line of at most ${noteCharacters} characters that can be seen`
}

export function findNoteProblem(note: string): string | undefined {
  return fits(note, text) ? undefined : `must have 1 to ${noteCharacters} characters that can be seen`
}
