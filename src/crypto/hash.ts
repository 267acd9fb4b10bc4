import { createHmac, hash, timingSafeEqual } from 'node:crypto'

/** Enough for secrets of 256 random bits; passwords go through argon2id instead. */
export function sha256(text: string): Buffer {
  return Buffer.from(fingerprint(text), 'latin1')
}

/** The same as a string, a character a byte: the key under which a secret is remembered without being kept. */
export function fingerprint(text: string): string {
  return hash('sha256', text, 'binary')
}

export function hmacSha256(key: Buffer, ...parts: string[]): Buffer {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(`${Buffer.byteLength(part)}:`).update(part)
  return mac.digest()
}

/** Takes the same time wherever the first difference stands. */
export function equalBytes(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
