/**
 * `npm run screenshots [-- NAME…]`: photographs the main pages, for the README and the docs. The pages are
 * real, and so is what they show.
 */
import type { Page } from 'playwright-core'
import type { User } from '../../src/users/user.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { password } from '../support/gateway.ts'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { type House, openHouse } from './house.ts'
import { type Picture, pictures } from './pictures.ts'

const folder = new URL('../../docs/pictures/', import.meta.url)
const desktop = { width: 1280, height: 900 }
const phone = { width: 390, height: 844 }

async function main(names: readonly string[]): Promise<void> {
  const chosen = pictures.filter(({ name }) => names.length === 0 || names.includes(name))
  await globalSetup()
  const house = await openHouse()
  const chromium = await openChromium()
  try {
    for (const picture of chosen) {
      await take(chromium, house, picture)
      process.stdout.write(`${picture.name}.png\n`)
    }
  } finally {
    await chromium.close()
    await house.close()
    await globalTeardown()
  }
}

async function take(chromium: Chromium, house: House, picture: Picture): Promise<void> {
  const viewport = picture.onPhone ? phone : desktop
  const scheme = picture.dark ? 'dark' : 'light'
  const context = await chromium.newContext({ viewport, colorScheme: scheme, reducedMotion: 'reduce' })
  try {
    const page = await context.newPage()
    if (picture.as) await signIn(page, house, house.people[picture.as])
    await page.goto(house.baseUrl + picture.path(house))
    await picture.prepare?.(page)
    await page.screenshot({
      path: new URL(`${picture.name}.png`, folder).pathname,
      fullPage: picture.whole ?? false,
    })
  } finally {
    await context.close()
  }
}

async function signIn(page: Page, house: House, user: User): Promise<void> {
  await page.goto(`${house.baseUrl}/login`)
  await page.getByLabel('Username').fill(user.username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  // Each role lands on a home of its own.
  await page.waitForURL((url) => url.pathname !== '/login')
}

await main(process.argv.slice(2))
