/**
 * What can be shown as it is. Control characters move a terminal's cursor and colours, bidi controls turn
 * words around, a line separator begins a line of its own: a user who may choose a name could make it read as
 * something else.
 */
export const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u

/** On one line, with the code of everything that cannot be shown in its place. */
export function escapeText(text: string): string {
  return text.replace(new RegExp(unprintable, 'gu'), showCode)
}

/** The same for text of several lines, which stay lines; JSON keeps its meaning. */
export function escapeLines(text: string): string {
  return text.replace(new RegExp(unprintable, 'gu'), (each) => (each === '\n' ? each : showCode(each)))
}

/** In UTF-16 units, as JSON has it. */
function showCode(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
