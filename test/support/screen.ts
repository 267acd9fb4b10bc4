/** A page on a screen: whether it fits, can be pressed with a thumb, and keeps nobody out, light and dark. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { User } from '../../src/users/user.ts'
import { houseBrand } from '../../src/vocabulary/brand.ts'
import { brandStyleUrl } from '../../src/web/frame/assets.ts'
import type { Chromium } from './chromium.ts'
import { password } from './gateway.ts'
import { testTimeoutMs } from './timeout.ts'

/** A page in a context of its own, what its console complains of, and somebody who signs in on it. */
export async function openScreen(chromium: Chromium, options: BrowserContextOptions = {}) {
  const context = await chromium.newContext({ viewport: desktop, ...options })
  context.setDefaultTimeout(testTimeoutMs)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return {
    page,
    complaints,
    /** Asks for a page, and signs in on the way to it: it is there, with its style and its scripts. */
    async enter(url: string, { username }: User) {
      await page.goto(url)
      // What tells a stranger where they are leads on to it.
      const way = page.locator('a[href^="/login?return="]')
      if ((await way.count()) > 0) {
        await way.click()
        await page.waitForURL(/\/login/)
      }
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForLoadState()
    },
    close: () => context.close(),
  }
}

/** What the bar leads to stands behind a button where there is little room: the page has to be there already. */
export async function openBar(page: Page): Promise<void> {
  if (page.viewportSize()!.width <= 1024)
    await page.getByRole('button', { name: 'Menu', exact: true }).click()
}

/** Opens the question that stands before an act, and means it. */
export async function pressAsked(page: Page, name: string, reason?: string): Promise<void> {
  const ask = page.locator('details.ask', { has: page.locator('summary', { hasText: name }) }).first()
  await ask.locator('summary').click()
  if (reason !== undefined) await ask.locator('textarea').fill(reason)
  await ask.getByRole('button').click()
}

/** The smallest that is still in use. */
export const smallPhone = { width: 320, height: 568 }
export const phone = { width: 390, height: 844 }
export const desktop = { width: 1280, height: 800 }
const wideDesktop = { width: 1920, height: 1080 }

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** Past the right edge, and nothing around it scrolls by itself. */
const tooWide = `[...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5 && each.checkVisibility())
  .filter((each) => { for (let at = each.parentElement; at; at = at.parentElement) if (at !== document.body && getComputedStyle(at).overflowX !== 'visible') return false; return true })
  .map((each) => each.outerHTML.slice(0, 120))
  .concat(document.documentElement.scrollWidth > innerWidth ? 'the whole page' : [])`
const tooLow = `[...document.querySelectorAll('button, input:not([type=hidden], [type=checkbox]), select, label.tick')]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 44)
  .map((each) => each.outerHTML.slice(0, 80))`
/**
 * WCAG 1.4.3 of the hint in an empty field, which axe leaves out: it stands out from what is behind it by at
 * least 4.5 to 1.
 */
const tooFaint = `(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number)
  const light = (color) => parse(color).slice(0, 3)
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0)
  const behind = (each) => {
    const color = getComputedStyle(each).backgroundColor
    return parse(color)[3] === 0 && each.parentElement ? behind(each.parentElement) : color
  }
  const contrast = (each) => {
    const [more, less] = [light(getComputedStyle(each, '::placeholder').color), light(behind(each))].sort((a, b) => b - a)
    return (more + 0.05) / (less + 0.05)
  }
  return [...document.querySelectorAll('[placeholder]')]
    .filter((each) => each.checkVisibility() && contrast(each) < 4.5)
    .map((each) => contrast(each).toFixed(2) + ' ' + each.outerHTML.slice(0, 80))
})()`
const faultsBy = (
  options: object,
) => `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`

/** Of a scheme only the colours differ, and of a width only what stands where. */
const all = faultsBy({ resultTypes: ['violations'] })
const ofColours = faultsBy({ resultTypes: ['violations'], runOnly: ['color-contrast'] })
const ofPlaces = faultsBy({ resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } })

export interface Look {
  readonly name: string
  readonly viewport: { readonly width: number; readonly height: number }
  readonly colorScheme: 'light' | 'dark'
  readonly forcedColors: 'none' | 'active'
  /** In the colours of a brokerage whose colour is red, whatever is in force. */
  readonly isRed?: true
  readonly find: string
}

/** Each width once, and each set of colours. */
export const looks: readonly Look[] = [
  { name: '320-light', viewport: smallPhone, colorScheme: 'light', forcedColors: 'none', find: all },
  { name: '390-dark', viewport: phone, colorScheme: 'dark', forcedColors: 'none', find: ofColours },
  { name: '1280-light', viewport: desktop, colorScheme: 'light', forcedColors: 'none', find: ofPlaces },
  { name: '1280-forced', viewport: desktop, colorScheme: 'light', forcedColors: 'active', find: ofColours },
  {
    name: '1920-red',
    viewport: wideDesktop,
    colorScheme: 'light',
    forcedColors: 'none',
    isRed: true,
    find: all,
  },
  {
    name: '1280-red-dark',
    viewport: desktop,
    colorScheme: 'dark',
    forcedColors: 'none',
    isRed: true,
    find: ofColours,
  },
]

/** For a page that was seen in all of them with other contents: the narrowest, and the colours by night. */
export const laterLooks: readonly Look[] = looks.filter(
  ({ name }) => name === '320-light' || name === '1280-red-dark',
)

/** For a brand in force: by day and by night. */
export const brandLooks: readonly Look[] = [
  { name: '390-light', viewport: phone, colorScheme: 'light', forcedColors: 'none', find: all },
  { name: '1280-dark', viewport: desktop, colorScheme: 'dark', forcedColors: 'none', find: all },
]

/** As far from the colours of states as red from red. */
const red = brandStyleUrl({
  ...houseBrand,
  colours: {
    accent: { light: '#b3261e', dark: '#ff8a80' },
    background: { light: '#fdf6f5', dark: '#1a0f0e' },
  },
})

/** A preview has colours of its own. */
const wear = (sheet: string | undefined) => `(async () => {
  const link = document.querySelector('link[rel=stylesheet]:is([href$="/brand.css"], [href*="/assets/colours/"])')
  if (!link || document.querySelector('meta[name=color-scheme]').content !== 'light dark') return
  const own = link.dataset.own ??= link.getAttribute('href')
  const next = ${JSON.stringify(sheet ?? null)} ?? own
  if (link.getAttribute('href') === next) return
  await new Promise((resolve, reject) => { link.onload = resolve; link.onerror = reject; link.href = next })
})()`

const well = { tooWide: [], tooLow: [], tooFaint: [], faults: [] }
/** What is found on a page that is well. */
export const fineIn = (seen: readonly Look[]) => Object.fromEntries(seen.map(({ name }) => [name, well]))
export const fine = fineIn(looks)

/**
 * Looks at the page as it stands, on phones and on a desk. The context has to be opened with `bypassCSP`: the
 * pages let no script in.
 */
export async function lookAt(page: Page, name: string, ways = looks): Promise<Record<string, unknown>> {
  // Without its style it looks different.
  await page.waitForLoadState()
  await page.evaluate(axe)
  const found: Record<string, unknown> = {}
  for (const { name: look, viewport, find, isRed, ...media } of ways) {
    await page.evaluate(wear(isRed && red))
    await page.setViewportSize(viewport)
    await page.emulateMedia(media)
    found[look] = await page.evaluate(
      `${find}.then((faults) => ({ tooWide: ${tooWide}, tooLow: ${tooLow}, tooFaint: ${tooFaint}, faults }))`,
    )
    await photograph(page, `${name}-${look}`)
  }
  await page.evaluate(wear(undefined))
  await page.emulateMedia({ forcedColors: 'none' })
  return found
}

/** What is longer says no more. */
const longestPicture = 2_000
const wholeSize = `({ width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight })`

async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  const { width, height } = (await page.evaluate(wholeSize)) as { width: number; height: number }
  const clip = { x: 0, y: 0, width, height: Math.min(height, longestPicture) }
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true, clip })
}
