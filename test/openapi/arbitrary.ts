/** Values that a schema allows, and values near them that it may not: made of the document alone. */
import fc, { type Arbitrary } from 'fast-check'
import type { JsonSchema, OpenApi } from './document.ts'

/** What schemas of ours say beside what their readers look at. */
interface Schema extends JsonSchema {
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

const deepest = 4

/** As the schema has it, but for what no generator knows. */
export function conforming(document: OpenApi, schema: JsonSchema, depth = 0): Arbitrary<unknown> {
  const made = make(document, resolve(document, schema), depth)
  const { examples } = resolve(document, schema)
  return examples?.length
    ? fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...examples) }, { weight: 3, arbitrary: made })
    : made
}

function resolve({ components }: OpenApi, schema: JsonSchema): Schema {
  const { $ref } = schema
  return ($ref === undefined ? schema : components.schemas[$ref.split('/').at(-1)!]!) as Schema
}

function make(document: OpenApi, schema: Schema, depth: number): Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.oneOf) return fc.oneof(...schema.oneOf.map((each) => conforming(document, each, depth)))
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return schema.properties ? makeObject(document, schema, depth) : anything
  return fc.oneof(...types.map((type) => makeOf(type, document, schema, depth)))
}

function makeOf(type: string, document: OpenApi, schema: Schema, depth: number): Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.maxSafeInteger().map((each) => within(each, schema))
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => within(each, schema))
    case 'array':
      return fc.array(schema.items ? conforming(document, schema.items, depth + 1) : anything, {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3 + (schema.minItems ?? 0)),
      })
    case 'object':
      return makeObject(document, schema, depth)
    default:
      return makeText(schema)
  }
}

function within(value: number, { minimum, maximum }: Schema): number {
  const low = minimum ?? Number.MIN_SAFE_INTEGER
  const high = maximum ?? Number.MAX_SAFE_INTEGER
  if (value >= low && value <= high) return value
  return low + (Math.abs(value) % Math.max(1, Math.min(high - low, 1_000)))
}

function makeText({ pattern, minLength = 0, maxLength = 60 }: Schema): Arbitrary<string> {
  const text = fc.string({
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, 200)),
    unit: 'binary',
  })
  const byPattern = pattern === undefined ? undefined : matching(pattern)
  return byPattern ? fc.oneof({ weight: 3, arbitrary: byPattern }, text) : text
}

/** Of the patterns that the generator reads, and that leave it time. */
function matching(pattern: string): Arbitrary<string> | undefined {
  if (/\{\d*,?\d{3,}\}|\(\?[=!]/.test(pattern)) return undefined
  try {
    const made = fc.stringMatching(new RegExp(pattern, 'u'))
    fc.sample(made, 1)
    return made
  } catch {
    return undefined
  }
}

function makeObject(document: OpenApi, schema: Schema, depth: number): Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  // What contains itself ends somewhere.
  const names = Object.keys(properties).filter((name) => depth < deepest || required.includes(name))
  const fields = fc.record(
    Object.fromEntries(names.map((name) => [name, conforming(document, properties[name]!, depth + 1)])),
    { requiredKeys: names.filter((name) => required.includes(name)) },
  )
  const others =
    typeof additionalProperties === 'object'
      ? conforming(document, additionalProperties, depth + 1)
      : fc.jsonValue({ maxDepth: 1 })
  return additionalProperties === undefined || additionalProperties === false
    ? fields
    : fc
        .tuple(fields, fc.dictionary(fc.string({ maxLength: 8 }), others, { maxKeys: 2 }))
        .map(([own, more]) => ({ ...more, ...own }))
}

const anything = fc.jsonValue({ maxDepth: 2 })

/** What breaks programs that believe what they are sent. */
export const hostile: Arbitrary<unknown> = fc.oneof(
  anything,
  fc.constantFrom<unknown>(
    ...['', ' ', '\0', '\ud800', '../..', '%00', "' OR 1=1 --", '🦊'.repeat(300), 'a'.repeat(5_000)],
    ...[-1, 0, 1.5, 1e308, 2 ** 53, '9'.repeat(30), 'NaN', 'null', '__proto__', 'constructor'],
    ...[[], {}, null, true, [[[]]], { __proto__: null, constructor: 1 }, '1970-01-01T00:00:00Z'],
  ),
)

/** What the schema allows, but for a part: left out, put in, or another. */
export function nearly(document: OpenApi, schema: JsonSchema): Arbitrary<unknown> {
  const sound = conforming(document, schema)
  const damaged = fc
    .tuple(sound, fc.nat(), hostile)
    .map(([value, place, other]) => damage(value, place, other))
  return fc.oneof({ weight: 5, arbitrary: sound }, { weight: 3, arbitrary: damaged }, hostile)
}

function damage(value: unknown, place: number, other: unknown): unknown {
  if (typeof value !== 'object' || value === null) return other
  const names = Object.keys(value)
  const name = names[place % (names.length + 1)]
  if (name === undefined) return Array.isArray(value) ? [...value, other] : { ...value, extra: other }
  if (Array.isArray(value)) return value.with(Number(name), damage(value[Number(name)], place >> 2, other))
  const { [name]: inner, ...rest } = value as Record<string, unknown>
  return place % 3 === 0 ? rest : { ...rest, [name]: damage(inner, place >> 2, other) }
}
