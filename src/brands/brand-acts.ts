/**
 * A brand is drafted, looked at and activated; whatever was in force before can be gone back to, the brand
 * that the gateway comes with among it. Of each site there is one draft: an operator who saves or activates
 * it names the version that they saw, and learns when another has changed it since.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { advisoryLocks } from '../database/advisory-locks.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { BrandRow, BrandWords, ImagePlace } from './brand-row.ts'
import { brandFields } from './brand-words.ts'
import * as table from './brands.sql.ts'
import { type CheckedImage, storeImage } from './image.ts'
import { describeFaintLogo, findFaintLogos } from './logo.ts'

export interface BrandsOfSite {
  readonly draft: BrandRow | undefined
  readonly active: BrandRow | undefined
  /** The latest first. */
  readonly earlier: readonly BrandRow[]
}

const shownAtMost = 22

export async function listBrands(sql: Sql, environment: Environment): Promise<BrandsOfSite> {
  const rows = await sql.query(table.selectBrands, { environment, most: shownAtMost })
  return {
    draft: rows.find(({ state }) => state === 'draft'),
    active: rows.find(({ state }) => state === 'active'),
    earlier: rows.filter(({ state }) => state === 'earlier'),
  }
}

/** `version` of the draft that was seen; 0 where there was none. */
export function saveDraft(db: Sql, environment: Environment, words: BrandWords, version: number, act: Act) {
  return changeBrands(db, environment, async (sql, { draft }) => {
    refuseOther(draft, version)
    const save = draft ? table.updateDraft : table.insertDraft
    const saved = await sql.one(save, { environment, now: act.at, ...words })
    const changed = brandFields.filter((name) => words[name] !== draft?.[name])
    await recordAct(sql, act, 'brand.drafted', subjectOf(environment), { brandId: saved.id, changed })
    return saved
  })
}

/** Without an image the place is empty again. */
export function setDraftImage(
  db: Sql,
  environment: Environment,
  place: ImagePlace,
  image: CheckedImage | undefined,
  act: Act,
): Promise<void> {
  return changeBrands(db, environment, async (sql, { draft }) => {
    if (!draft) throw new Conflict('There is no draft to put an image into. Save one first.')
    const hash = image ? await storeImage(sql, image, act.at) : null
    await sql.query(table.updateDraftImage[place], { environment, now: act.at, hash })
    await recordAct(sql, act, 'brand.drafted', subjectOf(environment), {
      brandId: draft.id,
      changed: [place],
      hash,
    })
  })
}

export function discardDraft(db: Sql, environment: Environment, version: number, act: Act): Promise<void> {
  return changeBrands(db, environment, async (sql, { draft }) => {
    if (!draft) return
    refuseOther(draft, version)
    await sql.query(table.deleteDraft, { environment })
    await recordAct(sql, act, 'brand.draft_discarded', subjectOf(environment), { brandId: draft.id })
  })
}

/** Answers which one was in force before; undefined for the one that the gateway comes with. */
export function activateDraft(db: Sql, environment: Environment, version: number, act: Act) {
  return changeBrands(db, environment, async (sql, { draft, active }) => {
    if (!draft)
      throw new Conflict('There is no draft any more: it has been activated or discarded meanwhile.')
    refuseOther(draft, version)
    const [faint] = await findFaintLogos(sql, draft)
    if (faint) throw new Conflict(describeFaintLogo(faint))
    await putInForce(sql, environment, draft, act, 'brand.activated')
    return active?.id
  })
}

/**
 * To one that was in force before; without an id, to the one that the gateway comes with. Answers which one
 * was in force.
 */
export function goBack(db: Sql, environment: Environment, id: number | undefined, act: Act) {
  return changeBrands(db, environment, async (sql, { active, earlier }) => {
    if (active?.id === id) return active?.id
    const target = earlier.find((each) => each.id === id)
    if (id !== undefined && !target) throw new NotFound('There is no such brand to go back to.')
    await putInForce(sql, environment, target, act, 'brand.returned')
    return active?.id
  })
}

async function putInForce(
  sql: Sql,
  environment: Environment,
  next: BrandRow | undefined,
  act: Act,
  action: 'brand.activated' | 'brand.returned',
): Promise<void> {
  const [before] = await sql.query(table.retireActive, { environment })
  if (next) await sql.query(table.activateBrand, { id: next.id, activatedAt: act.at })
  const details = { brandId: next?.id ?? null, name: next?.shortName ?? null, before: before?.id ?? null }
  await recordAct(sql, act, action, subjectOf(environment), details)
}

/** One at a time, on what is there then. */
function changeBrands<Result>(
  db: Sql,
  environment: Environment,
  change: (sql: Sql, brands: BrandsOfSite) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await sql.query(table.lockBrands, { lock: advisoryLocks.brands, environment })
    return change(sql, await listBrands(sql, environment))
  })
}

function refuseOther(draft: BrandRow | undefined, version: number): void {
  if ((draft?.version ?? 0) === version) return
  throw new Conflict(
    'The draft was changed since this page was loaded. Load it again and look at what is there now.',
  )
}

function subjectOf(environment: Environment): string {
  return `brand:${environment}`
}
