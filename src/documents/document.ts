/** What a brokerage keeps in a repository of its own: a document says what one thing of the house is. */

/**
 * In this order they are made: what a document names is of a kind before its own. Pruned in the opposite one.
 * `path` is where the interface has them; `names` are the fields of `spec` that name things of other kinds.
 */
export const kindTable = {
  partner: { path: 'partners', names: {} },
  source: { path: 'sources', names: {} },
  service: { path: 'services', names: { mayProvision: 'source' } },
  client: { path: 'clients', names: { partner: 'partner' } },
  webhook: { path: 'webhooks', names: { partner: 'partner', client: 'client' } },
  provider: { path: 'providers', names: { linkSource: 'source' } },
  'role-map': { path: 'role-maps', names: {} },
} as const satisfies Record<string, KindRow>

interface KindRow {
  readonly path: string
  readonly names: Readonly<Record<string, string>>
}

export type DocumentKind = keyof typeof kindTable
export const documentKinds = Object.keys(kindTable) as DocumentKind[]

/** Where in the files something stands, for messages. */
export interface Spot {
  readonly file: string
  /** Which of the documents of the file, from 1 on. */
  readonly number: number
  /** Of each field, as `spec.scopes`, the line that it begins in. */
  readonly lines: ReadonlyMap<string, number>
  readonly line: number
}

export interface HouseDocument {
  readonly kind: DocumentKind
  readonly name: string
  /** Whose it is: null for nobody's; undefined where the document does not say. */
  readonly owner: string | null | undefined
  readonly spec: Readonly<Record<string, unknown>>
  readonly spot: Spot
}

/** `live/partners.yaml:14 (document 2)`. */
export function printSpot({ file, number, lines, line }: Spot, field?: string): string {
  const at = (field === undefined ? undefined : lines.get(field)) ?? line
  return `${file}:${at} (document ${number})`
}

/** Which thing of the house it is of; as messages call it. */
export function keyOf({ kind, name }: Pick<HouseDocument, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

/** The things that it names, which have to be there before it. A role map is of the provider of its name. */
export function findNamed({ kind, name, spec }: Pick<HouseDocument, 'kind' | 'name' | 'spec'>): string[] {
  if (kind === 'role-map') return [keyOf({ kind: 'provider', name })]
  const { names }: KindRow = kindTable[kind]
  return Object.entries(names).flatMap(([field, named]) =>
    [spec[field] ?? []].flat().map((each) => `${named} ${String(each)}`),
  )
}

/** What is wrong in the files, all of it at once. */
export class FaultyDocuments extends Error {
  override readonly name = 'FaultyDocuments'

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
  }
}
