/** Schemas with a title, once each, under their title; wherever they are used stands a reference. */
import type { TSchema } from 'typebox'
import { isRecord } from '../../vocabulary/record-of.ts'

type Json = Record<string, unknown>

interface Components {
  /** The schema with everything named in it replaced by references. */
  place(schema: TSchema): object
  all(): Record<string, object>
}

export function openComponents(): Components {
  const placed = new Map<string, { text: string; schema: object }>()

  function place(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(place)
    if (!isRecord(schema)) return schema
    const { title, ...rest } = schema
    // Below `properties` a title is the name of a field.
    if (typeof title !== 'string') return placeParts(schema)
    const text = JSON.stringify(rest)
    const known = placed.get(title)
    if (known && known.text !== text) throw new Error(`Two schemas are called ${title}.`)
    if (!known) {
      placed.set(title, { text, schema: {} })
      placed.set(title, { text, schema: placeParts(rest) })
    }
    return { $ref: `#/components/schemas/${title}` }
  }

  function placeParts(schema: Json): Json {
    if (isUnion(schema)) return placeUnion(schema)
    return Object.fromEntries(
      Object.entries(schema).map(([name, part]) => [name, isData.has(name) ? part : place(part)]),
    )
  }

  /** Generators read a discriminator through its mapping; the validator wants none. */
  function placeUnion({ oneOf, discriminator }: Union): Json {
    const mapping = oneOf.map((each) => {
      const [word] = (each.properties[discriminator.propertyName] as { enum: string[] }).enum
      return [word, (place(each) as { $ref: string }).$ref]
    })
    return {
      oneOf: oneOf.map(place),
      discriminator: { ...discriminator, mapping: Object.fromEntries(mapping) },
    }
  }

  return {
    place: (schema) => place(schema) as object,
    all: () => Object.fromEntries([...placed].map(([title, { schema }]) => [title, schema])),
  }
}

/** Values, not schemas. */
const isData = new Set(['examples', 'enum', 'const', 'default', 'required'])

interface Union {
  readonly oneOf: readonly { readonly properties: Json }[]
  readonly discriminator: { readonly propertyName: string }
}

function isUnion(schema: unknown): schema is Union {
  return typeof schema === 'object' && schema !== null && 'discriminator' in schema
}
