/** A page on a screen: whether it fits, can be pressed with a thumb, and keeps nobody out, light and dark. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

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
