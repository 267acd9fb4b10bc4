/**
 * Every failure becomes a response here, in the shape its route speaks. Nothing of the inside leaves in one.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { DatabaseBusy, DatabaseUnavailable, isBlocked, WorkerAway } from '../database/database.ts'
import {
  type FieldProblem,
  findOverflow,
  Invalid,
  Problem,
  printDescription,
  Unavailable,
} from '../problem.ts'
import { addressOf } from './addresses.ts'

export type PrintPage = (problem: Problem, request: FastifyRequest, reply: FastifyReply) => string

export function errorHandler(log: Logger, printPage: PrintPage | undefined) {
  const tellTurnedAway = openTurnedAway(log)
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const problem = toProblem(error)
    if (problem.status >= 500) {
      if (error instanceof Problem || error instanceof DatabaseBusy) tellTurnedAway(problem)
      else log.error({ err: error, request_id: request.id }, 'request failed')
    }
    sendProblem(problem, request, reply, printPage)
  }
}

const turnedAwayEveryMs = 60_000

/**
 * What is turned away for want of room is many, and its stack tells nothing: it has a line a minute that
 * counts, beside the line of each request.
 */
function openTurnedAway(log: Logger): (problem: Problem) => void {
  let toldAtMs = Number.NEGATIVE_INFINITY
  let requests = 0
  return ({ code, message }) => {
    requests++
    const nowMs = performance.now()
    if (nowMs - toldAtMs < turnedAwayEveryMs) return
    log.warn({ requests, refusal: code, reason: message }, 'requests were turned away')
    toldAtMs = nowMs
    requests = 0
  }
}

export function sendProblem(
  problem: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
  printPage: PrintPage | undefined,
): void {
  request.refusal = problem
  const shape = addressOf(request).errors ?? (asksForHtml(request) ? 'page' : 'api')
  reply.status(problem.status).headers(problem.headers).header('cache-control', 'no-store')
  if (shape === 'oauth') reply.header('pragma', 'no-cache')
  if (printPage && shape === 'page' && prefersHtml(request)) {
    reply.type('text/html; charset=utf-8').send(printPage(problem, request, reply))
    return
  }
  const body = { error: problem.code, error_description: printDescription(problem.message) }
  const { fields, moved } = problem
  const extras = { ...(fields && { fields }), ...(moved && { moved }), request_id: request.id }
  reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(shape === 'oauth' ? body : { ...body, ...extras }))
}

/** A person unless JSON is asked for and HTML is not. */
export function prefersHtml(request: FastifyRequest): boolean {
  return asksForHtml(request) || !(request.headers.accept ?? '').includes('application/json')
}

function asksForHtml(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html')
}

type Refusal = [status: number, code: string, description: string]

const framework: ReadonlyMap<string, Refusal> = new Map([
  [
    'FST_ERR_CTP_BODY_TOO_LARGE',
    [413, 'invalid_request', 'The request body is larger than this endpoint accepts.'],
  ],
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    [415, 'invalid_request', 'This endpoint does not take that Content-Type.'],
  ],
  [
    'FST_ERR_CTP_EMPTY_JSON_BODY',
    [400, 'invalid_request', 'The request has no body; a JSON object is expected.'],
  ],
  ['FST_ERR_CTP_INVALID_JSON_BODY', [400, 'invalid_request', 'The request body is not JSON.']],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    [400, 'invalid_request', 'The request body is not as long as Content-Length says.'],
  ],
  ['FST_ERR_MAX_PARAM_LENGTH', [404, 'not_found', 'There is nothing at this address.']],
  ['FST_ERR_BAD_URL', [400, 'invalid_request', 'The address of the request is malformed.']],
])

/** Enough for a client to mend; a body of a million faults is not answered with a million sentences. */
const faultsAtMost = 100

/** PostgreSQL's text cannot hold U+0000; nothing that we store needs it. */
const textWithNul = '22021'

const unavailable = new Unavailable()
const workerAway = new Unavailable(
  'The server that keeps these events does not answer. Nothing is lost: what waits there is sent when it is back.',
)

export function toProblem(error: FastifyError | Problem | Error): Problem {
  if (error instanceof Problem) return error
  if (error instanceof WorkerAway) return workerAway
  if (error instanceof DatabaseUnavailable || isBlocked(error)) return unavailable
  const { code, validation, validationContext }: Partial<FastifyError> = error
  if (validation)
    return new Invalid(
      validation.slice(0, faultsAtMost).map((fault) => describeFault(fault, validationContext ?? 'request')),
    )
  if (code === textWithNul)
    return new Problem(400, 'invalid_request', 'The request contains a NUL character.')
  const known = framework.get(code ?? '') ?? refusalOf(error)
  if (known) return new Problem(...known)
  return new Problem(500, 'server_error', 'Something went wrong on our side. Tell support the request id.')
}

/**
 * The framework refuses in more ways than the table knows: what it holds against a request stays one of its
 * sender's.
 */
function refusalOf({ code, statusCode }: Partial<FastifyError>): Refusal | undefined {
  const isRefusal =
    code?.startsWith('FST_') && statusCode !== undefined && statusCode >= 400 && statusCode < 500
  if (!isRefusal) return undefined
  return [
    statusCode,
    'invalid_request',
    'The request cannot be used as it is. Check its method, headers and body.',
  ]
}

/** A fault of the validator in the words of the field's sender. */
export function describeFault(
  fault: {
    keyword?: string
    instancePath?: string
    params?: Record<string, unknown>
    message?: string
    parentSchema?: { examples?: unknown[]; minLength?: number; maxLength?: number }
    data?: unknown
  },
  where: string,
): FieldProblem {
  const { keyword, params = {}, message, parentSchema = {} } = fault
  const path = (fault.instancePath ?? '').slice(1).replaceAll('/', '.')
  const inside = (name: unknown) => (path === '' ? String(name) : `${path}.${name}`)
  switch (keyword) {
    case 'required':
      return { field: inside(params.missingProperty), problem: 'is missing' }
    case 'additionalProperties':
      return { field: inside(params.additionalProperty), problem: 'is not a field of this request' }
    case 'enum':
      return { field: path, problem: `must be one of ${[params.allowedValues].flat().join(', ')}` }
    case 'discriminator':
      return { field: inside(params.tag), problem: 'is none of the known ones' }
    case 'minLength':
    case 'maxLength':
      return { field: path, problem: describeLength(parentSchema) }
    case 'pattern':
      return { field: path, problem: `must look like ${parentSchema.examples?.[0]}` }
    case 'format':
      return { field: path, problem: `must look like an ${params.format}` }
    default:
      return { field: path || where, problem: findOverflow(fault.data) ?? message ?? 'is not valid' }
  }
}

function describeLength({ minLength = 0, maxLength }: { minLength?: number; maxLength?: number }): string {
  if (maxLength === undefined)
    return minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`
  return `must have ${minLength === 0 ? 'at most' : `${minLength} to`} ${maxLength} characters`
}
