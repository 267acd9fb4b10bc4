/**
 * The text that a developer pastes as headers: lines of a request, of curl, of a log or of JSON, or a
 * signature alone.
 */
import { mistakes, type SignatureMistake } from './signature-mistakes.ts'

export interface PastedHeaders {
  /** `x-webhook-signature`. */
  readonly body: string | undefined
  /** `webhook-signature`. */
  readonly standard: string | undefined
  readonly id: string | undefined
  readonly timestamp: string | undefined
}

export function readHeaders(text: string): PastedHeaders {
  const find = (name: string) => {
    const [, value] =
      new RegExp(`(?<![\\w-])${name}["']?\\s*[:=]\\s*["']?([^"'\\r\\n]+)`, 'i').exec(text) ?? []
    return value?.replace(/(?<![\s,;])[\s,;]+$/, '')
  }
  const alone = readAlone(text)
  const isStandard = alone !== undefined && /^v\d+,/.test(alone)
  return {
    body: find('x-webhook-signature') ?? (isStandard ? undefined : alone),
    standard: find('webhook-signature') ?? (isStandard ? alone : undefined),
    id: find('webhook-id'),
    timestamp: find('webhook-timestamp'),
  }
}

/** Nothing but a signature. */
function readAlone(text: string): string | undefined {
  const trimmed = text.trim()
  return trimmed !== '' && !/[\r\n:]/.test(trimmed.replace(/^(hmac-)?sha256:/i, '')) ? trimmed : undefined
}

type Encoding = 'hex' | 'base64'

/**
 * The bytes of a signature, and what is unusual about how they are written. No bytes where it is no
 * signature.
 */
export interface PresentedMac {
  readonly source: 'x-webhook-signature' | 'webhook-signature' | 'computed'
  readonly bytes: Buffer
  readonly encoding: Encoding
  readonly mistakes: readonly SignatureMistake[]
}

const longest = 300
const prefixes = /^((hmac-)?sha-?(1|256|512)|v1|signature)\s*[=:,]\s*/i

export function readMac(source: PresentedMac['source'], pasted: string): PresentedMac {
  const text = pasted
    .slice(0, longest)
    .trim()
    .replace(/^["'](.*)["']$/, '$1')
  const value = text.replace(prefixes, '')
  // `v1,` belongs to the other header, and a program that computes that one prints it.
  const prefixed = value === text || (source === 'computed' && /^v1,/.test(text)) ? [] : [mistakes.prefix]
  if (/^([0-9a-f]{2})+$/i.test(value)) {
    const cased = /[A-F]/.test(value) ? [mistakes.upperCase] : []
    return judgeLength({
      source,
      bytes: Buffer.from(value, 'hex'),
      encoding: 'hex',
      mistakes: [...prefixed, ...cased],
    })
  }
  if (/^[A-Za-z0-9+/_-]{2,}={0,2}$/.test(value))
    return judgeLength({
      source,
      bytes: Buffer.from(value, 'base64'),
      encoding: 'base64',
      mistakes: prefixed,
    })
  return { source, bytes: Buffer.alloc(0), encoding: 'base64', mistakes: [mistakes.noSignature] }
}

/** Of SHA-1, SHA-256 and SHA-512. */
const lengths = [20, 32, 64]

function judgeLength(mac: PresentedMac): PresentedMac {
  return lengths.includes(mac.bytes.length) ? mac : { ...mac, mistakes: [mistakes.cutOff] }
}

const signaturesAtMost = 10

/** `v1,… v1,…`: of these any may match. */
export function readStandardMacs(source: PresentedMac['source'], pasted: string): PresentedMac[] {
  const parts = pasted
    .slice(0, signaturesAtMost * longest)
    .trim()
    .split(/\s+/)
    .slice(0, signaturesAtMost)
  return parts.map((part) => readMac(source, part.replace(/^v1,/, '')))
}
