/** GET /openapi.json: OpenAPI 3.1, made from the schemas that validate requests. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'

/** Before the routes: the plugin collects them as they are registered. */
export async function collectOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Brokerage Partner Interface',
        description: 'OAuth 2.0 authorization and signed webhooks for partner applications.',
        version: '1',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          client: { type: 'http', scheme: 'basic', description: 'client_id and client_secret' },
          service: {
            type: 'http',
            scheme: 'basic',
            description: "id and secret of one of the brokerage's own systems",
          },
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'An access token, a personal API token or a sandbox token',
          },
        },
      },
    },
  })
}

/** The document names the site it is read from. */
export function serveOpenApi(app: FastifyInstance, baseUrl: () => string): void {
  app.get('/openapi.json', { schema: { hide: true } as object }, () => ({
    ...app.swagger(),
    servers: [{ url: baseUrl() }],
  }))
}
