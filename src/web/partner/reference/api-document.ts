/**
 * /openapi.json as the pages of the reference read it, and the values of a partner that stand in for those of
 * its examples.
 */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
  readonly example?: unknown
}

interface Content {
  readonly schema: Schema
  readonly example?: unknown
}

/** One that several operations share is named, and described once. */
export interface DescribedAnswer {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, Content>>
}

interface OperationObject {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses?: Readonly<Record<string, DescribedAnswer>>
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, DescribedAnswer>>
  }
}

export interface Body {
  readonly type: string
  readonly schema: Schema
  readonly example: unknown
}

export interface Operation extends Omit<OperationObject, 'requestBody' | 'parameters'> {
  readonly path: string
  /** In capitals. */
  readonly method: string
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  /** With what it lets in; none of them where the route is public. */
  readonly takes: readonly ('client' | 'token')[]
}

/** What is the partner's own on this site, as far as there is any. */
export interface PartnerValues {
  readonly baseUrl: string
  readonly clientId: string
  readonly branchId: number
  readonly webhookId: number | undefined
  readonly deliveryId: string | undefined
}

export function operationsOf({ paths, components }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, parameters = [], ...rest }]) => ({
      ...{ ...rest, path, method: method.toUpperCase(), parameters },
      body: bodyOf(requestBody, components.schemas),
      takes: takenBy(rest),
    })),
  )
}

function bodyOf(requestBody: OperationObject['requestBody'], schemas: ApiDocument['components']['schemas']) {
  const [content] = Object.entries(requestBody?.content ?? {})
  if (!content) return undefined
  const [type, { schema, example }] = content
  return { type, schema: schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema, example }
}

function takenBy({ security = [] }: Pick<OperationObject, 'security'>): Operation['takes'] {
  const schemes = security.flatMap((each) => Object.keys(each))
  const takesToken = schemes.includes('personalToken') || schemes.includes('oauth2')
  return [
    ...(schemes.includes('clientBasic') ? (['client'] as const) : []),
    ...(takesToken ? ['token' as const] : []),
  ]
}

/** The partner's own number where it has one; undefined where it cannot be known. */
export function ownIdOf(
  { path }: Operation,
  name: string,
  { webhookId, deliveryId }: PartnerValues,
): number | string | undefined {
  if (name !== 'id') return undefined
  return path.startsWith('/v2/deliveries/') ? deliveryId : webhookId
}

/** The example of a body, of the partner's own branch. */
export function ownExample({ example }: Body, { branchId }: PartnerValues): unknown {
  const isOfBranch = typeof example === 'object' && example !== null && 'branchId' in example
  return isOfBranch ? { ...example, branchId } : example
}
