/** GET /openapi.json for partners, and the same with the brokerage's own endpoints for its systems. */
import type { FastifyInstance } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import type { DescribedRoute } from '../../http/described-route.ts'
import { type Environment, environments } from '../../vocabulary/environment.ts'
import { recordOf } from '../../vocabulary/record-of.ts'
import { Type } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { describeAdministration, describeInterface, type OpenApiDocument } from './openapi.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What partners may know of the interface. */
    openapi(): OpenApiDocument
    internalOpenapi(environment: Environment): OpenApiDocument
    adminOpenapi(environment: Environment): OpenApiDocument
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
  handle: ({ environment }, _caller, request) => request.server.internalOpenapi(environment),
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
  handle: ({ environment }, _caller, request) => request.server.adminOpenapi(environment),
}

/** Written when it is first asked for: only then is the address of the site known. */
export function describeSite(
  app: FastifyInstance,
  routes: readonly DescribedRoute[],
  context: Context,
): void {
  app.decorate(
    'openapi',
    once(() => describeInterface(routes.filter(isOpen), context.baseUrl)),
  )
}

/** At the internal listener: what is open stands in its document too. */
export function describeInternal(
  app: FastifyInstance,
  routesOf: (context: Context) => readonly DescribedRoute[],
  contexts: Readonly<Record<Environment, Context>>,
): void {
  const ofEach = (describe: typeof describeInterface, isIts: (row: DescribedRoute) => boolean) => {
    const documents = recordOf(environments, (each) =>
      once(() => describe(routesOf(contexts[each]).filter(isIts), contexts[each].baseUrl)),
    )
    return (environment: Environment) => documents[environment]()
  }
  app.decorate(
    'internalOpenapi',
    ofEach(describeInterface, (row) => !isAdministration(row)),
  )
  app.decorate('adminOpenapi', ofEach(describeAdministration, isAdministration))
}

const isAdministration = ({ schema }: DescribedRoute) => schema.tags[0] === 'Administration'
const isOpen = ({ environmentOf }: DescribedRoute) => environmentOf === undefined

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}
