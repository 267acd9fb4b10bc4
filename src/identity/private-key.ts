/** The private key by which the gateway shows a provider who it is (RFC 7523, private_key_jwt). */
import { createPrivateKey, type webcrypto } from 'node:crypto'

const algorithms: ReadonlyMap<string, Readonly<Record<string, string>> & { readonly name: string }> = new Map(
  [
    ['rsa', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
    ['prime256v1', { name: 'ECDSA', namedCurve: 'P-256' }],
    ['ed25519', { name: 'Ed25519' }],
  ],
)

const rsaBitsAtLeast = 2_048

/** Undefined for what is no key, or one that providers do not take. */
export async function importPrivateKey(pem: string): Promise<webcrypto.CryptoKey | undefined> {
  try {
    const key = createPrivateKey(pem)
    const { namedCurve, modulusLength = rsaBitsAtLeast } = key.asymmetricKeyDetails ?? {}
    const algorithm = algorithms.get(namedCurve ?? key.asymmetricKeyType ?? '')
    if (!algorithm || modulusLength < rsaBitsAtLeast) return undefined
    const bytes = key.export({ type: 'pkcs8', format: 'der' })
    return await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
  } catch {
    return undefined
  }
}
