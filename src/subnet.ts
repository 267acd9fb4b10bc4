/** What counts as one address where guesses are counted. */
import { isIPv6 } from 'node:net'

/** One household holds a whole IPv6 /64; an IPv4 address in IPv6 dress is itself. */
export function subnetOf(address: string): string {
  if (!isIPv6(address)) return address
  const [front, back] = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== '')) as [string[], string[] | undefined]
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
