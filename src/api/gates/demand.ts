/** What the profile of a client demands of a call: refused, or noted for a client that is moving. */
import type { FastifyRequest } from 'fastify'
import { type DemandName, demandError, profileOf, weightOf } from '../../oauth/profile.ts'
import type { Client } from '../../partners/client.ts'

export function demand(
  request: FastifyRequest,
  client: Pick<Client, 'fapi2From'>,
  name: DemandName,
  isMet: boolean,
  now: Date,
): void {
  if (isMet) return
  const weight = weightOf(name, profileOf(client, now))
  if (weight === 'demanded') throw demandError(name)
  if (weight === 'noted') request.unmet = [...(request.unmet ?? []), name]
}
