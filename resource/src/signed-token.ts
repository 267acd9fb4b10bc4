/** Compact JWS (RFC 7515), signed with EdDSA over Ed25519 and with nothing else, of one type (RFC 8725, 3). */
import { type KeyObject, verify } from 'node:crypto'
import { findText, type JsonObject, NotUnderstood, parseObject } from './read-json.ts'

export interface SignedToken {
  readonly kid: string
  readonly claims: JsonObject
  isSignedBy(key: KeyObject): boolean
}

const part = /^[A-Za-z0-9_-]+$/
const signatureBytes = 64

/** Undefined for what is no such token; nothing in it is to be believed before its signature was verified. */
export function parseSignedToken(text: string, type: string): SignedToken | undefined {
  const parts = text.split('.')
  const [head, body, mark] = parts
  if (parts.length !== 3 || !head || !body || !mark || !parts.every((each) => part.test(each)))
    return undefined
  try {
    const header = parseObject(Buffer.from(head, 'base64url').toString())
    if (header.alg !== 'EdDSA' || header.typ !== type || 'crit' in header) return undefined
    const kid = findText(header, 'kid')
    const signature = Buffer.from(mark, 'base64url')
    if (kid === undefined || signature.length !== signatureBytes) return undefined
    const signed = Buffer.from(`${head}.${body}`)
    const claims = parseObject(Buffer.from(body, 'base64url').toString())
    return { kid, claims, isSignedBy: (key) => verify(null, signed, key, signature) }
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined
    throw error
  }
}
