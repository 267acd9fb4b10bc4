/**
 * What has to be done so that a house is as its documents say. The gateway judges each document by trying it
 * and undoing it; one that names what is only made on the way is judged when that is there.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  type Administration,
  type FieldChange,
  type HouseObject,
  type MadeProposal,
  RefusedRequest,
} from './administration.ts'
import {
  type DocumentKind,
  documentKinds,
  FaultyDocuments,
  findNamed,
  type HouseDocument,
  keyOf,
  printSpot,
} from './document.ts'

export interface PlannedStep {
  readonly kind: DocumentKind
  readonly name: string
  /**
   * `proposed`: nothing of it is done before another person has decided; `waiting`: that has been proposed
   * before; `blocked`: it names something that is only proposed; `kept`: it would be removed, and cannot be.
   */
  readonly outcome:
    | 'created'
    | 'changed'
    | 'proposed'
    | 'waiting'
    | 'blocked'
    | 'unchanged'
    | 'removed'
    | 'kept'
  readonly changes: readonly FieldChange[]
  readonly proposals: readonly MadeProposal[]
  /** For people. */
  readonly note?: string
  /** Of the thing as it was when this was planned; undefined where there was none. */
  readonly etag: string | undefined
  /** It names something that is made on the way: what came of it is known when it is done. */
  readonly isUnjudged: boolean
  /** Undefined for what is to be removed. */
  readonly document: HouseDocument | undefined
}

export interface PlanOptions {
  /** Of documents that do not say it. */
  readonly owner: string | undefined
  /** Of the acts; each document's own place unless given. */
  readonly reason: string | undefined
  progress(text: string): void
}

/** What differs, in the order in which it is done. */
export async function makePlan(
  administration: Administration,
  documents: readonly HouseDocument[],
  options: PlanOptions,
): Promise<PlannedStep[]> {
  const inOrder = documents.toSorted((one, other) => rankOf(one) - rankOf(other))
  const house = await readHouse(administration, inOrder)
  const steps: PlannedStep[] = []
  const faults: string[] = []
  for (const [index, document] of inOrder.entries()) {
    options.progress(`${index + 1} of ${inOrder.length}: ${keyOf(document)}`)
    try {
      steps.push(
        await planOne(administration, document, { ...options, steps, found: house.get(keyOf(document)) }),
      )
    } catch (error) {
      faults.push(...printRefusal(error, document))
    }
  }
  if (faults.length > 0) throw new FaultyDocuments(faults)
  return [...steps, ...(await planRemovals(administration, documents, options))]
}

const rankOf = ({ kind }: Pick<HouseDocument, 'kind'>) => documentKinds.indexOf(kind)

async function readHouse(
  administration: Administration,
  documents: readonly HouseDocument[],
): Promise<Map<string, HouseObject>> {
  const house = new Map<string, HouseObject>()
  for (const kind of new Set(documents.map((each) => each.kind)))
    for await (const object of administration.list(kind))
      house.set(keyOf({ kind, name: object.name }), object)
  return house
}

interface Circumstances extends PlanOptions {
  /** Those that go before it. */
  readonly steps: readonly PlannedStep[]
  readonly found: HouseObject | undefined
}

async function planOne(
  administration: Administration,
  document: HouseDocument,
  { steps, found, ...options }: Circumstances,
): Promise<PlannedStep> {
  const { kind, name } = document
  const base = { kind, name, document, changes: [], proposals: [], etag: found?.etag, isUnjudged: false }
  const body = bodyOf(document, options)
  if (found && isAsSaid(found, body)) return { ...base, outcome: 'unchanged' }
  const named = findNamed(document)
  const before = steps.filter((step) => step.etag === undefined && named.includes(keyOf(step)))
  const missing = before.find(({ outcome }) => outcome !== 'created')
  if (missing)
    return { ...base, outcome: 'blocked', note: `waits for ${keyOf(missing)}, which is only proposed` }
  if (before.length > 0 && !found)
    return {
      ...base,
      outcome: 'created',
      changes: allOf(body),
      isUnjudged: true,
      note: 'judged when it is made',
    }
  const { outcome, changes, proposals } = await administration.put(kind, name, body, {
    etag: found?.etag,
    reason: reasonOf(document, options),
    isDryRun: true,
  })
  const isWaiting = outcome === 'proposed' && proposals.every(({ isNew }) => !isNew)
  return { ...base, outcome: isWaiting ? 'waiting' : outcome, changes, proposals }
}

export function bodyOf({ spec, owner }: HouseDocument, options: Pick<PlanOptions, 'owner'>) {
  const whose = owner === undefined ? options.owner : owner
  return { spec, ...(whose !== undefined && { owner: whose }) }
}

/** Whoever decides, and whoever reads the log later, finds the document. */
export function reasonOf({ spot }: HouseDocument, { reason }: Pick<PlanOptions, 'reason'>): string {
  return (reason ?? `declared in ${spot.file}`).slice(0, reasonCharacters)
}

const reasonCharacters = 500

/** What a document leaves out stays as it is. What differs in its words alone the gateway tells. */
function isAsSaid(found: HouseObject, { spec, owner }: ReturnType<typeof bodyOf>): boolean {
  return (
    (owner === undefined || owner === found.owner) &&
    Object.entries(spec).every(([field, value]) => isDeepStrictEqual(found.spec[field], value))
  )
}

function allOf({ spec, owner }: ReturnType<typeof bodyOf>): FieldChange[] {
  const all = [
    ...Object.entries(spec).map(([field, after]) => ({ field: `spec.${field}`, after })),
    ...(owner === undefined ? [] : [{ field: 'owner', after: owner }]),
  ]
  return all.map((each) => ({ ...each, before: null, proposed: false }))
}

/** As the author of the document needs it; whatever else went wrong is no fault of a document. */
export function printRefusal(error: unknown, document: HouseDocument): string[] {
  if (!(error instanceof RefusedRequest)) throw error
  const { spot } = document
  const key = keyOf(document)
  if (error.status === 412) {
    const moved = error.moved.length > 0 ? `: ${error.moved.join(', ')}` : ''
    return [
      `${printSpot(spot)}: ${key} was changed meanwhile by somebody else${moved}. Look at the plan again.`,
    ]
  }
  if (error.fields.length === 0) return [`${printSpot(spot)}: ${key}: ${error.message}`]
  return error.fields.map(({ field, problem }) => `${printSpot(spot, field)}: ${key}: ${field} ${problem}`)
}

/** What carries the label of an owner of these documents, and stands in none of them. */
async function planRemovals(
  administration: Administration,
  documents: readonly HouseDocument[],
  options: PlanOptions,
): Promise<PlannedStep[]> {
  const said = new Set(documents.map(keyOf))
  const owners = ownersOf(documents, options)
  const steps: PlannedStep[] = []
  for (const kind of documentKinds.toReversed())
    for (const owner of owners)
      for await (const { name, etag } of administration.list(kind, owner)) {
        if (said.has(keyOf({ kind, name }))) continue
        options.progress(`would remove ${keyOf({ kind, name })}`)
        steps.push(await planRemoval(administration, { kind, name, etag }, options))
      }
  return steps
}

export function ownersOf(
  documents: readonly HouseDocument[],
  { owner }: Pick<PlanOptions, 'owner'>,
): Set<string> {
  return new Set([...documents.map((each) => each.owner), owner].filter((each) => typeof each === 'string'))
}

interface Removed {
  readonly kind: DocumentKind
  readonly name: string
  readonly etag: string
}

async function planRemoval(
  administration: Administration,
  { kind, name, etag }: Removed,
  options: PlanOptions,
): Promise<PlannedStep> {
  const base = { kind, name, etag, document: undefined, isUnjudged: false }
  try {
    const condition = { etag, reason: removalReason(options), isDryRun: true }
    const { changes, proposals } = await administration.remove(kind, name, condition)
    return { ...base, outcome: 'removed', changes, proposals }
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error
    return { ...base, outcome: 'kept', changes: [], proposals: [], note: error.message }
  }
}

export function removalReason({ reason }: Pick<PlanOptions, 'reason'>): string {
  return reason ?? 'it stands in no document any more'
}
