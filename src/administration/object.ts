/**
 * Objects by their names: listed, read, declared and ended. One transaction does a whole document. A dry run
 * does the same, and undoes it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { findNamed, holdName, listNames, nameObject, type ObjectName } from '../naming/object-name.ts'
import { isOwnPartner, ownPartnerWords } from '../partners/own-partner.ts'
import { Conflict, Forbidden, Invalid, NotFound, Problem } from '../problem.ts'
import type { ProposedActs, WiredKind } from '../proposals/acts.ts'
import { carryOut, getProposal } from '../proposals/proposal.ts'
import { proposalKinds } from '../vocabulary/proposal-kind.ts'
import { answerOnce } from './answered.ts'
import { findChanged, findMoved, printEtag } from './etag.ts'
import type { AdministrationDependencies, DeclaredKind, DeclaredObject, Work } from './kind.ts'
import { holdCredential, withReason } from './standing.ts'

interface NamedObject<Spec> extends DeclaredObject<Spec> {
  readonly kind: string
  readonly name: string
  readonly owner: string | null
  readonly etag: string
}

interface Declaration<Spec> {
  readonly spec: Partial<Spec>
  /** Undefined: as it is. */
  readonly owner?: string | null | undefined
}

interface DeclarationOptions {
  /** A version, or `*` for any. */
  readonly ifMatch?: string | undefined
  /** Only what is not there yet. */
  readonly onlyNew?: boolean
  readonly dryRun?: boolean
}

interface ObjectChange {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
  /** It stays as it is until another person has decided. */
  readonly proposed: boolean
}

interface MadeProposal {
  /** 0 in a dry run, where it would be new. */
  readonly id: number
  readonly kind: WiredKind
  readonly isNew: boolean
}

export interface DeclarationOutcome {
  readonly kind: string
  readonly name: string
  readonly outcome: 'created' | 'changed' | 'proposed' | 'unchanged' | 'removed'
  readonly dryRun: boolean
  readonly changes: readonly ObjectChange[]
  readonly proposals: readonly MadeProposal[]
  /** Null where it is gone. */
  readonly etag: string | null
}

type Kind<Spec extends object> = DeclaredKind<Spec>
type Dependencies = AdministrationDependencies

const placeOf = (
  { kind, site }: Pick<Kind<object>, 'kind' | 'site'>,
  { environment }: Pick<Dependencies, 'environment'>,
) => ({ kind, site: site === 'both' ? site : environment })

export async function listObjects<Spec extends object>(
  sql: Sql,
  { environment }: Pick<Dependencies, 'environment'>,
  kind: Kind<Spec>,
  question: { readonly after: string; readonly owner?: string | undefined; readonly most: number },
  now: Date,
): Promise<NamedObject<Spec>[]> {
  const rows = await listNames(sql, placeOf(kind, { environment }), question)
  const found = await kind.read(
    sql,
    rows.map(({ objectId }) => objectId),
    now,
  )
  return rows.flatMap((row) => {
    const object = found.get(row.objectId)
    return object ? [describe(kind, row, object)] : []
  })
}

export async function getObject<Spec extends object>(
  sql: Sql,
  deps: Pick<Dependencies, 'environment'>,
  kind: Kind<Spec>,
  name: string,
  now: Date,
): Promise<NamedObject<Spec> & { readonly id: string }> {
  const row = await findNamed(sql, placeOf(kind, deps), name)
  const object = row && (await kind.read(sql, [row.objectId], now)).get(row.objectId)
  if (!object) throw absent(kind, name)
  return { ...describe(kind, row, object), id: row.objectId }
}

function describe<Spec extends object>(
  { kind }: Kind<Spec>,
  { name, owner }: { readonly name: string; readonly owner: string | null },
  { spec, status }: DeclaredObject<Spec>,
): NamedObject<Spec> {
  return { kind, name, owner, spec, status, etag: printEtag(fieldsOf({ spec, owner })) }
}

/** All that a caller declares, by the names that faults and versions have for it. */
function fieldsOf({ spec, owner }: { readonly spec: object; readonly owner: string | null }) {
  const named = Object.entries(spec).map(([name, value]) => [`spec.${name}`, value])
  return { ...Object.fromEntries(named), owner } as Record<string, unknown>
}

function absent({ kind }: Pick<Kind<object>, 'kind'>, name: string): NotFound {
  return new NotFound(`There is no "${name}" among the ${kind}.`)
}

/** `PUT`. */
export function declareObject<Spec extends object>(
  db: Sql,
  deps: Dependencies,
  kind: Kind<Spec>,
  name: string,
  { spec: sent, owner }: Declaration<Spec>,
  options: DeclarationOptions,
  act: Act,
): Promise<DeclarationOutcome> {
  const spec = kind.tidy?.(sent) ?? sent
  return inWork(db, deps, kind, name, options, act, async (work, held) => {
    checkOwner(held, owner)
    const label = owner === undefined ? (held?.owner ?? null) : owner
    const id = held
      ? await change(work, kind, held, spec)
      : await kind.make(work, spec, { name, owner: label })
    const before = held ? fieldsOf(held) : {}
    if (id === undefined)
      return { before, after: before, wanted: fieldsOf({ spec, owner: label }), isNew: false }
    const subject = kind.subjectOf(id, name)
    if (!held || label !== held.owner)
      await nameObject(work.sql, { kind: kind.kind, objectId: id, name, owner: label, subject }, act)
    const object = (await kind.read(work.sql, [id], act.at)).get(id)
    if (!object) throw new Error(`${kind.kind} ${id} cannot be read.`)
    const after = fieldsOf({ spec: object.spec, owner: label })
    const wanted = fieldsOf({ spec: { ...object.spec, ...spec }, owner: label })
    return { before, after, wanted, isNew: !held }
  })
}

async function change<Spec extends object>(
  work: Work,
  kind: Kind<Spec>,
  { id, spec: before }: HeldObject<Spec>,
  spec: Partial<Spec>,
): Promise<string> {
  await kind.change(work, id, before, { ...before, ...spec })
  return id
}

/** Whoever declares something under another label takes nothing over by it. */
function checkOwner(
  held: { readonly owner: string | null } | undefined,
  owner: string | null | undefined,
): void {
  if (!held || held.owner === null || owner === undefined || owner === null || owner === held.owner) return
  throw new Conflict(`It belongs to ${held.owner}. Declare it with owner null first, to hand it over.`)
}

/** `DELETE`. */
export function endObject<Spec extends object>(
  db: Sql,
  deps: Dependencies,
  kind: Kind<Spec>,
  name: string,
  options: DeclarationOptions,
  act: Act,
): Promise<DeclarationOutcome> {
  return inWork(db, deps, kind, name, options, act, async (work, held) => {
    if (!held) throw absent(kind, name)
    const { id, spec, owner } = held
    work.reasoned()
    await kind.end(work, id, spec)
    const object = (await kind.read(work.sql, [id], act.at)).get(id)
    const subject = kind.subjectOf(id, name)
    if (object && owner !== null)
      await nameObject(work.sql, { kind: kind.kind, objectId: id, name, owner: null, subject }, act)
    const after = object ? fieldsOf({ spec: object.spec, owner: null }) : undefined
    return { before: fieldsOf(held), after, wanted: after, isNew: false }
  })
}

interface OtherAct {
  /** With which the same is answered the same; undefined: it is done each time. */
  readonly idempotencyKey?: string | undefined
  /** Beside the name. */
  readonly asked?: object
}

/** What else is done to an object, by its name: its secrets are no fields. */
export function actOnObject<Spec extends object, Answer extends object>(
  db: Sql,
  deps: Dependencies,
  kind: Kind<Spec>,
  name: string,
  { idempotencyKey: key, asked }: OtherAct,
  act: Act,
  doWork: (work: Work, id: string) => Promise<Answer>,
): Promise<Answer> {
  return db.transaction(async (sql) => {
    const credentialId = await holdCredential(sql, kind.manages, act)
    const work = openWork(sql, deps, { proposals: [], isWaiting: false, dryRun: false }, act)
    const doIt = async () => {
      const row = await holdName(sql, placeOf(kind, deps), name)
      const held = row && (await holdObject(sql, kind, row, act.at))
      if (!held) throw absent(kind, name)
      return doWork(work, held.id)
    }
    if (key === undefined) return doIt()
    const request = { credentialId, key, asked: { kind: kind.kind, name, reason: act.reason, ...asked } }
    return answerOnce(sql, deps.vault, request, act.at, doIt)
  })
}

interface HeldObject<Spec> extends NamedObject<Spec> {
  readonly id: string
}

interface DeclarationResult {
  readonly before: Record<string, unknown>
  /** Undefined where it is gone. */
  readonly after: Record<string, unknown> | undefined
  readonly wanted: Record<string, unknown> | undefined
  readonly isNew: boolean
}

/** What a dry run came to: thrown, so that all of it is undone. */
class Undone extends Error {
  readonly outcome: DeclarationOutcome
  constructor(outcome: DeclarationOutcome) {
    super('A dry run is undone.')
    this.outcome = outcome
  }
}

async function inWork<Spec extends object>(
  db: Sql,
  deps: Dependencies,
  kind: Kind<Spec>,
  name: string,
  options: DeclarationOptions,
  act: Act,
  doWork: (work: Work, held: HeldObject<Spec> | undefined) => Promise<DeclarationResult>,
): Promise<DeclarationOutcome> {
  const { dryRun = false } = options
  try {
    return await db.transaction(async (sql) => {
      await holdCredential(sql, kind.manages, act)
      const row = await holdName(sql, placeOf(kind, deps), name)
      const held = row && (await holdObject(sql, kind, row, act.at))
      checkVersion(held, options)
      const notes: WorkNotes = { proposals: [], isWaiting: false, dryRun }
      const work = openWork(sql, deps, notes, act)
      const outcome = summarize(kind, name, await doWork(work, held), notes)
      if (dryRun) throw new Undone(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof Undone) return error.outcome
    throw error instanceof Invalid ? renameFields(error, kind.fields) : error
  }
}

async function holdObject<Spec extends object>(
  sql: Sql,
  kind: Kind<Spec>,
  row: ObjectName,
  now: Date,
): Promise<HeldObject<Spec> | undefined> {
  await kind.hold(sql, row.objectId)
  const object = (await kind.read(sql, [row.objectId], now)).get(row.objectId)
  return object && { ...describe(kind, row, object), id: row.objectId }
}

class PreconditionFailed extends Problem {
  constructor(description: string, moved: readonly string[] = []) {
    super(412, 'precondition_failed', description, { moved })
  }
}

function checkVersion(
  held: NamedObject<object> | undefined,
  { ifMatch, onlyNew = false }: DeclarationOptions,
): void {
  if (held && onlyNew) throw new PreconditionFailed('There is one of this name already.')
  if (ifMatch === undefined || (held && ifMatch === '*')) return
  if (!held) throw new PreconditionFailed('There is none of this name any more.')
  const moved = findMoved(ifMatch, fieldsOf(held))
  if (moved.length > 0)
    throw new PreconditionFailed(`It was changed since: ${moved.join(', ')}. Read it again.`, moved)
}

interface WorkNotes {
  readonly proposals: MadeProposal[]
  isWaiting: boolean
  readonly dryRun: boolean
}

function openWork(sql: Sql, deps: Dependencies, notes: WorkNotes, act: Act): Work {
  const { proposals, dryRun } = notes
  const reasoned = () => withReason(dryRun ? { reason: 'A dry run.', ...act } : act)
  const people = [act.by.credential?.userId ?? [], act.by.credential?.readers ?? []].flat()
  return {
    ...deps,
    sql,
    act,
    reasoned,
    async propose(kind, values) {
      const made = await proposeAct(sql, kind, values, reasoned())
      if (made) proposals.push(dryRun && made.isNew ? { ...made, id: 0 } : made)
    },
    wait() {
      notes.isWaiting = true
    },
    async refuseOwn(branchId) {
      for (const person of people)
        if (await isOwnPartner(sql, branchId, person, act.at)) throw new Forbidden(ownPartnerWords)
    },
  }
}

/** Undefined where it takes nobody else, because it hands out nothing new: then it is done. */
async function proposeAct<Name extends WiredKind>(
  sql: Sql,
  kind: Name,
  values: ProposedActs[Name],
  act: Act,
): Promise<MadeProposal | undefined> {
  const made = await carryOut({ db: sql, fourEyes: proposalKinds }, kind, values, act)
  if (made.kind === 'done') return undefined
  if (made.kind !== 'proposed') throw new Conflict('It was changed a moment ago. Read it again.')
  const { id, isNew } = made
  if (!isNew && !isSame((await getProposal(sql, id)).values, values))
    throw new Conflict(`Proposal ${id} waits, and says otherwise. It has to be decided or withdrawn first.`)
  return { id, kind, isNew }
}

/** As they are kept, without what is undefined. */
function isSame(kept: object, values: object): boolean {
  return isDeepStrictEqual(kept, JSON.parse(JSON.stringify(values)))
}

function summarize(
  { kind }: Pick<Kind<object>, 'kind'>,
  name: string,
  { before, after, wanted, isNew }: DeclarationResult,
  { proposals, isWaiting, dryRun }: WorkNotes,
): DeclarationOutcome {
  const hasMore = isWaiting || proposals.length > 0
  const at = (fields: Record<string, unknown>, field: string) => fields[field] ?? null
  const done = findChanged(before, after ?? {}).map((field) => ({
    ...{ field, before: at(before, field), after: at(after ?? {}, field), proposed: false },
  }))
  const waiting = !hasMore || !after || !wanted ? [] : findChanged(after, wanted)
  const proposed = waiting.map((field) => ({
    ...{ field, before: at(after ?? {}, field), after: at(wanted ?? {}, field), proposed: true },
  }))
  const outcome = !after
    ? 'removed'
    : isNew
      ? 'created'
      : done.length > 0
        ? 'changed'
        : hasMore
          ? 'proposed'
          : 'unchanged'
  return {
    ...{ kind, name, outcome, dryRun, changes: [...done, ...proposed], proposals },
    etag: isEmpty(after) ? null : printEtag(after),
  }
}

const isEmpty = (fields: Record<string, unknown> | undefined): fields is undefined =>
  Object.keys(fields ?? {}).length === 0

/** Faults are told by the names that the caller has sent. */
function renameFields({ fields }: Invalid, names: Readonly<Record<string, string>>): Invalid {
  return new Invalid(
    fields.map(({ field, problem }) => ({
      field: isWhole(field, names) ? field : `spec.${names[field] ?? field}`,
      problem,
    })),
  )
}

/** No field of a specification: why, what it is called, or one that is named as a whole. */
function isWhole(field: string, names: Readonly<Record<string, string>>): boolean {
  return field === 'reason' || field.includes('.') || (field === 'name' && names.name === undefined)
}
