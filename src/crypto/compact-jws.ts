/** A signed token of somebody else (RFC 7515, compact): taken apart, and verified by a key. */
import { verify } from 'node:crypto'
import type { VerifyingKey } from './jwk.ts'

export interface CompactJws {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly signed: Buffer
  readonly signature: Buffer
}

const shape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** Undefined where it is no such token; its signature is not looked at. */
export function parseCompactJws(text: string, mostCharacters: number): CompactJws | undefined {
  if (text.length > mostCharacters) return undefined
  const [, head = '', body = '', signature = ''] = shape.exec(text) ?? []
  const header = parseObject(head)
  const claims = parseObject(body)
  if (!header || !claims) return undefined
  return {
    header,
    claims,
    signed: Buffer.from(text.slice(0, head.length + 1 + body.length), 'latin1'),
    signature: Buffer.from(signature, 'base64url'),
  }
}

function parseObject(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** By the one algorithm of the key, whatever the token says of itself. */
export function isSignedBy({ signed, signature }: CompactJws, { publicKey, digest }: VerifyingKey): boolean {
  return verify(digest, signed, publicKey, signature)
}
