/** GET /openapi.json for partners, and the same with the brokerage's own endpoints for its systems. */
import type { FastifyInstance } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import type { DescribedRoute } from '../../http/described-route.ts'
import { Type } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import { describeInterface, type OpenApiDocument } from './openapi.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What partners may know of the interface. */
    openapi(): OpenApiDocument
    internalOpenapi(): OpenApiDocument
  }
}

const OpenApi = Type.Object(
  {},
  { title: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.', additionalProperties: true },
)

const schema = {
  summary: 'This interface as OpenAPI',
  security: [],
  response: { 200: OpenApi },
} as const

export const openApi: Endpoint<undefined> = {
  cors: '*',
  schema: {
    ...schema,
    operationId: 'getOpenApi',
    description: 'This document. Pages of any origin may read it.',
    tags: ['Discovery'],
  },
  handle: (_context, _caller, request) => request.server.openapi(),
}

export const internalOpenApi: Endpoint<Act> = {
  schema: {
    ...schema,
    operationId: 'getInternalOpenApi',
    description: "This document: the partners' one, with what only the brokerage's own systems may call.",
    tags: ['Internal'],
    security: [{ serviceBasic: [] }],
  },
  handle: (_context, _caller, request) => request.server.internalOpenapi(),
}

/** Written when it is first asked for: only then is the address of the site known. */
export function describeRoutes(
  app: FastifyInstance,
  routes: readonly DescribedRoute[],
  context: Context,
): void {
  const open = routes.filter(({ schema: { tags } }) => tags[0] !== 'Internal')
  app.decorate(
    'openapi',
    once(() => describeInterface(open, context.baseUrl)),
  )
  app.decorate(
    'internalOpenapi',
    once(() => describeInterface(routes, context.baseUrl)),
  )
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}
