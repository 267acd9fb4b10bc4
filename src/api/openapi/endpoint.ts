/** GET /openapi.json for partners, and the same with the brokerage's own endpoints for its systems. */
import type { FastifyInstance } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import type { DescribedRoute, Tag } from '../../http/described-route.ts'
import { Type } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { describeAdministration, describeInterface, type OpenApiDocument } from './openapi.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What partners may know of the interface. */
    openapi(): OpenApiDocument
    internalOpenapi(): OpenApiDocument
    adminOpenapi(): OpenApiDocument
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

export const adminOpenApi: Endpoint<Administrator> = {
  schema: {
    ...schema,
    operationId: 'getAdminOpenApi',
    description: 'This document: what programs administer.',
    tags: ['Administration'],
    security: [{ adminCredential: [] }],
    mayForbid: true,
  },
  handle: (_context, _caller, request) => request.server.adminOpenapi(),
}

/** Written when it is first asked for: only then is the address of the site known. */
export function describeRoutes(
  app: FastifyInstance,
  routes: readonly DescribedRoute[],
  context: Context,
): void {
  const isFor = (audience: Tag) => (row: DescribedRoute) => row.schema.tags[0] === audience
  const others = routes.filter((row) => !isFor('Administration')(row))
  const open = others.filter((row) => !isFor('Internal')(row))
  app.decorate(
    'openapi',
    once(() => describeInterface(open, context.baseUrl)),
  )
  app.decorate(
    'internalOpenapi',
    once(() => describeInterface(others, context.baseUrl)),
  )
  app.decorate(
    'adminOpenapi',
    once(() => describeAdministration(routes.filter(isFor('Administration')), context.baseUrl)),
  )
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}
