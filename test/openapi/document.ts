/** The document of a gateway as its readers see it: operations, and values judged by what it says alone. */
import Schema from 'typebox/schema'
import { send } from '../support/browser.ts'

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly pattern?: string
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly discriminator?: {
    readonly propertyName: string
    readonly mapping: Readonly<Record<string, string>>
  }
  readonly oneOf?: readonly JsonSchema[]
}

export interface Content {
  readonly schema: JsonSchema
  readonly example?: unknown
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: unknown
}

export interface Response {
  readonly $ref?: string
  readonly description: string
  readonly headers: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, Content>>
}

export interface Operation {
  readonly path: string
  readonly method: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface OpenApi {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'path' | 'method'>>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, Response>>
    readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>
    readonly securitySchemes: Readonly<Record<string, { readonly type: string; readonly flows?: unknown }>>
  }
}

export async function readDocument(
  baseUrl: string,
  path = '/openapi.json',
  headers: Record<string, string> = {},
): Promise<OpenApi> {
  const answer = await send(baseUrl + path, { headers })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer.json<OpenApi>()
}

export function operationsOf({ paths }: OpenApi): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { parameters = [] } = operation as { parameters?: Operation['parameters'] }
      return { ...operation, parameters, path, method }
    }),
  )
}

export function operationOf(document: OpenApi, operationId: string): Operation {
  const found = operationsOf(document).find((operation) => operation.operationId === operationId)
  if (!found) throw new Error(`There is no operation ${operationId}.`)
  return found
}

export function responseOf(document: OpenApi, operation: Operation, status: number): Response | undefined {
  const response = operation.responses[status]
  return response?.$ref === undefined
    ? response
    : document.components.responses[response.$ref.split('/').at(-1)!]
}

/** Whether the document, by itself, allows the value. */
export function allows({ components }: OpenApi, schema: JsonSchema, value: unknown): boolean {
  return Schema.Compile({ ...schema, components } as never).Check(value)
}

export function bodyOf({ requestBody }: Operation): [mediaType: string, content: Content] {
  const [content] = Object.entries(requestBody?.content ?? {})
  if (!content) throw new Error('There is no body.')
  return content
}

/** Every schema that is in it somewhere, with the place it stands at. */
export function* schemasIn(value: unknown, place = ''): Generator<[place: string, schema: JsonSchema]> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    if (['example', 'examples', 'mapping', 'enum', 'required', 'default'].includes(name)) continue
    const inner = `${place}/${name}`
    if (isSchemaPlace(place, name) && typeof part === 'object' && part !== null)
      yield [inner, part as JsonSchema]
    yield* schemasIn(part, inner)
  }
}

function isSchemaPlace(place: string, name: string): boolean {
  return name === 'schema' || name === 'items' || /\/(properties|schemas|oneOf|anyOf)$/.test(place)
}
