/**
 * Sign-in, step-up and both sign-outs at the brokerage's identity provider, in a real browser with the
 * policies that our pages set.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { minute } from '../../src/clock.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { fine, lookAt, openBar, openScreen, phone } from '../support/screen.ts'
import { makeCustomer, openUpstream, registerUpstream } from '../support/upstream.ts'

const house = await openHouse({ HOST: 'localhost', HOLDER_SIGN_IN: 'provider' })
// The browser drops cookies whose time is over by its own clock.
house.clock.advance(Date.now() - house.clock.now().getTime())
const people = { ada: { customer_id: 'C-1' }, stranger: { customer_id: 'C-404' } }
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
await registerUpstream(house, upstream, 'bank')
await makeCustomer(house, 'C-1')
const chromium = await keepOpen(openChromium())

async function signInThere(page: Page, who: string, factor = false): Promise<void> {
  await page.getByRole('heading', { name: 'Demo identity provider' }).waitFor()
  if (factor) await page.getByLabel('with a second factor').check()
  await page.getByRole('button', { name: `Sign in as ${who}` }).click()
}

async function passTime(): Promise<void> {
  house.clock.advance(6 * minute)
  await upstream.keepTime()
}

test('a holder signs in at the provider, confirms there what hands out access, and signs out on both sides', async () => {
  const { page, complaints, close } = await openScreen(chromium, { viewport: phone })
  await page.goto(`${house.baseUrl}/account/api`)
  await signInThere(page, 'ada')
  await page.waitForURL(`${house.baseUrl}/account/api`)
  await passTime()
  await page.getByLabel('Name').fill('from a browser')
  await page.getByRole('button', { name: 'Create' }).click()
  await signInThere(page, 'ada', true)
  await page.waitForURL(`${house.baseUrl}/account/api`)
  assert.equal(await page.getByLabel('Name').inputValue(), 'from a browser', 'what was typed came back')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('from a browser').first().waitFor()
  await page.goto(`${house.baseUrl}/account`)
  await openBar(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal(page.url(), `${house.baseUrl}/login/signed-out`)
  assert.deepEqual(await lookAt(page, 'signed-out'), fine)
  assert.deepEqual(complaints, [])
  await close()
})

test('a sign-out at the provider ends the session here', async () => {
  const { page, close } = await openScreen(chromium)
  await page.goto(`${house.baseUrl}/account`)
  await signInThere(page, 'ada')
  await page.getByRole('heading', { name: 'Connected applications' }).waitFor()
  await page.goto(`${upstream.issuer}/session/end?client_id=countersign`)
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.waitForURL(`${upstream.issuer}/session/end/success*`)
  await page.goto(`${house.baseUrl}/account`)
  await page.getByRole('heading', { name: 'Demo identity provider' }).waitFor()
  await close()
})

test('whoever is no customer is told so on a page that is good for everybody', async () => {
  const { page, close } = await openScreen(chromium, { viewport: phone })
  await page.goto(`${house.baseUrl}/account`)
  await signInThere(page, 'stranger')
  await page.getByRole('heading', { name: 'We do not know you yet' }).waitFor()
  assert.deepEqual(await lookAt(page, 'unknown-customer'), fine)
  await close()
})
