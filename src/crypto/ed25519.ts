import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** What stands before the 32 bytes of a private key of Ed25519 in PKCS #8 (RFC 8410). */
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The private key whose seed these 32 bytes are. */
export function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: 'der', type: 'pkcs8' })
}

/** 32 bytes as base64url. */
export function publicBytesOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ format: 'jwk' }).x!
}
