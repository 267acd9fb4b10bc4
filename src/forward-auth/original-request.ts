/**
 * The request that a proxy asks about, as each contract tells it. Nothing is guessed or mended: what does not
 * look exactly as the proxy writes it was not written by the proxy alone.
 */
import { type HeaderLines, Misconfigured, readOnce } from './head.ts'

export interface OriginalRequest {
  readonly method: string
  /** In small letters, with its port where the client named one. */
  readonly host: string
  /** As far as the proxy tells it: of a socket, that of its beginning. */
  readonly schemes: readonly ('http' | 'https')[]
  /** Path and query, byte by byte. */
  readonly target: string
}

export interface Contract {
  /** The headers that tell it. */
  readonly headers: readonly string[]
  /** `rest` is what stands behind the address of the door. */
  read(head: HeaderLines, method: string, rest: string): OriginalRequest
}

const shapes = {
  method: /^[A-Z]+(?:-[A-Z]+)*$/,
  proto: /^(?:https?|wss?)$/,
  host: /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
  path: /^\/[!-~]*$/,
  url: /^(https?):\/\/([^/?#]*)(\/[!-~]*)$/,
} as const
type Fact = keyof typeof shapes

function check(fact: Fact, value: string): RegExpExecArray {
  const match = shapes[fact].exec(value)
  if (match) return match
  throw new Misconfigured(
    `${fact}_malformed`,
    `The ${fact} of the original request cannot be what it is said to be.`,
  )
}

function readFact(head: HeaderLines, name: string, fact: Fact): string {
  const value = readOnce(head, name, fact)
  check(fact, value)
  return value
}

/** Traefik, Caddy, APISIX, HAProxy. */
export const forwarded: Contract = {
  headers: ['x-forwarded-method', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-uri'],
  read(head) {
    return {
      schemes: [schemeOf(readFact(head, 'x-forwarded-proto', 'proto'))],
      method: readFact(head, 'x-forwarded-method', 'method'),
      host: readFact(head, 'x-forwarded-host', 'host').toLowerCase(),
      target: readFact(head, 'x-forwarded-uri', 'path'),
    }
  },
}

/** nginx. */
export const original: Contract = {
  headers: ['x-original-method', 'x-original-url'],
  read(head) {
    const method = readFact(head, 'x-original-method', 'method')
    const [, scheme = '', host = '', target = ''] = check('url', readOnce(head, 'x-original-url', 'url'))
    check('host', host)
    return { method, schemes: [schemeOf(scheme)], host: host.toLowerCase(), target }
  },
}

/** Envoy: the request is the original one, at an address of ours. */
export const envoy: Contract = {
  headers: ['host'],
  read(head, method, rest) {
    check('method', method)
    const host = readFact(head, 'host', 'host').toLowerCase()
    check('path', rest)
    return { method, schemes: ['https', 'http'], host, target: rest }
  },
}

function schemeOf(proto: string): 'http' | 'https' {
  return proto === 'https' || proto === 'wss' ? 'https' : 'http'
}

/** What a proof of the client's has to be about (RFC 9449, 4.3). */
export function addressesOf({ schemes, host, target }: OriginalRequest): string[] {
  return schemes.map((scheme) => `${scheme}://${host}${target}`)
}
