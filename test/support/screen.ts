/** A page on a screen: whether it fits, can be pressed with a thumb, and keeps nobody out, light and dark. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { User } from '../../src/users/user.ts'
import { password } from './gateway.ts'

/** A page in a context of its own, what its console complains of, and somebody who signs in on it. */
export async function openScreen(chromium: Browser, options: BrowserContextOptions = {}) {
  const context = await chromium.newContext({ viewport: desk, ...options })
  context.setDefaultTimeout(20_000)
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

export const phone = { width: 390, height: 844 }
export const desk = { width: 1280, height: 800 }

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const tooWide = `document.documentElement.scrollWidth > innerWidth`
const tooLow = `[...document.querySelectorAll('button, input:not([type=hidden], [type=checkbox]), select, label.tick')]
  .filter((each) => each.getBoundingClientRect().height < 44)
  .map((each) => each.outerHTML.slice(0, 80))`
const faultsBy = (options: object) => `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`

/** In the dark only the colours differ. */
const faults = {
  dark: faultsBy({ runOnly: ['color-contrast'] }),
  light: faultsBy({ resultTypes: ['violations'] }),
}

/** What is found on a page that is well. */
export const fine = { tooWide: false, tooLow: [], dark: [], light: [] }

/** Looks at the page as it stands. The context has to be opened with `bypassCSP`: the pages let no script in. */
export async function lookAt(page: Page, name: string): Promise<Record<string, unknown>> {
  const measured: Record<string, unknown> = {
    tooWide: await page.evaluate(tooWide),
    tooLow: await page.evaluate(tooLow),
  }
  await page.evaluate(axe)
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    measured[colorScheme] = await page.evaluate(faults[colorScheme])
    await photograph(page, `${name}-${page.viewportSize()!.width}-${colorScheme}`)
  }
  return measured
}

async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
