/**
 * What stands above and below every page: whose it is, which site, who is signed in, the ways on, and the
 * keys for them.
 */

import type { User } from '../../users/user.ts'
import type { Brand, Mode, Picture } from '../../vocabulary/brand.ts'
import { type Environment, environments } from '../../vocabulary/environment.ts'
import { pictureUrl } from './assets.ts'
import { questionCharacters } from './field.ts'
import { defineButton } from './form.ts'
import { type Html, html } from './html.ts'
import { tellZone } from './moment.ts'
import type { PageForms } from './page-forms.ts'

export interface Link {
  readonly path: string
  readonly label: string
  /** The sandbox has no such page. */
  readonly liveAlone?: true
  /** The live site has no such page. */
  readonly sandboxAlone?: true
  /** Plain customers find it under “For developers”. */
  readonly forDevelopers?: true
}

export interface Bars {
  readonly environment: Environment
  readonly brand: Brand
  /** Of a preview: this, whatever the browser prefers. */
  readonly only?: Mode | undefined
  readonly account?: Account | undefined
  readonly navigation?: readonly Link[] | undefined
  /** What is looked for, is looked for there. */
  readonly search?: string | undefined
  /** Whose pages these are, and the same page of others that the visitor acts for. */
  readonly partners?: { readonly current: string; readonly others: readonly Link[] } | undefined
  /** When it is sent. */
  readonly now?: Date
  /** The same page on the other site. */
  readonly onOtherSite?: string | undefined
}

interface Account {
  readonly user: User
  /** A customer who has nothing to do with programs: what developers need is not in their way. */
  readonly isPlain?: boolean
  readonly forms: PageForms
  readonly here: string
}

/** The pages of the account, in the order of the bar. */
const accountNavigation: readonly Link[] = [
  { path: '/account', label: 'Connected applications' },
  { path: '/account/api', label: 'API settings', forDevelopers: true },
  { path: '/account/devices', label: 'Sign-ins and devices', liveAlone: true },
  { path: '/account/security', label: 'Security', liveAlone: true },
  { path: '/account/history', label: 'History', liveAlone: true },
  { path: '/partner', label: 'Partner portal', forDevelopers: true },
]

const consoleLink: Link = { path: '/console', label: 'Console', liveAlone: true }

export function printTop(bars: Bars): Html {
  const { environment, account, brand, only } = bars
  return html`<a class="skip" href="#content">Skip to the content</a>
<header class="top">
${environment === 'sandbox' && html`<p class="ribbon">Sandbox: nothing here touches real money.</p>`}
<a class="brand" href="/">${printLogo(brand, only)}</a>
${account && printBar(account, bars)}
</header>`
}

/** Folded behind a button where there is little room: the browser opens it, and Escape closes it. */
function printBar(account: Account, bars: Bars): Html {
  const { environment, partners, onOtherSite, search } = bars
  return html`<button class="quiet opens" type="button" popovertarget="bar">Menu</button>
<div id="bar" class="bar" popover>
${!isTestHolder(account) && !account.isPlain && onOtherSite !== undefined && printSites(environment, onOtherSite)}
${partners && partners.others.length > 0 && printPartners(partners)}
${search !== undefined && printSearch(search)}
${printAccountBar(account, waysOn(bars))}
</div>`
}

function printSearch(action: string): Html {
  return html`<form class="search" role="search" method="get" action="${action}"><input type="search" name="q"
    aria-label="Find by event, delivery, person or address" placeholder="Search"
    aria-keyshortcuts="Control+K"
    maxlength="${questionCharacters}" spellcheck="false" autocapitalize="none" autocomplete="off"><button
    class="quiet">Find</button></form>`
}

/** A square logo is a mark, and stands beside the name; a wide one is the name. */
function printLogo({ name, logo }: Brand, only?: Mode): Html {
  const light = logo[only ?? 'light']
  const dark = logo[only ?? 'dark']
  if (!light) return html`${name}`
  const isWide = widthOf(light) > 1.6 * logoHeight
  const other = dark && dark !== light && pictureUrl(dark) !== pictureUrl(light)
  const image = html`<img src="${pictureUrl(light)}" alt="${isWide ? name : ''}" width="${widthOf(light)}"
    height="${logoHeight}">`
  const shown = other
    ? html`<picture><source srcset="${pictureUrl(dark)}"
      media="(prefers-color-scheme: dark)">${image}</picture>`
    : image
  return html`${shown}${!isWide && name}`
}

const logoHeight = 28
const logoMostWidth = 220

function widthOf(picture: Picture): number {
  if ('file' in picture) return logoHeight
  return Math.min(logoMostWidth, Math.max(1, Math.round((logoHeight * picture.width) / picture.height)))
}

export function printBottom(bars: Bars): Html {
  const { brand } = bars
  const links = brand.links.map(({ label, url }) => html`<a href="${url}">${label}</a>`)
  return html`<footer class="bottom">
<span>${brand.legalName}</span>${
    links.length > 0 &&
    html`<nav
  aria-label="About ${brand.name}">${links}</nav>`
  }
${
  bars.account &&
  bars.now &&
  html`<span>Times are in ${tellZone(bars.now)}.</span><button class="quiet" type="button" data-zone
  hidden></button>`
}
${
  bars.account &&
  html`<button class="quiet" type="button" data-opens="keys"
  hidden>Keyboard shortcuts</button>`
}
</footer>
${bars.account && printKeys(waysOn(bars))}`
}

function printSites(here: Environment, other: string): Html {
  const links = environments.map((each) => {
    const name = each === 'live' ? 'Live' : 'Sandbox'
    return each === here
      ? html`<span aria-current="true">${name}</span>`
      : html`<a href="${other}">${name}</a>`
  })
  return html`<nav class="sites" aria-label="Environment">${links}</nav>`
}

function printPartners({ current, others }: NonNullable<Bars['partners']>): Html {
  const links = others.map(({ path, label }) => html`<a href="${path}">${label}</a>`)
  return html`<details class="partners"><summary><span class="unseen">Partner:
    </span>${current}</summary><nav aria-label="Other partners">${links}</nav></details>`
}

/** They have the sandbox, and nothing there but what they approved. */
function isTestHolder(account: Account | undefined): boolean {
  return account?.user.role === 'test'
}

interface WayOn extends Link {
  /** After `g`. */
  readonly key: string
}

function waysOn({ environment, account, navigation = accountNavigation }: Bars): readonly WayOn[] {
  if (isTestHolder(account)) return withKeys(accountNavigation.slice(0, 1))
  const isOutside =
    account?.user.role === 'operator' && !navigation.some(({ path }) => path === consoleLink.path)
  const links = [...navigation, ...(isOutside ? [consoleLink] : [])]
  const isThere = ({ liveAlone, sandboxAlone, forDevelopers }: Link) =>
    !(environment === 'live' ? sandboxAlone : liveAlone) && !(account?.isPlain && forDevelopers)
  return withKeys(links.filter(isThere))
}

/** Each by the first letter of its name that no other has, in the order of the bar. */
export function withKeys(links: readonly Link[]): readonly WayOn[] {
  const taken = new Set<string>()
  return links.map((link) => {
    const letters = [...link.label.toLowerCase()].filter((letter) => /[a-z]/.test(letter))
    const key = letters.find((letter) => !taken.has(letter)) ?? ''
    taken.add(key)
    return { ...link, key }
  })
}

function printAccountBar({ user, forms, here }: Account, ways: readonly WayOn[]): Html {
  const links = ways.map(
    ({ path, label, key }) =>
      html`<a href="${path}" data-key="${key}"${path === here && html` aria-current="page"`}>${label}</a>`,
  )
  return html`<nav aria-label="Account">${links}</nav>
${forms.print(
  signOut,
  { look: 'who' },
  (view) => html`<span>${user.name}</span>${view.button('Sign out', { look: 'quiet' })}`,
)}`
}

export const signOut = defineButton('/logout', { heldBy: '/' })

/** Opened by script, which is what the keys need too. */
function printKeys(ways: readonly WayOn[]): Html {
  const rows = ways
    .filter(({ key }) => key !== '')
    .map(({ key, label }) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${label}</dd>`)
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keyboard shortcuts</h2>
<dl><dt><kbd>/</kbd> <kbd>Ctrl</kbd>+<kbd>K</kbd></dt><dd>Search</dd>${rows}<dt><kbd>?</kbd></dt><dd>This list</dd></dl>
<form method="dialog"><button>Close</button></form></dialog>`
}
