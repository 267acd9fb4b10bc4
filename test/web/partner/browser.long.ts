/**
 * The portal in a real browser: the main path of a partner's developer, on a phone and at a desk, with and
 * without JavaScript.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { callJson } from '../../support/branch.ts'
import { openChromium } from '../../support/chromium.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { deliverOne, openPartner, type PartnerHouse } from '../../support/portal.ts'
import { openReceiver } from '../../support/receiver.ts'
import { openBar, openScreen, phone } from '../../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())

async function openVisit({ user, partner }: PartnerHouse, options: BrowserContextOptions = {}) {
  const screen = await openScreen(chromium, options)
  await screen.enter(`${house.baseUrl}/partner`, user)
  await screen.page.getByRole('heading', { name: partner.name }).waitFor()
  return screen
}

for (const [name, options] of Object.entries({
  'on a phone': { viewport: phone, hasTouch: true },
  'at a desk': {},
  'without JavaScript': { javaScriptEnabled: false },
} satisfies Record<string, BrowserContextOptions>)) {
  test(`a developer registers a webhook, tests it, reads the delivery, sends it again and makes a secret, ${name}`, async () => {
    const partner = await openPartner(house)
    const path = `/${name.replaceAll(' ', '-')}`
    const { page, complaints, close } = await openVisit(partner, options)
    const go = async (label: string) => {
      await openBar(page)
      await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: label }).click()
    }
    await go('Webhooks')
    await page.getByLabel('URL').fill(receiver.url(path))
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('not tried yet', { exact: true }).waitFor()

    await go('Test events')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('heading', { name: 'TRANSACTION SUBMITTED' }).waitFor()
    await receiver.count(path, 1)
    if (options.javaScriptEnabled === false) await reloadUntil(page, 'delivered')
    await page.getByText('delivered', { exact: true }).first().waitFor()

    await go('Deliveries')
    await page.getByRole('region', { name: 'Deliveries' }).getByRole('link').first().click()
    await page.getByText('x-webhook-signature').first().waitFor()
    await page.getByRole('button', { name: 'Replay it' }).click()
    await page.getByText('Repeats', { exact: true }).waitFor()
    await receiver.count(path, 2)
    if (options.javaScriptEnabled === false) await reloadUntil(page, 'attempt 1')
    await page.getByText('attempt 1,').waitFor()

    await go('Clients')
    await page.getByRole('link', { name: 'Portfolio Pal' }).click()
    await page.getByLabel('New secret').selectOption('hour')
    await page.getByRole('button', { name: 'Make a new secret' }).click()
    const secret = await page.locator('code.secret').innerText()
    const called = await callJson(
      `${house.baseUrl}/v2/webhooks`,
      'GET',
      undefined,
      basic({ ...partner.client, secret }),
    )
    assert.equal(called.status, 200)
    assert.equal(page.url().includes(secret), false)
    assert.deepEqual(complaints, [])
    await close()
  })
}

async function reloadUntil(page: Page, text: string): Promise<void> {
  while ((await page.getByText(text).count()) === 0) await page.reload()
}

test('the list of deliveries grows by itself, and stands still when told to', async () => {
  const partner = await openPartner(house)
  await deliverOne(partner, receiver, '/live')
  const { page, close } = await openVisit(partner)
  await page.goto(`${house.baseUrl}${partner.home}/deliveries`)
  const rows = page.locator('tbody tr')
  assert.equal(await rows.count(), 1)
  await page.getByText('Updating', { exact: true }).waitFor()
  await partner.program.fire()
  await rows.nth(1).waitFor()
  await page.getByRole('button', { name: 'Pause updates' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await partner.program.fire()
  assert.equal(await rows.count(), 2)
  await page.getByRole('button', { name: 'Resume' }).click()
  await rows.nth(2).waitFor()
  await close()
})
