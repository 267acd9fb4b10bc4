/**
 * How a client without a secret says who it is (private_key_jwt, or its certificate), and which sender it
 * proves to be: what the tokens that it gets are bound to. What counts once is written down when both are
 * sound, and before anything comes of them: what is refused before that uses up nothing.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { certificateOf } from '../../http/client-certificate.ts'
import type { Form } from '../../http/form.ts'
import { type Binding, bindingOfCertificate, bindingOfKey } from '../../oauth/binding.ts'
import {
  type Assertion,
  type AssertionCheck,
  assertionType,
  type JudgedAssertion,
  judgeAssertion,
  parseAssertion,
} from '../../oauth/client-assertion.ts'
import { matchCertificate } from '../../oauth/client-certificate.ts'
import { judgeProof, normaliseAddress } from '../../oauth/dpop.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import type { ProofUse } from '../../oauth/proof.ts'
import type { Registration } from '../../partners/client.ts'
import { countFailure, failureKey } from './failures.ts'
import { pathOf } from './protection.ts'
import { findRotated } from './rotated-keys.ts'

/** Whether the client says who it is in another way than by a secret. */
export function showsProof(request: FastifyRequest): boolean {
  const form = (request.body ?? {}) as Form
  if (form.client_assertion !== undefined || form.client_assertion_type !== undefined) return true
  return !showsSecret(request) && typeof form.client_id === 'string' && certificateOf(request) !== undefined
}

function showsSecret(request: FastifyRequest): boolean {
  return (
    request.headers.authorization !== undefined || ((request.body ?? {}) as Form).client_secret !== undefined
  )
}

export function showsSender(request: FastifyRequest): boolean {
  return request.headers.dpop !== undefined || certificateOf(request) !== undefined
}

/** Who has proved what, so far without anything being used up. */
export interface ProvenClient {
  readonly client: Registration
  readonly use: ProofUse | undefined
}

export async function proveClient(context: Context, request: FastifyRequest): Promise<ProvenClient> {
  const { client_assertion: text, client_assertion_type: type, client_id: id } = (request.body ?? {}) as Form
  if (text === undefined && type === undefined) return proveByCertificate(context, request, String(id))
  if (showsSecret(request))
    throw new OAuthError(
      'invalid_request',
      'The client authenticates in two ways at once. Send client_assertion alone, without a secret.',
    )
  if (type !== assertionType)
    throw new OAuthError('invalid_request', `client_assertion_type must be ${assertionType}.`)
  const assertion = typeof text === 'string' ? parseAssertion(text) : undefined
  if (!assertion) throw await refuse(context, request, 'form', undefined)
  if (typeof id === 'string' && id !== '' && id !== assertion.clientId)
    throw await refuse(context, request, 'client', assertion.clientId)
  return proveByAssertion(context, request, assertion)
}

async function proveByAssertion(
  context: Context,
  request: FastifyRequest,
  assertion: Assertion,
): Promise<ProvenClient> {
  const { clients, clientFailures, clock } = context
  const id = assertion.clientId ?? ''
  clientFailures.check(failureKey(request, id))
  let client = clients.recall(id)
  let judged = client && judge(context, assertion, client)
  if (!judged?.use) {
    // A key may have been added a moment ago on another node: nobody is refused from memory.
    client = await clients.findAnew(id)
    judged = client && judge(context, assertion, client)
  }
  if (client && judged && isOfOtherKey(judged)) {
    const isIt = (found: Registration) => judge(context, assertion, found)?.use !== undefined
    client = (await findRotated(context, client, isIt)) ?? client
    judged = judge(context, assertion, client)
  }
  if (client && judged?.use) {
    if (judged.keyId !== undefined) context.lastUse.ofKey(judged.keyId, clock.now())
    return { client, use: judged.use }
  }
  throw await refuse(context, request, judged?.faults[0]?.check ?? 'client', id)
}

/** All else is sound: the key may have come to the client's address since. */
function isOfOtherKey({ faults, use }: JudgedAssertion): boolean {
  return !use && faults.every(({ check }) => check === 'key' || check === 'signature')
}

/** Undefined for a client of the other site. */
function judge(
  { environment, baseUrl, clock }: Context,
  assertion: Assertion,
  client: Registration,
): JudgedAssertion | undefined {
  if (client.environment !== environment) return undefined
  const { id: clientId, keys } = client
  return judgeAssertion(assertion, { clientId, keys, issuer: baseUrl, now: clock.now() })
}

async function proveByCertificate(
  context: Context,
  request: FastifyRequest,
  id: string,
): Promise<ProvenClient> {
  const { clients, clientFailures, clock, config, environment } = context
  clientFailures.check(failureKey(request, id))
  const shown = certificateOf(request)
  const isIts = (client: Registration | undefined): client is Registration =>
    client?.environment === environment &&
    shown !== undefined &&
    matchCertificate(client, shown, clock.now(), config.mtls.authorities)
  const known = clients.recall(id)
  let client = isIts(known) ? known : await clients.findAnew(id)
  if (client?.environment === environment && !isIts(client))
    client = await findRotated(context, client, isIts)
  if (isIts(client)) return { client, use: undefined }
  throw await refuse(context, request, 'certificate', id)
}

/** The same words whatever is wrong: the rule behind it is told to the partner, in its portal. */
async function refuse(
  context: Context,
  request: FastifyRequest,
  check: AssertionCheck | 'certificate',
  id: string | undefined,
): Promise<OAuthError> {
  const claimed = await context.clients.find(id ?? '')
  if (claimed) request.formerly = { clientId: claimed.id, branchId: claimed.branchId }
  await countFailure(context, request, failureKey(request, id ?? ''))
  return new OAuthError(
    'invalid_client',
    'The client assertion or the certificate does not say that it is this client. The calls in the partner portal show why, and the checker there does before you call.',
    `assertion-${check}`,
  )
}

/** What the tokens will be bound to, and what of it counts once. */
interface ProvenSender {
  readonly binding: Binding | undefined
  readonly use: ProofUse | undefined
}

/** A proof where one is sent; otherwise the certificate that the client came with. */
export function proveSender(context: Context, request: FastifyRequest, client: Registration): ProvenSender {
  const { dpop } = request.headers
  if (dpop === undefined) {
    const shown = certificateOf(request)
    return { binding: shown && bindingOfCertificate(shown.thumbprint), use: undefined }
  }
  const { dpopNonces, clock } = context
  const { faults, thumbprint, use } = judgeProof(String(dpop), {
    method: request.method,
    addresses: addressesOf(context, request),
    nonces: dpopNonces,
    demandsNonce: client.demandsDpopNonces,
    now: clock.now(),
  })
  const [fault] = faults
  if (fault?.check === 'nonce') throw wantNonce(context, `The DPoP proof was refused: ${fault.problem}.`)
  if (fault || thumbprint === undefined)
    throw new OAuthError(
      'invalid_dpop_proof',
      `The DPoP proof was refused: ${fault?.problem}.`,
      `dpop-${fault?.check ?? 'form'}`,
    )
  return { binding: bindingOfKey(thumbprint), use }
}

function wantNonce({ dpopNonces }: Context, description: string): OAuthError {
  return new OAuthError('use_dpop_nonce', description, 'dpop-nonce', { 'dpop-nonce': dpopNonces.current() })
}

/** Of this site, as it is configured: a header that says where a request was sent proves nothing. */
export function addressesOf({ baseUrl, mtlsUrl }: Context, request: FastifyRequest): readonly string[] {
  const path = pathOf(request)
  const origins = mtlsUrl === undefined ? [baseUrl] : [baseUrl, mtlsUrl]
  return origins.map((origin) => normaliseAddress(origin + path) ?? origin)
}

/** Every one counts once, on all nodes. */
export async function useUp(
  { usedProofs }: Context,
  proven: ProvenClient,
  sender?: ProvenSender,
): Promise<void> {
  const [isClientNew, isSenderNew] = await Promise.all(
    [proven.use, sender?.use].map((use) => use === undefined || usedProofs.take(use)),
  )
  if (!isClientNew)
    throw new OAuthError(
      'invalid_client',
      'This client assertion was used before: sign one for each request, with a jti of its own.',
      'assertion-used',
    )
  if (!isSenderNew)
    throw new OAuthError(
      'invalid_dpop_proof',
      'This DPoP proof was used before: make one for each request.',
      'dpop-used',
    )
}
