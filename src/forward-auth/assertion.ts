/**
 * A signed token for the system behind the proxy: who asks, for this one request, of which it holds a hash. It
 * says what the headers say, and cannot be forged by whoever reaches that system past the proxy.
 */
import { hash, randomUUID } from 'node:crypto'
import type { TokenSigner } from '../crypto/token-signer.ts'
import type { Bearer } from '../oauth/bearer.ts'
import type { Service } from '../services/service.ts'
import type { Identity } from './identity.ts'
import type { OriginalRequest } from './original-request.ts'

const type = 'request-assertion+jwt'
const livesSeconds = 60

interface Subject {
  readonly bearer: Bearer
  readonly service: Service
  readonly identity: Identity
}

export function signAssertion(
  { signer, baseUrl }: { readonly signer: TokenSigner; readonly baseUrl: string },
  { bearer, service, identity }: Subject,
  request: OriginalRequest,
  now: Date,
): string {
  const iat = Math.floor(now.getTime() / 1000)
  return signer.sign(type, {
    iss: baseUrl,
    aud: service.id,
    iat,
    exp: Math.min(iat + livesSeconds, Math.floor(bearer.expiresAtMs / 1000)),
    jti: randomUUID(),
    request_hash: hashOf(request),
    ...identity.claims,
  })
}

/** No part can hold what parts them. */
function hashOf({ method, host, target }: OriginalRequest): string {
  return hash('sha256', `${method}\n${host}\n${target}`, 'base64url')
}
