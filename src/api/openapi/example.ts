/** The example of a whole, put together from the examples of its parts. */
import type { TSchema } from 'typebox'

interface Part {
  readonly examples?: readonly unknown[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly Part[]
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Part>>
  readonly items?: Part
  readonly minimum?: number
}

export function exampleOf(schema: TSchema): unknown {
  return exampleOfPart(schema as Part)
}

function exampleOfPart(part: Part): unknown {
  const { examples, enum: words, oneOf, type, properties, items, minimum = 1 } = part
  if (examples) return examples[0]
  if ('const' in part) return part.const
  if (words) return words[0]
  if (oneOf?.[0]) return exampleOfPart(oneOf[0])
  const types = [type ?? []].flat()
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, exampleOfPart(each)]))
  if (items) return [exampleOfPart(items)]
  if (types.includes('object')) return {}
  if (types.includes('null')) return null
  if (types.includes('boolean')) return false
  if (types.includes('integer') || types.includes('number')) return minimum
  return types.includes('string') ? '' : undefined
}
