/** Keys that a client of a partner signs with. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface TestKey {
  readonly privateKey: KeyObject
  readonly publicJwk: Readonly<Record<string, unknown>>
}

type TestKeyType = 'ES256' | 'PS256' | 'EdDSA'

export function makeKey(alg: TestKeyType = 'ES256', members: Record<string, unknown> = {}): TestKey {
  const { privateKey, publicKey } = generate(alg)
  return { privateKey, publicJwk: { ...publicKey.export({ format: 'jwk' }), alg, use: 'sig', ...members } }
}

export function printJwks(...keys: readonly TestKey[]): string {
  return JSON.stringify({ keys: keys.map((key) => key.publicJwk) })
}

function generate(alg: TestKeyType): { privateKey: KeyObject; publicKey: KeyObject } {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: 2_048 })
}
