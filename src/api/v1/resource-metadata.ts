/**
 * RFC 9728: GET /.well-known/oauth-protected-resource, for the site and for each address that takes a bearer
 * token.
 */
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import type { Context } from '../../context.ts'
import { namedAlgorithms } from '../../crypto/jwk.ts'
import type { OperationSchema } from '../../http/described-route.ts'
import { Type, text } from '../../vocabulary/schema.ts'
import { scopes } from '../../vocabulary/scope.ts'
import { type Endpoint, type Route, route } from '../frame/route.ts'
import type { Protection } from '../gates/gate.ts'
import { anyone } from '../gates/gates.ts'
import { pathOf, resourceMetadataPath } from '../gates/protection.ts'
import { documentationOf } from '../openapi/words.ts'
import { boundByCertificate, describeBinding } from './mutual-tls.ts'

const words = Type.Array(Type.String(), { description: 'What is supported.' })

const ResourceMetadata = Type.Object(
  {
    resource: text('What the document is about.', 'https://api.example.com'),
    resource_name: text('Its name, for people.', 'Brokerage Partner Interface'),
    authorization_servers: Type.Optional(
      Type.Array(Type.String(), { description: 'Who issues tokens for it.' }),
    ),
    scopes_supported: words,
    bearer_methods_supported: words,
    dpop_signing_alg_values_supported: words,
    dpop_bound_access_tokens_required: Type.Boolean({
      description: 'Not of every application: of those whose profile is fapi2.',
    }),
    ...boundByCertificate,
    resource_documentation: text(
      'The partner portal, for people; for programs there is /openapi.json.',
      'https://api.example.com/partner',
    ),
  },
  { title: 'ResourceMetadata', description: 'What RFC 9728 lists of this resource.' },
)
type ResourceMetadata = Static<typeof ResourceMetadata>

type ResourceFields = Pick<ResourceMetadata, 'resource' | 'authorization_servers' | 'scopes_supported'>

const schema: OperationSchema = {
  operationId: 'getProtectedResourceMetadata',
  summary: 'Which authorization server and which scopes the interface takes tokens of',
  description:
    'RFC 9728. Beside each address that takes a bearer token stands a document of its own, which its challenges name. Pages of any origin may read them.',
  tags: ['Discovery'],
  security: [],
  response: { 200: ResourceMetadata },
}

/** The site takes what one of its addresses takes. */
function siteMetadata(demands: readonly Protection[]): Endpoint<undefined> {
  const taken = new Set(demands.flatMap(({ tokens, scope }) => (tokens === 'issued' ? [scope] : [])))
  const scopes_supported = scopes.filter((scope) => taken.has(scope))
  return {
    cors: '*',
    schema,
    handle(context, _caller, _request, reply) {
      const { baseUrl } = context
      const servers = { authorization_servers: [baseUrl] }
      return sendMetadata(reply, context, { resource: baseUrl, ...servers, scopes_supported })
    },
  }
}

/** RFC 9728, 3.3: clients believe a challenge's document only if it is about the address they called. */
export function describeResources(routes: readonly Route[]): Route[] {
  const demands = new Map(routes.flatMap(({ path, protection }) => (protection ? [[path, protection]] : [])))
  return [
    route('GET', resourceMetadataPath, anyone, siteMetadata([...demands.values()])),
    ...[...demands].map(([path, protection]) =>
      route('GET', resourceMetadataPath + path, anyone, addressMetadata(protection)),
    ),
  ]
}

function addressMetadata({ scope, tokens }: Protection): Endpoint<undefined> {
  return {
    isHidden: true,
    cors: '*',
    schema,
    handle(context, _caller, request, reply) {
      const { baseUrl } = context
      const resource = baseUrl + pathOf(request).slice(resourceMetadataPath.length)
      const servers = tokens === 'issued' ? { authorization_servers: [baseUrl] } : {}
      return sendMetadata(reply, context, { resource, ...servers, scopes_supported: [scope] })
    },
  }
}

function sendMetadata(reply: FastifyReply, context: Context, particular: ResourceFields): FastifyReply {
  const document: ResourceMetadata = {
    ...particular,
    resource_name: 'Brokerage Partner Interface',
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: [...namedAlgorithms],
    dpop_bound_access_tokens_required: false,
    ...describeBinding(context),
    resource_documentation: documentationOf(context.baseUrl),
  }
  return reply.header('cache-control', 'public, max-age=3600').send(document)
}
