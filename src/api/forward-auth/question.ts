/** What a proxy asks at a door: who it is, which request it has, and what its route needs. */
import type { FastifyRequest } from 'fastify'
import { type HeaderLines, isDoubled, Misconfigured, readHead, readOnce } from '../../forward-auth/head.ts'
import { type Needs, readNeeds } from '../../forward-auth/needs.ts'
import type { Contract, OriginalRequest } from '../../forward-auth/original-request.ts'
import { queryOf } from '../../http/form.ts'
import type { ClientCredentials } from '../../oauth/client-credentials.ts'
import { BearerError } from '../../oauth/oauth-error.ts'
import { readService, serviceHeader } from './proxy-gate.ts'

export interface Door {
  readonly path: string
  readonly contract: Contract
  /** Where the route says what it needs, if not in the query of its address. */
  readonly needsHeader?: string
  /** What stands for 429 where the proxy takes 401 and 403 alone for a no. */
  readonly tooMany?: 403
}

export interface ProxyQuestion {
  readonly credentials: ClientCredentials
  readonly original: OriginalRequest
  readonly needs: Needs
  /** Which is the client's fault. */
  readonly hasTwoBearers: boolean
}

/** Throws where something is missing, or was not said by the proxy alone. */
export function openReader({
  path,
  contract,
  needsHeader,
}: Door): (request: FastifyRequest) => ProxyQuestion {
  const names = new Set([serviceHeader, 'authorization', ...contract.headers])
  if (needsHeader) names.add(needsHeader)
  const before = path.replace('/*', '').length
  return ({ raw }) => {
    const { url = '', method = '' } = raw
    const head = readHead(raw.rawHeaders, names)
    return {
      credentials: readService(head),
      original: contract.read(head, method, url.slice(before)),
      needs: readNeeds(needsHeader ? readHeader(head, needsHeader) : queryOf(url)),
      hasTwoBearers: isDoubled(head, 'authorization'),
    }
  }
}

/** A proxy that adds to a header instead of replacing it parts the two by a comma. */
function readHeader(head: HeaderLines, name: string): string {
  const text = readOnce(head, name, 'needs')
  if (text.includes(',')) throw new Misconfigured('needs_doubled', `${name} may hold no comma.`)
  return text
}

/** Node would take the first, and the system behind the proxy perhaps another. */
export function requireOneBearer({ hasTwoBearers }: ProxyQuestion): void {
  if (hasTwoBearers)
    throw new BearerError(401, 'invalid_token', 'The Authorization header was sent more than once.')
}
