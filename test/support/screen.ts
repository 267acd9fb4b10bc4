/** A page on a screen: whether it fits, can be pressed with a thumb, and keeps nobody out, light and dark. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { User } from '../../src/users/user.ts'
import type { Chromium } from './chromium.ts'
import { password } from './gateway.ts'

/** Long enough for the busiest machine. */
const patienceMs = 60_000

/** A page in a context of its own, what its console complains of, and somebody who signs in on it. */
export async function openScreen(chromium: Chromium, options: BrowserContextOptions = {}) {
  const context = await chromium.newContext({ viewport: desk, ...options })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return {
    page,
    complaints,
    /** Asks for a page, and signs in on the way to it. */
    async enter(url: string, { username }: User) {
      await page.goto(url)
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    },
    close: () => context.close(),
  }
}

/** Opens the question that stands before an act, and means it. */
export async function pressAsked(page: Page, name: string, reason?: string): Promise<void> {
  const ask = page.locator('details.ask', { has: page.locator('summary', { hasText: name }) }).first()
  await ask.locator('summary').click()
  if (reason !== undefined) await ask.locator('textarea').fill(reason)
  await ask.getByRole('button').click()
}

export const phone = { width: 390, height: 844 }
export const desk = { width: 1280, height: 800 }

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const tooWide = `document.documentElement.scrollWidth > innerWidth`
const tooLow = `[...document.querySelectorAll('button, input:not([type=hidden], [type=checkbox]), select, label.tick')]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 44)
  .map((each) => each.outerHTML.slice(0, 80))`
const faultsBy = (options: object) => `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`

/** In the dark only the colours differ, and on a desk only what stands where. */
const faults = {
  dark: faultsBy({ runOnly: ['color-contrast'] }),
  light: faultsBy({ resultTypes: ['violations'] }),
  desk: faultsBy({ resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } }),
}

const well = { tooWide: false, tooLow: [], faults: [] }
/** What is found on a page that is well. */
export const fine = { phone: { ...well, dark: [] }, desk: well }

/** Looks at the page as it stands, on a phone and on a desk. The context has to be opened with `bypassCSP`: the pages let no script in. */
export async function lookAt(page: Page, name: string): Promise<Record<string, unknown>> {
  await page.evaluate(axe)
  await page.setViewportSize(phone)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await page.evaluate(faults.dark)
  await photograph(page, `${name}-${phone.width}-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  const onPhone = { ...(await measure(page, faults.light)), dark }
  await photograph(page, `${name}-${phone.width}-light`)
  await page.setViewportSize(desk)
  const onDesk = await measure(page, faults.desk)
  await photograph(page, `${name}-${desk.width}-light`)
  return { phone: onPhone, desk: onDesk }
}

async function measure(page: Page, find: string): Promise<Record<string, unknown>> {
  return {
    tooWide: await page.evaluate(tooWide),
    tooLow: await page.evaluate(tooLow),
    faults: await page.evaluate(find),
  }
}

async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
