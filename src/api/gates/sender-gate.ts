/** That a token comes from the sender that it is bound to: asked wherever a token is taken. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { certificateOf } from '../../http/client-certificate.ts'
import { type Bearer, schemeOf } from '../../oauth/bearer.ts'
import type { Binding } from '../../oauth/binding.ts'
import { normaliseAddress } from '../../oauth/dpop.ts'
import { BearerError } from '../../oauth/oauth-error.ts'
import { requireSender } from '../../oauth/sender.ts'
import { addressesOf } from './client-proof.ts'

/** The request that a proxy asks about: its certificate is not that of this connection. */
export interface ForeignRequest {
  readonly method: string
  readonly addresses: readonly string[]
}

type Bound = Pick<Bearer, 'demandsDpopNonces' | 'clientId' | 'branchId'> & {
  readonly binding: Binding | undefined
  readonly scopes?: Bearer['scopes']
}

export function admitSender(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  bearer: Bound,
  token: string,
  foreign?: ForeignRequest,
): void {
  const { authorization, dpop } = request.headers
  if (bearer.binding === undefined && authorization?.startsWith('Bearer ')) return
  const { dpopNonces, spentProofs, clock, config } = context
  const demandsNonce =
    bearer.demandsDpopNonces || (config.dpop.nonceForTrade && bearer.scopes?.includes('trade') === true)
  try {
    requireSender(
      bearer,
      {
        scheme: schemeOf(authorization) ?? 'Bearer',
        token,
        dpop: dpop === undefined ? undefined : String(dpop),
        certificate: foreign ? undefined : certificateOf(request)?.thumbprint,
        method: foreign?.method ?? request.method,
        addresses:
          foreign?.addresses.map((each) => normaliseAddress(each) ?? each) ?? addressesOf(context, request),
      },
      { nonces: dpopNonces, spentProofs, demandsNonce, now: clock.now() },
    )
  } catch (error) {
    request.formerly = bearer
    if (error instanceof BearerError && error.code === 'use_dpop_nonce') error.nonce = dpopNonces.current()
    throw error
  }
  if (demandsNonce) reply.header('dpop-nonce', dpopNonces.current())
}
