/** Who the brokerage is on each site: what is in force, the draft of what comes next, and what was before. */

import { type BrandsOfSite, listBrands } from '../../../brands/brand-acts.ts'
import { type BrandRow, brandOf, type ImagePlace } from '../../../brands/brand-row.ts'
import { firstWords } from '../../../brands/brand-words.ts'
import { describeFaintLogo, type FaintLogo, findFaintLogos } from '../../../brands/logo.ts'
import { NotFound } from '../../../problem.ts'
import { houseBrand } from '../../../vocabulary/brand.ts'
import { type Environment, environments, isEnvironment } from '../../../vocabulary/environment.ts'
import { imageUrl, pictureUrl } from '../../frame/assets.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge, facts } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { printBrandForm } from './brand-form.ts'
import * as forms from './forms.ts'

const brandSection = '/console/brand/live'

export function siteOf(visit: Visit): Environment {
  const { site } = paramsOf(visit.request)
  if (site === undefined || !isEnvironment(site)) throw new NotFound()
  return site
}

export function homeOf(site: Environment): string {
  return `/console/brand/${site}`
}

export async function showBrand(visit: Visit, operator: Operator) {
  const site = siteOf(visit)
  const { db } = visit.context
  const brands = await listBrands(db, site)
  const faint = brands.draft ? await findFaintLogos(db, brands.draft) : []
  return sendConsole(visit, operator, {
    title: 'Brand',
    section: brandSection,
    body: html`<h1>Brand</h1>
<nav class="tabs" aria-label="Site">${environments.map(
      (each) => html`<a
  href="${homeOf(each)}"${each === site && html` aria-current="page"`}>${siteNames[each]}</a>`,
    )}</nav>
<p>What account holders see: on pages, in mail, in authenticator apps and passkeys.
  The words of consent are the same under every brand.</p>
${printActive(brands)}
${printDraft(site, brands, faint, operator)}
${printEarlier(brands, operator)}`,
  })
}

const siteNames: Readonly<Record<Environment, string>> = { live: 'Live', sandbox: 'Sandbox' }

function printActive({ active }: BrandsOfSite): Html {
  const brand = active ? brandOf(active) : houseBrand
  const logo = brand.logo.light
  return html`<section class="card"><h2>In force ${badge('good', brand.name)}</h2>
${facts([
  [
    'Since',
    active?.activatedAt
      ? printDate(active.activatedAt)
      : 'the gateway was installed: it is the brand that it comes with',
  ],
  ['Legal name', brand.legalName],
  [
    'Logo',
    logo
      ? html`<img class="logo-shown" src="${pictureUrl(logo)}" alt="Logo of ${brand.name}">`
      : 'none: the name stands there',
  ],
])}</section>`
}

function printDraft(
  site: Environment,
  { draft, active }: BrandsOfSite,
  faint: readonly FaintLogo[],
  operator: Operator,
): Html {
  return html`<section class="card"
    id="draft"><h2>Draft ${draft ? badge('wait', 'not in force') : badge('off', 'none')}</h2>
${
  draft
    ? html`<p>Changed ${printDate(draft.changedAt)}. Nobody sees it until it is activated.
  Previews:</p>`
    : html`<p>Saving makes a draft${active && ' of what is in force'}.
  Nobody sees it until it is activated.</p>`
}
${draft && printPreviews(homeOf(site))}
${printBrandForm(draft ?? active ?? firstWords, draft?.version ?? 0, operator)}</section>
${draft && printImages(draft, faint, operator)}
${draft && printActivation(draft, active, operator)}`
}

const previews = [
  ['sign-in', 'Sign-in'],
  ['consent', 'Consent'],
  ['applications', 'Applications'],
  ['error', 'Error'],
  ['mail', 'Mail'],
] as const

export type PreviewPage = (typeof previews)[number][0]
export const previewPages: readonly PreviewPage[] = previews.map(([page]) => page)

/** Every page by day and by night; the one that is shown is no link. */
export function printPreviews(
  home: string,
  shown?: { readonly page: PreviewPage; readonly mode: string },
): Html {
  const items = previews.map(([page, label]) => {
    const links = (['light', 'dark'] as const).map((mode) => {
      const isShown = page === shown?.page && mode === shown.mode
      return html` <a href="${home}/preview?page=${page}&amp;mode=${mode}"${
        isShown &&
        html`
        aria-current="page"`
      }><span class="unseen">${label}, </span>${mode}</a>`
    })
    return html`<li>${label}:${links}</li>`
  })
  return html`<nav class="previews" aria-label="Preview"><ul>${items}</ul></nav>`
}

const places: readonly (readonly [ImagePlace, string, string])[] = [
  [
    'logoLight',
    'Logo, light',
    'On light pages and in mail. Mail shows a PNG alone; with an SVG the name stands there.',
  ],
  ['logoDark', 'Logo, dark', 'On dark pages. Without one the other is shown.'],
  ['favicon', 'Icon', 'Square. In the tab of the browser.'],
]

function printImages(draft: BrandRow, faint: readonly FaintLogo[], { forms: on }: Operator): Html {
  const items = places.map(([place, label, hint]) => {
    const standing = { place }
    const picture = draft[place]
    return html`<li><div><strong>${label}</strong><br><span class="faint">${hint}</span>
${
  picture !== null &&
  html`<p><img class="logo-shown ${place === 'logoDark' && 'by-night'}"
  src="${imageUrl(picture.hash, picture.type)}" alt="${label} of the draft"></p>`
}
${on.print(
  forms.uploadImage,
  { standing },
  (view) => html`${view.field('image', { label: html`File<span class="unseen"> for ${label}</span>` })}
${view.button('Upload', { of: label })}`,
)}</div>
${picture !== null && on.button(forms.removeImage, 'Remove', { standing, of: label, buttonLook: 'quiet' })}</li>`
  })
  return html`<section class="card"><h2>Images of the draft</h2>
<p class="small">PNG, or SVG with shapes alone: text as outlines, no styles or effects. At most 200 KB.
  A wide logo stands alone; a square one stands beside the short name.</p>
${faint.map((each) => html`<p class="notice waiting">${describeFaintLogo(each)} Until then the draft cannot be activated.</p>`)}
<ul class="tokens">${items}</ul></section>`
}

function printActivation(
  { version, shortName }: BrandRow,
  active: BrandRow | undefined,
  { forms: on }: Operator,
): Html {
  const asked = { standing: { version }, of: 'the draft' }
  const instead = active
    ? `${active.shortName} can be gone back to.`
    : 'You can go back to what was there before.'
  return html`<section class="card"><h2>Put the draft in force</h2><p>Look at the previews first.</p><div
    class="acts">
${on.ask(forms.activateBrand, { ...asked, label: 'Activate', text: `Everybody sees “${shortName}” at once, on every page and in every message. ${instead}` })}
${on.ask(forms.discardBrand, { ...asked, label: 'Discard', text: 'What was typed and uploaded is lost. What is in force stays.' })}</div></section>`
}

function printEarlier({ active, earlier }: BrandsOfSite, { forms: on }: Operator): Html | undefined {
  const item = (name: string, about: Content, brand?: number) =>
    html`<li><div><strong>${name}</strong><br><span class="faint">${about}</span></div>
${on.ask(forms.returnToBrand, { standing: { brand }, label: 'Go back', of: `to ${name}`, text: `Everybody sees “${name}” at once. What is in force now can be gone back to.` })}</li>`
  const items = [
    ...earlier.map(({ id, shortName, activatedAt }) =>
      item(shortName, html`activated ${printDate(activatedAt!)}`, id),
    ),
    ...(active ? [item(houseBrand.name, 'the brand that the gateway comes with')] : []),
  ]
  if (items.length === 0) return undefined
  return html`<section class="card"><h2>Earlier</h2><ul class="tokens">${items}</ul></section>`
}
