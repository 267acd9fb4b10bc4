/**
 * What is written down of a call of a partner's client: who made it, what it asked for by the names that we
 * gave, and what became of it. Of what was sent, nothing but the request's own id.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { after } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { addressOf } from '../../http/addresses.ts'
import type { Form } from '../../http/form.ts'
import type { RequestIdentity } from '../../http/log.ts'
import { networksOf } from '../../network/subnet.ts'
import { parseAssertion } from '../../oauth/client-assertion.ts'
import type { Call, CallFailure } from '../../partners/call-log.ts'
import { causeOf } from '../../partners/failure-causes.ts'

const nowhere = 'none'
const ofPartners = /^\/v[12]\//

type CallContext = Pick<Context, 'environment' | 'clock'>

/** Undefined when the call is no partner's, or cannot be traced to a client. */
export function describeCall(
  context: CallContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Call | undefined {
  const { url } = addressOf(request)
  if (url !== nowhere && !ofPartners.test(url)) return undefined
  const { who } = request
  if (who?.branchId !== undefined) return describe(context, request, reply, { url, caller: who, network: '' })
  const caller = request.formerly ?? findClaim(request)
  return (
    caller && describe(context, request, reply, { url, caller, network: networksOf(request.ip).at(-1)!.name })
  )
}

interface Origin {
  readonly url: string
  readonly caller: Pick<RequestIdentity, 'branchId' | 'clientId'>
  /** Empty for a caller that proved who it is. */
  readonly network: string
}

/** One object, because there is one for each call. */
function describe(
  { environment, clock }: CallContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { url, caller, network }: Origin,
): Call {
  const hasLeft = !reply.raw.headersSent
  const durationMs = Math.round(reply.elapsedTime * 10) / 10
  return {
    environment,
    branchId: caller.branchId,
    clientId: caller.clientId,
    isClaimed: network !== '',
    network,
    at: after(clock.now(), -durationMs),
    method: request.method,
    route: url === nowhere ? maskPath(request.url) : url,
    status: hasLeft ? left : reply.statusCode,
    durationMs,
    requestId: request.id,
    unmet: request.unmet?.length ? request.unmet : undefined,
    failure: hasLeft ? describeLeaving(request) : describeFailure(request, reply.statusCode),
  }
}

/** A status that nobody was answered. */
const left = 499

function describeLeaving({ raw }: FastifyRequest): CallFailure {
  return { code: 'client_left', cause: raw.complete ? 'left' : 'body-broken-off', fields: [] }
}

function describeFailure({ refusal }: FastifyRequest, status: number): CallFailure | undefined {
  if (!refusal && status < 400) return undefined
  const { code, message = '', fields = [], rule } = refusal ?? { code: 'refused' }
  return {
    code,
    cause: causeOf({ code, status, words: message, rule }),
    fields: [...new Set(fields.map(({ field }) => nameField(field)))],
  }
}

/** As long as a secret is, or no name at all: somebody has put a secret where a name belongs. */
const secretLength = 20
const secretShape = new RegExp(`[\\w-]{${secretLength},}`, 'g')

function nameField(field: string): string {
  return /^[\w.-]{1,60}$/.test(field) && field.search(secretShape) < 0 ? field : '(another name)'
}

/** Of an address at which there is nothing, so that its sender finds the letter that is wrong. */
function maskPath(url: string): string {
  const [path = ''] = url.split('?', 1)
  return `/${path
    .replace(/^\/+/, '')
    .replace(/[^!-~]/g, '?')
    .replace(secretShape, '••••')
    .slice(0, 200)}`
}

const idShape = /^[A-Za-z0-9]{24}$/

/** The client that the caller said it was. */
function findClaim(request: FastifyRequest): Pick<Call, 'branchId' | 'clientId'> | undefined {
  const { authorization } = request.headers
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '') ?? []
  const named =
    encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1').split(':')[0]
  const form = request.body as Form | undefined
  const claims = [
    named,
    ...namedByAssertion(form?.client_assertion),
    form?.client_id,
    (request.query as Form)?.client_id,
  ]
  const clientId = claims.find((text): text is string => typeof text === 'string' && idShape.test(text))
  return clientId === undefined ? undefined : { branchId: undefined, clientId }
}

/** Whatever else is wrong with it. */
function namedByAssertion(text: unknown): readonly unknown[] {
  const claims = typeof text === 'string' ? parseAssertion(text)?.claims : undefined
  return claims === undefined ? [] : [claims.sub, claims.iss]
}
