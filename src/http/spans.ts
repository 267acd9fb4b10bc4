/**
 * A span per request, where spans are collected; otherwise no request is touched. Health checks have none.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressOf } from './addresses.ts'
import { hearOfLeaving } from './leaving.ts'
import type { RequestIdentity } from './log.ts'

export interface AnsweredRequest {
  readonly method: string
  /** As it stands in the table of routes, never as it was asked for. */
  readonly route: string
  readonly requestId: string
  readonly who: RequestIdentity | undefined
  readonly refusal: string | undefined
  /** Undefined for a caller who left before the answer. */
  readonly status: number | undefined
}

export interface RequestSpan {
  readonly traceId: string
  /** As W3C prints it, for whatever comes of the request. */
  readonly traceparent: string
  end(answered: AnsweredRequest): void
}

export type OpenSpan = (name: string, traceparent: string | undefined) => RequestSpan

declare module 'fastify' {
  interface FastifyRequest {
    span: RequestSpan | undefined
  }
}

export function traceRequests(app: FastifyInstance, openSpan: OpenSpan): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { logLevel } = request.routeOptions
    const traceparent = request.headers.traceparent
    if (logLevel !== 'silent')
      request.span = openSpan(`${request.method} ${addressOf(request).url}`, [traceparent].flat()[0])
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    endSpan(request, reply.statusCode)
    done()
  })
  hearOfLeaving(app, (request) => endSpan(request, undefined))
}

function endSpan(request: FastifyRequest, status: number | undefined): void {
  const { method, id: requestId, who } = request
  const refusal = request.refusal?.code
  request.span?.end({ method, route: addressOf(request).url, requestId, who, refusal, status })
}
