/**
 * Where a webhook may go (a guard against SSRF and DNS rebinding). Checked when a URL is registered, and
 * again at the address that is really dialled: a name can change its mind between the two. Only public
 * unicast addresses pass; everything special is refused, in every notation, because `new URL` has normalised
 * the host and the library has parsed the address.
 */
import ipaddr from 'ipaddr.js'
import { text as textOf } from '../vocabulary/schema.ts'

/** "Public" to most libraries, and yet the inside of a cloud. */
const metadataAddresses = new Set(['168.63.129.16'])

const globalUnicastV6 = ipaddr.parseCIDR('2000::/3')

export interface GuardPolicy {
  readonly allowLoopback: boolean
  readonly ports: readonly number[]
  /** The one address that is never dialled: what goes there is handed over inside (built-in-receiver.ts). */
  readonly builtIn?: string
  /** Private networks that may be dialled all the same. */
  readonly networks?: readonly string[]
}

const maxUrlLength = 2_000

/** As much of the rules as a schema can say. */
export const UrlText = textOf(
  'Where deliveries go: https, public, without credentials or fragment.',
  'https://app.example.com/hooks',
  {
    minLength: 1,
    maxLength: maxUrlLength,
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[!-"$-~]+$',
  },
)

/** What is wrong with a webhook's URL, or undefined. */
export function findUrlProblem(text: string, policy: GuardPolicy): string | undefined {
  if (text === policy.builtIn) return undefined
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`
  if (!/^[\x21-\x7e]+$/.test(text)) return 'must be plain ASCII without spaces'
  if (!URL.canParse(text)) return 'must be an absolute URL such as https://app.example.com/hooks'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'must not carry credentials'
  if (url.hash !== '' || text.includes('#')) return 'must not have a fragment'
  const loopback = policy.allowLoopback && isLoopbackName(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
    return policy.allowLoopback
      ? 'must begin with https:// (http:// only for loopback addresses)'
      : 'must begin with https://'
  }
  if (loopback) return undefined
  if (!policy.ports.includes(portOf(url))) return `must use one of the ports ${policy.ports.join(', ')}`
  const address = literalOf(url.hostname)
  if (address !== undefined && !isAllowedAddress(address, policy))
    return 'must not point to a private or special address'
  if (address === undefined && isLocalName(url.hostname)) return 'must name a public host'
  return undefined
}

/** The last word, on the address itself. */
export function isAllowedAddress(address: string, { allowLoopback, networks = [] }: GuardPolicy): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (networks.some((network) => isWithin(parsed, network))) return true
  if (parsed.range() === 'loopback') return allowLoopback
  if (parsed.kind() === 'ipv6')
    return parsed.range() === 'unicast' && (parsed as ipaddr.IPv6).match(globalUnicastV6)
  return parsed.range() === 'unicast' && !metadataAddresses.has(parsed.toString())
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: string): boolean {
  const [base, bits] = network.includes('/') ? ipaddr.parseCIDR(network) : [ipaddr.parse(network), undefined]
  return address.kind() === base.kind() && address.match(base, bits ?? (base.kind() === 'ipv6' ? 128 : 32))
}

/** An IP address written as the host, without the brackets of IPv6; undefined for a name. */
export function literalOf(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : undefined
}

function isLoopbackName(hostname: string): boolean {
  const literal = literalOf(hostname)
  return hostname === 'localhost' || (literal !== undefined && ipaddr.parse(literal).range() === 'loopback')
}

function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return !name.includes('.') || /(^|\.)(localhost|local|internal|home\.arpa)$/.test(name)
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}
