/**
 * The words that schemas are made of. A schema judges requests and becomes /openapi.json; one with a `title`
 * is named there. Integers are 64 bits wide to generators, because epoch milliseconds do not fit into 32.
 */
import type { TSchema, TSchemaOptions, Type as TypeBox } from 'typebox'

type SchemaWords = Pick<
  typeof TypeBox,
  'Array' | 'Boolean' | 'Integer' | 'Null' | 'Number' | 'Object' | 'Optional' | 'String' | 'Unsafe'
>

const ofType = (type: string) => (options?: object) => ({ type, ...options })

/** Told apart by a property that is neither printed nor copied, as TypeBox does. */
const optional = '~optional'

function describeObject(properties: Record<string, TSchema>, options?: object): object {
  const required = Object.entries(properties).flatMap(([name, schema]) =>
    Object.hasOwn(schema, optional) ? [] : [name],
  )
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

/**
 * TypeBox's words and types, and its schemas to the letter. TypeBox itself is seven hundred files, of which a
 * gateway that starts would load each to say these nine words.
 */
const schemaWords: object = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: describeObject,
  Optional: (schema: TSchema) => Object.defineProperty({ ...schema }, optional, { value: true }),
  String: ofType('string'),
  Unsafe: (schema: TSchema) => schema,
}
export const Type = schemaWords as SchemaWords

/** Both JavaScript and PostgreSQL know it: the year 33658. */
export const latestInstantMs = 999_999_999_999_999

export const oneOf = <const Word extends string>(words: readonly Word[], options: TSchemaOptions = {}) =>
  Type.Unsafe<Word>({ type: 'string', enum: [...words], ...options })

export const integer = (description: string, example: number, options: TSchemaOptions = {}) =>
  Type.Integer({ format: 'int64', description, examples: [example], ...options })

export const instant = (description: string, options: TSchemaOptions = {}) =>
  integer(`${description}, in epoch milliseconds.`, 1_767_225_600_000, {
    minimum: 0,
    maximum: latestInstantMs,
    ...options,
  })

export const text = (description: string, example: string, options: TSchemaOptions = {}) =>
  Type.String({ description, examples: [example], ...options })
