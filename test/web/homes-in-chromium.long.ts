/**
 * A member of two partners in a real browser: home after the sign-in, to the other partner and to the sandbox
 * without losing the page.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember } from '../../src/partners/partner.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner } from '../support/portal.ts'
import { fine, lookAt, openScreen, phone } from '../support/screen.ts'

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
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    await page.locator('.partners summary').click()
    if (javaScriptEnabled) assert.deepEqual(await lookAt(page, 'switches'), fine)
    await page.getByRole('link', { name: other.name }).click()
    await page.waitForURL(`${house.baseUrl}/partner/${other.branchId}/webhooks`)
    await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Sandbox' }).click()
    await page.getByLabel('Username').fill(own.user.username)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${house.sandboxUrl}/partner/${other.branchId}/webhooks`)
    await page.getByText('Sandbox: nothing here touches real money.').waitFor()
    await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Live' }).click()
    await page.waitForURL(`${house.baseUrl}/partner/${other.branchId}/webhooks`)
    await close()
  })
}
