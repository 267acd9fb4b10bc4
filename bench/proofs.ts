/** What a client with a key of its own sends, signed before anything is measured. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { second } from '../src/clock.ts'
import { readPublicJwk } from '../src/crypto/jwk.ts'
import { bindingOfKey } from '../src/oauth/binding.ts'
import { assertionType } from '../src/oauth/client-assertion.ts'
import { addKeys } from '../src/partners/client-keys.ts'
import { readJwksText } from '../src/partners/jwks.ts'
import type { GatewayUnderTest } from './gateway.ts'
import type { Credentials } from './requests.ts'

export interface Signer {
  /** What a token is bound to that comes with its proofs. */
  readonly binding: string
  /** The public part, for the set of the client's keys. */
  readonly jwk: object
  /** A DPoP proof (RFC 9449), with `ath` where there is a token. */
  prove(method: string, url: string, token?: string): string
  /** The form fields of private_key_jwt. */
  assert(clientId: string, issuer: string): Record<string, string>
}

let issued = 0

export function openSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  const head = printPart({ alg: 'ES256', typ: 'dpop+jwt', jwk })
  const now = () => Math.floor(Date.now() / second)
  return {
    binding: bindingOfKey(readPublicJwk(jwk).thumbprint),
    jwk,
    prove(method, url, token) {
      const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url')
      const claims = { jti: `proof-${issued++}-of-the-bench`, htm: method, htu: url, iat: now(), ath }
      return signParts(head, claims, privateKey)
    },
    assert(clientId, issuer) {
      const claims = { iss: clientId, sub: clientId, aud: issuer, jti: `${issued++}`, exp: now() + 240 }
      return {
        client_assertion_type: assertionType,
        client_assertion: signParts(printPart({ alg: 'ES256' }), claims, privateKey),
      }
    },
  }
}

function printPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function signParts(head: string, claims: object, key: KeyObject): string {
  const signed = `${head}.${printPart(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** A client that has a secret may have keys too. */
export async function addKey({ db }: GatewayUnderTest, { id }: Credentials, { jwk }: Signer): Promise<void> {
  const act = { by: { name: 'operator:bench' }, at: new Date() }
  await addKeys(db, { id }, readJwksText(JSON.stringify({ keys: [jwk] })), act)
}

/** As the gateway calls itself: what assertions and proofs are for. */
export async function readIssuer(origin: string): Promise<string> {
  const answer = await fetch(`${origin}/.well-known/oauth-authorization-server`)
  return ((await answer.json()) as { issuer: string }).issuer
}
