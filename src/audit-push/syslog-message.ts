/**
 * The lines of the log as messages of RFC 5424, framed by their length (RFC 5425). A message is a line of the
 * stream, byte for byte, behind the fields by which collectors sort: what was kept can be verified as a file.
 */
import { linesOf, type StreamedBlock, type ToldLine } from '../audit/stream-line.ts'

/** Facility “log audit”, severity “informational”. */
const priority = 13 * 8 + 6
/** What receivers of RFC 5425 should take; many cut what is longer. */
export const mostBytes = 8_192
/** The number that RFC 5612 keeps for examples: this software has none of its own. */
const enterprise = 32473
/** Of characters: all fields together leave room for the head. */
const mostOfField = 400
const byteOrderMark = '\uFEFF'

type Fields = Readonly<Record<string, string | number | null>>

export function printFrames(blocks: readonly StreamedBlock[], hostname: string): Buffer {
  const messages = blocks.flatMap((block) => linesOf(block).map((line) => printMessage(line, hostname)))
  return Buffer.concat(
    messages.flatMap((message) => {
      const bytes = Buffer.from(message)
      return [Buffer.from(`${bytes.length} `), bytes]
    }),
  )
}

/** One that would be longer than receivers take leaves without its line, and says so. */
export function printMessage(line: ToldLine, hostname: string): string {
  const { about, text } = line
  const whole = print(line, hostname, about, text)
  return Buffer.byteLength(whole) <= mostBytes ? whole : print(line, hostname, { ...about, cut: 'line' }, '')
}

function print({ at, name }: ToldLine, hostname: string, about: Fields, text: string): string {
  const time = at?.toISOString() ?? '-'
  const head = `<${priority}>1 ${time} ${graphic(hostname, 255)} countersign - ${graphic(name, 32)}`
  return `${head} ${printStructuredData(about)}${text === '' ? '' : ` ${byteOrderMark}${text}`}`
}

function printStructuredData(fields: Fields): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    value === null ? [] : [` ${name}="${escapeValue(String(value))}"`],
  )
  return `[audit@${enterprise}${pairs.join('')}]`
}

/** RFC 5424, 6.3.3. Of control characters, which break what people read, nothing is left; the line has them. */
function escapeValue(value: string): string {
  return value
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, mostOfField)
    .toWellFormed()
    .replace(/["\\\]]/g, '\\$&')
}

/** Printable US-ASCII without spaces, as the fields of the head are. */
function graphic(text: string, most: number): string {
  return text.replace(/[^\x21-\x7e]/g, '').slice(0, most) || '-'
}
