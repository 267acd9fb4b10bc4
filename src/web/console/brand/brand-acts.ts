/** What an operator does to the brand of a site. */
import {
  activateDraft,
  discardDraft,
  goBack,
  listBrands,
  saveDraft,
  setDraftImage,
} from '../../../brands/brand-acts.ts'
import { type ImagePlace, imagePlaces } from '../../../brands/brand-row.ts'
import { brandFields, parseBrandWords } from '../../../brands/brand-words.ts'
import { Invalid } from '../../../problem.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import { type FlashMessage, leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { takeImage } from '../../frame/uploaded-image.ts'
import { idOf, type Visit } from '../../frame/visit.ts'
import type { StrongOperator } from '../../gates/gates.ts'
import { homeOf, siteOf } from './brand.ts'
import type * as forms from './forms.ts'

const look = (site: Environment) => ({ path: `${homeOf(site)}/preview`, label: 'Look at it' })

function back(visit: Visit, operator: StrongOperator, site: Environment, message: FlashMessage) {
  return leadToDone(visit, operator, homeOf(site), message)
}

export async function saveBrand(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.saveBrand>,
) {
  const site = siteOf(visit)
  const { db } = visit.context
  const words = parseBrandWords((name) => values[name])
  const { draft } = await listBrands(db, site)
  const saved = await saveDraft(db, site, words, versionOf(values), operator.act)
  if (!draft) return back(visit, operator, site, { text: 'The draft is saved.', link: look(site) })
  const before = Object.fromEntries(brandFields.map((name) => [name, draft[name] ?? '']))
  const undo = { action: `${homeOf(site)}/save`, fields: { ...before, version: String(saved.version) } }
  return back(visit, operator, site, { text: 'The draft is saved.', link: look(site), undo })
}

export async function uploadImage(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.uploadImage>,
) {
  const site = siteOf(visit)
  const place = placeOf(values)
  const image = await takeImage(visit, operator, 'image')
  if (!image) throw new Invalid([{ field: 'image', problem: 'must be a file' }])
  await setDraftImage(visit.context.db, site, place, image, operator.act)
  return back(visit, operator, site, { text: 'The image is in the draft.', link: look(site) })
}

export async function removeImage(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.removeImage>,
) {
  const site = siteOf(visit)
  await setDraftImage(visit.context.db, site, placeOf(values), undefined, operator.act)
  return back(visit, operator, site, { text: 'The image is taken out of the draft.', link: look(site) })
}

export async function activateBrand(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.activateBrand>,
) {
  const site = siteOf(visit)
  const before = await activateDraft(visit.context.db, site, versionOf(values), operator.act)
  return back(visit, operator, site, { text: 'The brand is in force.', undo: returnTo(site, before) })
}

export async function discardBrand(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.discardBrand>,
) {
  const site = siteOf(visit)
  await discardDraft(visit.context.db, site, versionOf(values), operator.act)
  const link = { path: `/console/audit?subject=brand:${site}`, label: 'What was done before' }
  return back(visit, operator, site, { text: 'The draft is discarded.', link })
}

export async function returnToBrand(
  visit: Visit,
  operator: StrongOperator,
  { values: { brand } }: Submission<typeof forms.returnToBrand>,
) {
  const site = siteOf(visit)
  const id = brand === '' ? undefined : idOf(brand)
  const before = await goBack(visit.context.db, site, id, operator.act)
  return back(visit, operator, site, {
    text: 'The earlier brand is in force again.',
    undo: returnTo(site, before),
  })
}

function returnTo(site: Environment, id: number | undefined) {
  return { action: `${homeOf(site)}/return`, fields: id === undefined ? {} : { brand: String(id) } }
}

/** Of the draft that the form was printed with. */
function versionOf({ version }: { readonly version: string }): number {
  return /^\d{1,9}$/.test(version) ? Number(version) : -1
}

function placeOf(named: { readonly place: string }): ImagePlace {
  const place = imagePlaces.find((each) => each === named.place)
  if (!place) throw new Invalid([{ field: 'place', problem: `must be one of ${imagePlaces.join(', ')}` }])
  return place
}
