/**
 * Who sends a token: it counts from the sender alone that it is bound to. What a proof has to be about is said
 * by who takes the request, and never by the request.
 */
import type { ProofRule } from '../partners/proof-causes.ts'
import type { Bearer, TokenScheme } from './bearer.ts'
import { type Binding, bindingOfCertificate, bindingOfKey, isOfKey } from './binding.ts'
import { type DpopCheck, judgeProof, type ProvenRequest } from './dpop.ts'
import type { DpopNonces } from './dpop-nonce.ts'
import { BearerError } from './oauth-error.ts'
import type { ProofFault } from './proof.ts'
import type { SpentProofs } from './spent-proofs.ts'

/** How a token came. */
interface SentToken {
  readonly scheme: TokenScheme
  readonly token: string
  /** The header of this name. */
  readonly dpop: string | undefined
  /** Of the connection's certificate. */
  readonly certificate: string | undefined
  readonly method: string
  readonly addresses: readonly string[]
}

interface SenderJudge {
  readonly nonces: DpopNonces
  readonly spentProofs: SpentProofs
  readonly demandsNonce: boolean
  readonly now: Date
}

const otherSender = 'This token is bound to another sender.'

/** Throws unless the token may come from there, in this way. */
export function requireSender(
  { binding }: Pick<Bearer, 'binding'>,
  sending: SentToken,
  judge: SenderJudge,
): void {
  if (isOfKey(binding) !== (sending.scheme === 'DPoP')) throw otherScheme(binding)
  if (binding === undefined) return
  if (!isOfKey(binding)) {
    const { certificate } = sending
    if (certificate === undefined)
      throw refusal(
        'invalid_token',
        'This token is bound to a certificate: send it over a connection with that.',
        'token-certificate',
      )
    if (bindingOfCertificate(certificate) !== binding)
      throw refusal('invalid_token', otherSender, 'token-certificate')
    return
  }
  requireProof(binding, sending, judge)
}

function otherScheme(binding: Binding | undefined): BearerError {
  return refusal('invalid_token', `This token is ${schemeWords(binding)}.`, 'token-scheme')
}

function schemeWords(binding: Binding | undefined): string {
  if (binding === undefined) return 'bound to no key: send it after the word Bearer'
  if (isOfKey(binding)) return 'bound to a key: send it after the word DPoP, with a proof'
  return 'bound to a certificate: send it after the word Bearer'
}

function requireProof(
  binding: Binding,
  { dpop, token, method, addresses }: SentToken,
  { nonces, spentProofs, demandsNonce, now }: SenderJudge,
): void {
  if (dpop === undefined)
    throw refusal('invalid_dpop_proof', 'The DPoP header with a proof is missing.', 'dpop-missing')
  const request: ProvenRequest = { method, addresses, accessToken: token, nonces, demandsNonce, now }
  const { faults, thumbprint, use } = judgeProof(dpop, request)
  const [fault] = faults
  if (fault) throw faultRefusal(fault)
  if (!use || thumbprint === undefined || bindingOfKey(thumbprint) !== binding)
    throw refusal('invalid_token', otherSender, 'dpop-other-key')
  if (!spentProofs.spend(use.hash))
    throw refusal('invalid_dpop_proof', 'This proof was used before: make one for each request.', 'dpop-used')
}

function faultRefusal({ check, problem }: ProofFault<DpopCheck>): BearerError {
  return refusal(
    check === 'nonce' ? 'use_dpop_nonce' : 'invalid_dpop_proof',
    `The DPoP proof was refused: ${problem}.`,
    `dpop-${check}`,
  )
}

function refusal(code: BearerError['code'], description: string, rule: ProofRule): BearerError {
  return Object.assign(new BearerError(401, code, description), { rule })
}
