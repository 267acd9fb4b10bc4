/**
 * Every page of an account holder in a second brand, and messages in two, on a phone and on a desk, by day
 * and by night: nothing hangs over, all can be pressed with a thumb, and axe finds nothing. With SCREENSHOTS
 * set to a folder, each is also photographed there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { printLetterPage } from '../../src/notices/letter.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import type { NoticeToSend } from '../../src/notices/post.ts'
import { acceptLook, giveLook } from '../../src/partners/client-look.ts'
import { type Brand, houseBrand } from '../../src/vocabulary/brand.ts'
import { previewPages } from '../../src/web/console/brand/brand.ts'
import { brandInForce, check, drawPng, putSecondBrandInForce } from '../support/brand.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartnerSite } from '../support/partner-site.ts'
import { openReceiver } from '../support/receiver.ts'
import { brandLooks, fineIn, lookAt, openScreen } from '../support/screen.ts'
import { holderTour } from './looks/holder.ts'
import type { Walk } from './looks/tour.ts'

const house = await openHouse({ HOST: 'localhost' })
const receiver = await keepOpen(openReceiver())
const site = await keepOpen(openPartnerSite('localhost'))
const screen = await openScreen(await keepOpen(openChromium()), { bypassCSP: true, reducedMotion: 'reduce' })
const { page, complaints } = await keepOpen(screen)
for (const environment of ['live', 'sandbox'] as const) await putSecondBrandInForce(house, environment)

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

/** An application that says something of itself: on its consent page two brands meet. */
async function* consentTour(): AsyncGenerator<string, void> {
  const client = await house.makeClient({ callbackUrl: `${site.origin}/callback` })
  const words = {
    purpose: 'Shows your holdings beside those at other brokers, and tells you what they cost.',
    website: 'https://www.quant.example/',
    privacyUrl: 'https://www.quant.example/privacy',
    termsUrl: 'https://www.quant.example/terms',
  }
  const { db } = house.gateway.context
  await giveLook(db, client, words, await check(drawPng(64, 64, [20, 90, 160])), house.act())
  await acceptLook(db, client, 1, house.act())
  await page.context().clearCookies()
  const query = new URLSearchParams({ client_id: client.id, scope: 'read trade', state: 'st' })
  await screen.enter(
    `${house.baseUrl}/v1/oauth/authorize?${query}`,
    await house.makeUser(undefined, ['6YD00009']),
  )
  await page.getByRole('heading', { name: /^Allow / }).waitFor()
  yield 'brand-consent-with-look'
}

async function findFaults(stops: AsyncIterable<string>): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for await (const name of stops) {
    const seen = await lookAt(page, name, brandLooks)
    if (!isDeepStrictEqual(seen, fineIn(brandLooks))) found[name] = seen
  }
  return found
}

async function* named(tour: AsyncIterable<string>): AsyncGenerator<string, void> {
  for await (const name of tour) yield `brand-${name}`
}

test('each of an account holder’s pages in a second brand fits a phone and a desk, and axe finds nothing, light and dark', async () => {
  complaints.length = 0
  assert.deepEqual(await findFaults(named(holderTour(walk))), {})
  assert.deepEqual(await findFaults(consentTour()), {})
  assert.deepEqual(
    complaints.filter((text) => !/status of 40[0-9]/.test(text)),
    [],
  )
})

/** By night, whatever the browser prefers. */
async function* previewTour(): AsyncGenerator<string, void> {
  await walk.enter('/console/brand/live', await house.makeOperator())
  for (const name of previewPages.filter((each) => each !== 'mail')) {
    await walk.visit(`/console/brand/live/preview?page=${name}&mode=dark`)
    yield `preview-${name}`
  }
}

test('the previews of a brand show it by night in a browser that prefers the day, and axe finds nothing', async () => {
  assert.deepEqual(await findFaults(previewTour()), {})
  const paper = `getComputedStyle(document.body).backgroundColor`
  await page.emulateMedia({ colorScheme: 'light' })
  assert.equal(await page.evaluate(paper), 'rgb(23, 15, 20)')
  await walk.visit('/console/brand/live/preview?mode=light')
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await page.evaluate(paper), 'rgb(250, 245, 248)')
})

const addresses = { live: 'https://api.broker.example', sandbox: 'https://sandbox.broker.example' }

function messages(): NoticeToSend[] {
  const common = {
    id: 1,
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    key: 'k',
    attempts: 1,
    createdAt: house.clock.now(),
  }
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0'
  const guard = { byHolder: true, from: '192.0.2.7', userAgent, former: false, more: false }
  return [
    { ...common, kind: 'sign-in', facts: { environment: 'live', address: '192.0.2.7', userAgent } },
    {
      ...common,
      kind: 'application',
      facts: {
        ...{
          environment: 'sandbox',
          client: 'Portfolio',
          partner: 'Example Apps Ltd',
          address: '2001:db8::7',
        },
        scopes: ['read', 'trade', 'write', 'market', 'stream'],
      },
    },
    { ...common, kind: 'password', facts: guard },
  ]
}

async function* mailTour(): AsyncGenerator<string, void> {
  const logo = await check(drawPng(160, 32))
  const second = await brandInForce(house, 'live')
  const brands: [string, Brand, string | undefined][] = [
    ['house', houseBrand, undefined],
    ['second', second, `data:image/png;base64,${logo.bytes.toString('base64')}`],
  ]
  for (const [name, brand, src] of brands) {
    for (const notice of messages()) {
      const words = noticeWords(notice, addresses, house.gateway.context.vault, {
        live: brand,
        sandbox: brand,
      })
      await page.setContent(printLetterPage(words.letter!, words.subject, src))
      yield `mail-${name}-${notice.kind}`
    }
  }
}

/** What a program that reads mail puts around it: none of it is a page by itself. */
const ofPages = /^(landmark-one-main|page-has-heading-one|region): /

test('messages in two brands fit a phone and a desk, and axe finds nothing, light and dark', async () => {
  await page.goto('about:blank')
  const found = await findFaults(mailTour())
  const faults = Object.entries(found).flatMap(([name, looks]) =>
    Object.entries(looks as Record<string, Record<string, string[]>>).flatMap(([look, kinds]) =>
      Object.values(kinds)
        .flat()
        .filter((fault) => !ofPages.test(fault))
        .map((fault) => `${name} ${look}: ${fault}`),
    ),
  )
  assert.deepEqual(faults, [])
})
