/** The house as documents: what is declared of each thing, and nothing that the gateway says of it. */
import type { HouseObject } from './administration.ts'
import type { DocumentKind } from './document.ts'

export interface PrintedDocument {
  readonly kind: DocumentKind
  readonly name: string
  readonly owner?: string
  readonly spec: Readonly<Record<string, unknown>>
}

/** As it stands in a file. */
export function toDocument(kind: DocumentKind, { name, owner, spec }: HouseObject): PrintedDocument {
  return { kind, name, ...(owner !== null && { owner }), spec }
}

/** YAML, each after a line of its own: what was printed before stays as it is. */
export async function printDocument(document: PrintedDocument): Promise<string> {
  const { stringify } = await import('yaml')
  return `---\n${stringify(document, { lineWidth: 0 })}`
}
