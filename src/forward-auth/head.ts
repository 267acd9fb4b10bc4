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

/** By name, in small letters: what it holds, or that there are several of it. */
export type HeaderLines = ReadonlyMap<string, string | undefined>

export function readHead(rawHeaders: readonly string[], names: ReadonlySet<string>): HeaderLines {
  const head = new Map<string, string | undefined>()
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const name = rawHeaders[place]!.toLowerCase()
    if (names.has(name)) head.set(name, head.has(name) ? undefined : rawHeaders[place + 1]!)
  }
  return head
}

/** `fact` is what the header tells, in a word. */
export function readOnce(head: HeaderLines, name: string, fact: string): string {
  const value = head.get(name)
  if (value) return value
  if (isDoubled(head, name))
    throw new Misconfigured(`${fact}_doubled`, `${name} was sent more than once. The proxy must replace it.`)
  throw new Misconfigured(`${fact}_missing`, `${name} is missing. The proxy must set it.`)
}

export function isDoubled(head: HeaderLines, name: string): boolean {
  return head.has(name) && head.get(name) === undefined
}
