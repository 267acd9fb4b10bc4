/**
 * Fastify's own compilers of schemas, put off: they are loaded, and a schema becomes a function, when the
 * first request needs it. Servers that share the compilers share what they made.
 */
import { createRequire } from 'node:module'

/** As Fastify asks for them. */
export interface SchemaCompilers {
  readonly buildValidator: (schemas: object, options: object) => (part: SchemaOfPart) => Validator
  readonly buildSerializer: (schemas: object, options: object) => (part: SchemaOfPart) => Serializer
}

interface SchemaOfPart {
  readonly schema: Schema
  readonly httpPart?: string
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
}

type Validator = { (value: unknown): unknown; errors?: unknown }
type Serializer = (value: unknown) => string

type Factory<Compiler> = () => (schemas: object, options: object) => (part: SchemaOfPart) => Compiler

export function openSchemaCompilers(): SchemaCompilers {
  const requireAsFastify = createRequire(import.meta.resolve('fastify'))
  /** Once a schema, when it is first called for. */
  const putOff = <Compiler>(name: string, wrap: (make: () => Compiler) => Compiler) => {
    const known = new WeakMap<Schema, Compiler>()
    const build = once(() => (requireAsFastify(name) as Factory<Compiler>)())
    return (schemas: object, options: object) => (part: SchemaOfPart) => {
      const made =
        known.get(part.schema) ?? wrap(once(() => build()(schemas, options)(withLowerCaseHeaders(part))))
      known.set(part.schema, made)
      return made
    }
  }
  return {
    buildValidator: putOff<Validator>('@fastify/ajv-compiler', wrapValidator),
    buildSerializer: putOff<Serializer>(
      '@fastify/fast-json-stringify-compiler',
      (make) => (value) => make()(value),
    ),
  }
}

/** Faults are read from the function that found them. */
function wrapValidator(make: () => Validator): Validator {
  const validator: Validator = (value) => {
    const validate = make()
    const verdict = validate(value)
    validator.errors = validate.errors
    return verdict
  }
  return validator
}

/** As Node tells them; Fastify does this itself only where its compilers are not handed to it. */
function withLowerCaseHeaders(part: SchemaOfPart): SchemaOfPart {
  const { properties, required = [] } = part.schema
  if (part.httpPart !== 'headers' || !properties) return part
  const lowerCase = Object.entries(properties).map(([name, schema]) => [name.toLowerCase(), schema])
  const schema = {
    ...part.schema,
    properties: Object.fromEntries(lowerCase),
    required: required.map((name) => name.toLowerCase()),
  }
  return { ...part, schema }
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
