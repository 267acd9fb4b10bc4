/**
 * Every page of the table in a real browser, as wide as the smallest phone, a phone and two desks, light, dark,
 * in colours of the reader's choice and in a red brand's: nothing hangs over, all can be pressed with a thumb, and axe finds
 * nothing. With SCREENSHOTS set to a folder, every page is also photographed there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { pageRoutes } from '../../src/web/routes.ts'
import { openChromium } from '../support/chromium.ts'
import { rowOf } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartnerSite } from '../support/partner-site.ts'
import { openReceiver } from '../support/receiver.ts'
import { fineIn, type Look, laterLooks, lookAt, looks, openScreen } from '../support/screen.ts'
import { consoleTour } from './looks/console.ts'
import { holderTour } from './looks/holder.ts'
import { portalTour } from './looks/portal.ts'
import type { Tour, Walk } from './looks/tour.ts'

const house = await openHouse({ HOST: 'localhost', WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const site = await keepOpen(openPartnerSite('localhost'))
const screen = await openScreen(await keepOpen(openChromium()), { bypassCSP: true, reducedMotion: 'reduce' })
const { page, complaints } = await keepOpen(screen)

const walk: Walk = {
  ...{ house, receiver, site, page },
  visit: (address) => page.goto(new URL(address, house.baseUrl).href),
  async enter(address, user) {
    await page.context().clearCookies()
    const { href } = new URL(address, house.baseUrl)
    await screen.enter(href, user)
    await page.waitForURL(href)
  },
}

/** Rows of the table that were shown, and not refused. */
const visited = new Set<string>()

/** Every way for the first page of a row; fewer for what else the row has to tell. */
async function waysToLook(): Promise<readonly Look[]> {
  const status = await page.evaluate(`performance.getEntriesByType('navigation')[0].responseStatus`)
  const row = rowOf('GET', new URL(page.url()).pathname)
  const ways = visited.has(row) ? laterLooks : looks
  if (status === 200) visited.add(row)
  return ways
}

for (const [whose, tour] of [
  ['an account holder’s', holderTour],
  ['a partner’s', portalTour],
  ['an operator’s', consoleTour],
] satisfies [string, Tour][])
  test(`each of ${whose} pages fits phones and desks, and axe finds nothing, light, dark, in colours of the reader’s choice and in a red brand’s`, async () => {
    const found: Record<string, unknown> = {}
    complaints.length = 0
    for await (const name of tour(walk)) {
      const ways = await waysToLook()
      const seen = await lookAt(page, name, ways)
      if (!isDeepStrictEqual(seen, fineIn(ways))) found[name] = seen
    }
    assert.deepEqual(found, {})
    assert.deepEqual(
      complaints.filter((text) => !/status of 40[0-9]/.test(text)),
      [],
    )
  })

/** They lead on, or hand out a file. */
const notShown = new Set([
  ...['/', '/v1/oauth/authorize', '/console/audit/export', '/.well-known/change-password'],
  '/console/imports/:id/faults',
  ...['/login/with/:provider', '/login/from/:provider'],
  ...['/login/live', '/login/live/back', '/login/sandbox'],
  ...['/partner/:branch/clients/:client/look/logo', '/console/partners/:branch/clients/:client/look/logo'],
])

test('no page of the table is left out', () => {
  const pages = pageRoutes
    .filter(({ method, path }) => method === 'GET' && !notShown.has(path))
    .map(({ path }) => path)
  assert.deepEqual(
    pages.filter((path) => !visited.has(path)),
    [],
  )
})
