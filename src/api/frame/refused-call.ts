/**
 * What may be written down of a refused call: who it came from, the rule that refused it, and what was sent
 * without its secrets.
 */
import type { FastifyRequest } from 'fastify'
import { addressOf } from '../../http/addresses.ts'
import type { Form } from '../../http/form.ts'
import { subnetOf } from '../../network/subnet.ts'
import type { RefusedCall } from '../../partners/refused-calls.ts'
import type { Problem } from '../../problem.ts'
import { cut } from '../../text/cut.ts'

type CallDescription = Omit<RefusedCall, 'environment' | 'at'>

/** Their values are no secrets; of everything else only its presence and length are told. */
const plain = new Set([
  ...[
    'grant_type',
    'response_type',
    'scope',
    'client_id',
    'redirect_uri',
    'code_challenge_method',
    'token_type_hint',
  ],
  ...['limit', 'cursor', 'kind', 'entity', 'from', 'to', 'after'],
])
const valueCharacters = 200
const sentCharacters = 1_000

/** Undefined when the call cannot be traced to a client. */
export function describeRefusedCall(request: FastifyRequest, problem: Problem): CallDescription | undefined {
  const route = addressOf(request).url
  if (!/^\/(v1|v2)\//.test(route) || problem.status >= 500) return undefined
  const { who } = request
  const clientId = who?.clientId ?? findClaim(request)
  if (who?.branchId === undefined && clientId === undefined) return undefined
  return {
    branchId: who?.branchId,
    clientId,
    isClaimed: who?.branchId === undefined,
    caller: who?.branchId === undefined ? subnetOf(request.ip) : `${who.branchId} ${clientId ?? 'member'}`,
    method: request.method,
    route,
    status: problem.status,
    code: problem.code,
    description: cut(problem.message, sentCharacters),
    sent: printSent(request),
    requestId: request.id,
  }
}

/** The client that the caller said it was. */
function findClaim(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '') ?? []
  const named =
    encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1').split(':')[0]
  const fields = [named, (request.body as Form | undefined)?.client_id, (request.query as Form)?.client_id]
  return fields.find((text): text is string => typeof text === 'string' && /^[A-Za-z0-9]{24}$/.test(text))
}

function printSent(request: FastifyRequest): string {
  const { authorization } = request.headers
  const scheme = authorization?.split(' ', 1)[0]?.toLowerCase()
  const head =
    authorization === undefined ? 'no Authorization header' : `Authorization: ${nameScheme(scheme)} ••••`
  const fields = [request.query, request.body].flatMap((part) =>
    Object.entries((part ?? {}) as Form).map(printField),
  )
  return cut([head, ...fields].join('\n'), sentCharacters)
}

/** What stands there may be a token without its scheme. */
function nameScheme(scheme: string | undefined): string {
  return scheme === 'basic' || scheme === 'bearer' ? scheme : '(neither Basic nor Bearer)'
}

/** What is nested may be nested without end: it is named, not printed. */
function printField([name, value]: [string, unknown]): string {
  const shown = /^[\w.-]{1,60}$/.test(name) ? name : '(a name that is none)'
  if (typeof value === 'object' && value !== null)
    return `${shown}=•••• (${Array.isArray(value) ? 'a list' : 'an object'})`
  const text = String(value)
  return plain.has(name)
    ? `${shown}=${cut(text, valueCharacters)}`
    : `${shown}=•••• (${text.length} characters)`
}
