/**
 * What every bearer of Countersign looks like: `cs`, a letter for the environment, a letter for the kind, 43
 * letters and digits, a checksum of 6. Whatever looks otherwise was never issued, and costs no call.
 */
import { crc32 } from 'node:zlib'

export type Environment = 'live' | 'sandbox'

export const tokenLength = 53
const bearer = /^cs[ls][ap][A-Za-z0-9]{49}$/
const serviceSecret = /^cs([ls])v[A-Za-z0-9]{49}$/

export function isBearer(text: string, environment: Environment): boolean {
  return bearer.test(text) && text[2] === (environment === 'live' ? 'l' : 's') && hasItsChecksum(text)
}

/** The site that a service's secret is for; undefined for what is no secret of a service. */
export function environmentOfSecret(text: string): Environment | undefined {
  const letter = serviceSecret.exec(text)?.[1]
  if (letter === undefined || !hasItsChecksum(text)) return undefined
  return letter === 'l' ? 'live' : 'sandbox'
}

function hasItsChecksum(text: string): boolean {
  return crc32(text.slice(0, -6)).toString(36).padStart(7, '0').slice(-6) === text.slice(-6)
}
