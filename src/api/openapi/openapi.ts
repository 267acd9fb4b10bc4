/**
 * The document of the interface: OpenAPI 3.1, whose schemas are JSON Schema as it stands, so that what judges
 * a request is what is printed here. Named schemas move to `components`; refusals and their headers follow
 * from the rows.
 */
import type { TObject, TSchema } from 'typebox'
import type { DescribedRoute, HeaderName } from '../../http/described-route.ts'
import { signedIntrospectionType } from '../../oauth/introspection.ts'
import { OAuthErrorBody, ProblemBody } from '../frame/problem-body.ts'
import { type Refusal, rateHeaders, refusals, takesClients, takesTokens } from '../frame/refusals.ts'
import { mediaTypes } from '../frame/route.ts'
import { openComponents } from './components.ts'
import { exampleOf } from './example.ts'
import { describeCallbacks, describeWebhooks, receiverTag } from './webhooks.ts'
import { about, aboutAdministration, headers, schemes, tags } from './words.ts'

export type OpenApiDocument = ReturnType<typeof describeInterface>

/** What partners and the brokerage's systems call, and what is sent to partners. */
export function describeInterface(routes: readonly DescribedRoute[], baseUrl: string) {
  return describeDocument(routes, baseUrl, { info: about(baseUrl), server: baseUrl, sends: true })
}

export function describeAdministration(routes: readonly DescribedRoute[], baseUrl: string): OpenApiDocument {
  return describeDocument(routes, baseUrl, {
    ...{ info: aboutAdministration(baseUrl), server: internalServer, sends: false },
  })
}

/** Where the document itself was found. */
const internalServer = '/'

interface Document {
  readonly info: ReturnType<typeof about>
  readonly server: string
  /** Whether partners are sent something. */
  readonly sends: boolean
}

function describeDocument(
  routes: readonly DescribedRoute[],
  baseUrl: string,
  { info, server, sends }: Document,
) {
  const components = openComponents()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const row of routes) {
    const path = row.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [String(row.method).toLowerCase()]: describeOperation(row, components.place, server),
    }
  }
  const responses = Object.fromEntries(
    refusals.flatMap((refusal) =>
      shapesOf(refusal, routes).map((row) => [
        nameOf(refusal, row),
        describeRefusal(refusal, row, components.place),
      ]),
    ),
  )
  const webhooks = sends ? describeWebhooks(components.place) : undefined
  const usedTags = new Set<string>([
    ...routes.map(({ schema }) => schema.tags[0]),
    ...(sends ? [receiverTag] : []),
  ])
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: server }],
    tags: tags.filter(({ name }) => usedTags.has(name)),
    paths,
    ...(webhooks && { webhooks }),
    components: {
      schemas: components.all(),
      responses,
      headers: usedHeaders({ paths, responses }),
      securitySchemes: usedSchemes(routes, baseUrl),
    },
  }
}

type Place = (schema: TSchema) => object

function describeOperation(row: DescribedRoute, place: Place, server: string) {
  const { operationId, summary, description, tags: words, security, body, makesWebhook } = row.schema
  const parameters = describeParameters(row, place)
  const isElsewhere = row.environmentOf !== undefined && server !== internalServer
  const applying = refusals.filter((refusal) => refusal.applies(row))
  const refused = applying.map((refusal) => [
    refusal.status,
    { $ref: `#/components/responses/${nameOf(refusal, row)}` },
  ])
  return {
    ...{ operationId, summary, description, tags: words, security },
    ...(isElsewhere && { servers: [{ url: internalServer }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { [mediaTypeOf(row)]: describeContent(body, place) } },
    }),
    responses: { ...describeAnswers(row, place), ...Object.fromEntries(refused) },
    ...(makesWebhook && { callbacks: describeCallbacks(place) }),
  }
}

function mediaTypeOf({ takes }: DescribedRoute): string {
  return mediaTypes[takes]
}

function describeContent(schema: TSchema & { examples?: unknown[] }, place: Place) {
  return { schema: place(schema), ...(schema.examples && { example: schema.examples[0] }) }
}

function describeParameters({ schema }: DescribedRoute, place: Place): object[] {
  const parts = [
    ['path', schema.params],
    ['query', schema.querystring],
    ['header', schema.headers],
  ] as const
  return parts.flatMap(([where, part]) =>
    Object.entries((part as TObject | undefined)?.properties ?? {}).map(([name, each]) => {
      const { description, examples, ...rest } = each as TSchema & {
        description?: string
        examples?: unknown[]
      }
      return {
        name: where === 'header' ? headerName(name) : name,
        in: where,
        required: part!.required?.includes(name) ?? false,
        description,
        schema: place(rest),
        ...(examples && { example: examples[0] }),
      }
    }),
  )
}

/** As the standards write it. */
function headerName(name: string): string {
  return name.replace(/(^|-)(\w)/g, (_, dash, letter) => dash + letter.toUpperCase()).replace(/Id$/, 'ID')
}

function describeAnswers(row: DescribedRoute, place: Place): Record<string, object> {
  const { response, stream, lines, signed, answerHeaders = [] } = row.schema
  const names: HeaderName[] = [
    ...answerHeaders,
    ...(takesTokens(row) ? rateHeaders : []),
    ...(takesClients(row) ? (['Deprecation', 'Sunset'] as const) : []),
    'X-Request-Id',
  ]
  return Object.fromEntries(
    Object.entries(response).map(([status, schema]) => {
      const { type, description } = schema as { type?: string; description?: string }
      const content = {
        ...(![stream, lines].includes(schema) && {
          'application/json': { schema: place(schema), example: exampleOf(schema) },
        }),
        ...(lines && { [mediaTypes.lines]: describeContent(lines, place) }),
        ...(stream && { 'text/event-stream': describeContent(stream, place) }),
        ...(signed && { [signedIntrospectionType]: describeContent(signed, place) }),
      }
      return [status, { description, headers: refer(names), ...(type !== 'null' && { content }) }]
    }),
  )
}

function refer(names: readonly HeaderName[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** A row of each shape in which a refusal is told. */
function shapesOf(refusal: Refusal, routes: readonly DescribedRoute[]): DescribedRoute[] {
  const telling = routes.filter((row) => refusal.applies(row))
  return [...new Map(telling.map((row) => [row.errors ?? 'api', row])).values()]
}

const prefixes = { api: '', oauth: 'OAuth', page: 'Page' }

function nameOf({ name }: Refusal, { errors }: DescribedRoute): string {
  return prefixes[errors ?? 'api'] + name
}

function describeRefusal(refusal: Refusal, { errors }: DescribedRoute, place: Place) {
  const { description, headers: names } = refusal
  const isOAuth = errors === 'oauth'
  const schema = isOAuth ? OAuthErrorBody : ProblemBody
  const json = { 'application/json': { schema: place(schema), example: exampleOfRefusal(refusal, isOAuth) } }
  const html = { 'text/html': { schema: { type: 'string' } } }
  return {
    description,
    headers: refer([...names, 'X-Request-Id']),
    content: errors === 'page' ? { ...html, ...json } : json,
  }
}

function exampleOfRefusal({ status, example: [error, words] }: Refusal, isOAuth: boolean): object {
  if (isOAuth) return { error: oauthCodes[status] ?? error, error_description: words }
  const fields = status === 400 && { fields: [{ field: 'url', problem: 'is missing' }] }
  return { error, error_description: words, ...fields, request_id: 'k3jf8s2a-1f' }
}

/** Where RFC 6749 has a word of its own. */
const oauthCodes: Readonly<Record<number, string>> = { 401: 'invalid_client' }

function usedHeaders(answers: object): Partial<typeof headers> {
  const text = JSON.stringify(answers)
  const used = Object.entries(headers).filter(([name]) => text.includes(`"#/components/headers/${name}"`))
  return Object.fromEntries(used)
}

function usedSchemes(routes: readonly DescribedRoute[], baseUrl: string) {
  const used = new Set(routes.flatMap(({ schema }) => schema.security.flatMap((each) => Object.keys(each))))
  return Object.fromEntries(Object.entries(schemes(baseUrl)).filter(([name]) => used.has(name)))
}
