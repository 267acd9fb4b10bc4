/** Every `amount` as the text it was written in: `500.10` is not `500.1` to an accountant. */
import { Invalid } from '../../problem.ts'
import type { Payload } from '../../webhooks/events/kind.ts'

/** A member of this name: within a string, its quotes would be escaped. */
const writtenAmount = /"amount"[ \t\n\r]*:[ \t\n\r]*(-?[\d.eE+-]+)/g

/**
 * In the order of the payloads, which are what the text holds, and valid; undefined for those without an
 * amount. One that is below zero by so little that its number is not is refused, as any other: `fieldOf` is
 * its name.
 */
export function exactAmounts(
  text: string,
  payloads: readonly Payload[],
  fieldOf: (place: number) => string,
): (string | undefined)[] {
  const amounts = readAmounts(text, payloads)
  const faults = amounts.flatMap((amount, place) =>
    isBelowZero(amount) ? [{ field: fieldOf(place), problem: 'must be >= 0' }] : [],
  )
  if (faults.length > 0) throw new Invalid(faults)
  return amounts
}

function isBelowZero(amount: string | undefined): boolean {
  return amount !== undefined && /^-[0.]*[1-9]/.test(amount)
}

function readAmounts(text: string, payloads: readonly Payload[]): (string | undefined)[] {
  const having = payloads.filter((payload) => payload.amount !== undefined).length
  const amounts = findWritten(text, having) ?? parseWritten(text)
  let place = 0
  return payloads.map((payload) => (payload.amount === undefined ? undefined : amounts[place++]))
}

/** Undefined when a look at the text is not enough: a name may be written with escapes, or come twice. */
function findWritten(text: string, expected: number): string[] | undefined {
  if (text.includes('\\u')) return undefined
  const found = Array.from(text.matchAll(writtenAmount), ([, written = '']) => written)
  return found.length === expected ? found : undefined
}

function parseWritten(text: string): string[] {
  const found: string[] = []
  const reviver = (key: string, value: unknown, context: { source: string }) => {
    if (key === 'amount' && typeof value === 'number') found.push(context.source)
    return value
  }
  // The server's parser lets a byte order mark pass; JSON.parse does not.
  JSON.parse(text.replace(/^\uFEFF/, ''), reviver as Parameters<typeof JSON.parse>[1])
  return found
}
