/**
 * Headers as they came. Node joins some that are sent twice, and drops others: what something is decided by
 * must be the only one of its name.
 */
import { Problem } from '../problem.ts'

/** What the proxy, or its route, is set up wrong about. Its code is the word for the log. */
export class Misconfigured extends Problem {
  constructor(cause: string, description: string) {
    super(403, cause, description)
  }
}

/** By name, in small letters. */
export type HeaderLines = ReadonlyMap<string, readonly string[]>

export function readHead(rawHeaders: readonly string[], names: ReadonlySet<string>): HeaderLines {
  const head = new Map<string, string[]>()
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const name = rawHeaders[place]!.toLowerCase()
    if (!names.has(name)) continue
    const value = rawHeaders[place + 1]!
    const before = head.get(name)
    if (before) before.push(value)
    else head.set(name, [value])
  }
  return head
}

/** `fact` is what the header tells, in a word. */
export function readOnce(head: HeaderLines, name: string, fact: string): string {
  const [value = '', another] = head.get(name) ?? []
  if (another !== undefined)
    throw new Misconfigured(`${fact}_doubled`, `${name} was sent more than once. The proxy must replace it.`)
  if (value === '') throw new Misconfigured(`${fact}_missing`, `${name} is missing. The proxy must set it.`)
  return value
}
