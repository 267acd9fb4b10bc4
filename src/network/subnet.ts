/** What counts as one address where guesses are counted. */
import { isIPv6 } from 'node:net'

/** A part of the internet that one person may hold, and how many households' worth of a limit it has. */
export interface Network {
  readonly name: string
  readonly times: number
}

/**
 * Everything that an address counts for, from the narrowest. A household has a /64 or a /56 of IPv6, a
 * customer of a data centre a /48, with 65,536 /64s in it: each of these has a few times what the narrower
 * one has, and no more.
 */
export function networksOf(address: string): readonly Network[] {
  const narrowest = subnetOf(address)
  const own = { name: narrowest, times: 1 }
  if (!narrowest.includes(':')) return [own]
  const [first, second, third, fourth = ''] = narrowest.split(':')
  const upper = (Number.parseInt(fourth, 16) & 0xff00).toString(16)
  return [
    own,
    { name: `${first}:${second}:${third}:${upper}/56`, times: 4 },
    { name: `${first}:${second}:${third}/48`, times: 16 },
  ]
}

/** One household holds a whole IPv6 /64; an IPv4 address in IPv6 dress is itself. */
export function subnetOf(address: string): string {
  if (!isIPv6(address)) return address
  const [front = [], back] = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: 8 - front.length - (back?.length ?? 0) }, () => '0')
  const groups = back ? [...front, ...zeros, ...back] : front
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return groups.slice(0, 4).join(':')
  const bytes = Buffer.from(
    groups
      .slice(6)
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  )
  return [...bytes].join('.')
}
