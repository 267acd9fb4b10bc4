/**
 * A member of two partners in a real browser: home after the sign-in, to the other partner and to the sandbox
 * without losing the page or signing in once more. A stranger finds the way in, an invited colleague makes an
 * account, and a test holder of the sandbox approves an application.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { inviteMember } from '../../src/partners/invitation.ts'
import { addMember } from '../../src/partners/partner.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { readInvitation } from '../support/members.ts'
import { openPartner } from '../support/portal.ts'
import { desktop, fine, lookAt, openScreen, phone } from '../support/screen.ts'

const house = await openHouse()
const chromium = await keepOpen(openChromium())

for (const javaScriptEnabled of [true, false]) {
  test(`a member of two partners looks at the webhooks of both, live and in the sandbox, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const own = await openPartner(house)
    const other = await house.makePartner()
    await addMember(house.gateway.context.db, other, own.user, house.act())
    const { page, enter, close } = await openScreen(chromium, {
      viewport: phone,
      javaScriptEnabled,
      bypassCSP: true,
    })
    await enter(house.baseUrl, own.user)
    await page.getByRole('link', { name: own.partner.name }).click()
    const openMenu = () => page.getByRole('button', { name: 'Menu' }).click()
    await openMenu()
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    if (javaScriptEnabled) assert.deepEqual(await lookAt(page, 'switches'), fine)
    await page.setViewportSize(phone)
    await openMenu()
    await page.locator('.partners summary').click()
    await page.getByRole('link', { name: other.name }).click()
    await page.waitForURL(`${house.baseUrl}/partner/${other.branchId}/webhooks`)
    await openMenu()
    await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Sandbox' }).click()
    await page.waitForURL(`${house.sandboxUrl}/partner/${other.branchId}/webhooks`)
    await page.getByText('Sandbox: nothing here touches real money.').waitFor()
    await openMenu()
    await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Live' }).click()
    await page.waitForURL(`${house.baseUrl}/partner/${other.branchId}/webhooks`)
    await close()
  })
}

const seen = async (page: Page, name: string) => {
  assert.deepEqual(await lookAt(page, name), fine)
  await page.setViewportSize(desktop)
}

test(`a stranger reads what the portal is, signs in and finds the application form`, async () => {
  const user = await house.makeUser()
  const { page, close } = await openScreen(chromium, { bypassCSP: true })
  await page.goto(`${house.baseUrl}/partner`)
  await seen(page, `stranger`)
  await page.getByRole('link', { name: 'Sign in and apply' }).click()
  await page.getByLabel('Username').fill(user.username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Apply as a partner' }).waitFor()
  await close()
})

test(`an invited colleague without an account makes one and is in the portal`, async () => {
  const { db, vault } = house.gateway.context
  const own = await openPartner(house)
  const email = `grace@example.com`
  await inviteMember({ db, vault }, own.partner, { email, role: 'developer' }, house.act())
  const { path } = await readInvitation(house, email)
  const { page, close } = await openScreen(chromium, { bypassCSP: true })
  await page.goto(house.baseUrl + path)
  await seen(page, `joining`)
  await page.getByLabel('Your name').fill('Grace Colleague')
  await page.getByLabel('Password').fill('short')
  await page.getByRole('button', { name: `Join ${own.partner.name}` }).click()
  await page.getByText('It must have at least 12 characters').waitFor()
  await seen(page, `joining-refused`)
  await page.getByLabel('Password').fill('seven unrelated words are plenty')
  await page.getByRole('button', { name: `Join ${own.partner.name}` }).click()
  await page.waitForURL(house.baseUrl + own.home)
  await close()
})

test(`a member reads the test holders in the sandbox, and one of them approves the client`, async () => {
  const own = await openPartner(house)
  const client = await house.makeClient({ partner: own.partner, environment: 'sandbox' })
  const { page, enter, close } = await openScreen(chromium, { bypassCSP: true })
  await enter(house.baseUrl + own.home, own.user)
  await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Sandbox' }).click()
  await page.waitForURL(`${house.sandboxUrl}${own.home}`)
  await page.goto(`${house.sandboxUrl}${own.home}/test-holders`)
  await seen(page, `test-holders`)
  const username = await page.locator('code', { hasText: 'ben#' }).first().innerText()
  const card = page.locator('section', { has: page.getByRole('heading', { name: 'Ben Test' }) })
  const [, testPassword] = await card.locator('dl code').allInnerTexts()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/login/)
  const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
  await page.goto(`${house.sandboxUrl}/v1/oauth/authorize?${query}`)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(testPassword!)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: /^Allow / }).waitFor()
  await seen(page, `test-holder-consent`)
  await page.goto(`${house.sandboxUrl}${own.home}`)
  await page.getByRole('heading', { name: 'This is not for test holders' }).waitFor()
  await seen(page, `not-for-test-holders`)
  await close()
})
