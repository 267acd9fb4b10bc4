/**
 * The operation side of the console in a real browser: what an operator does when something fails, and every page on a phone and at a
 * desk, light and dark, looked through by axe. With SCREENSHOTS set to a folder, every page is also photographed there.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { applyAsPartner } from '../../../src/partners/partner.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { deliverOne, openPartner } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'
import { fine, lookAt, openScreen } from '../../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())
const olga = await house.makeOperator()

/** Signs in at a page of the console and is led back to it. */
async function openVisit(path: string, options: BrowserContextOptions = {}) {
  const screen = await openScreen(chromium, { acceptDownloads: true, ...options })
  await screen.enter(house.baseUrl + path, olga)
  await screen.page.waitForURL(house.baseUrl + path)
  return screen
}

/** A webhook of a new partner whose receiver refuses. */
async function makeFailing(path: string) {
  receiver.on(path, answer(500))
  const { program, partner } = await openPartner(house)
  const id = await program.register(receiver.url(path), { kinds: ['TRANSACTION'] })
  return { id, partner, url: receiver.url(path), fire: () => program.fire() }
}

test('an operator sees a webhook begin to fail, pauses it, and finds that in the log', async () => {
  const { page, complaints, close } = await openVisit('/console?period=day')
  await page.getByText('Updating', { exact: true }).waitFor()
  const failing = await makeFailing('/begins-to-fail')
  await failing.fire()
  const row = page.getByRole('region', { name: 'Webhooks that need attention' })
  await row.getByRole('link', { name: failing.url }).click()
  await page.getByRole('heading', { name: `Webhook ${failing.id}` }).waitFor()
  await page.getByText('500 after').first().waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('The webhook is paused.').waitFor()
  await page.locator('.done').getByRole('link', { name: 'Audit entries' }).click()
  await page.locator('tbody tr', { hasText: 'Olga Operator paused webhook' }).waitFor()

  await page.getByLabel('Action').fill('webhook.paused')
  await page.getByRole('button', { name: 'Search' }).click()
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.locator('tbody summary').click()
  await page.getByText('"requestId"').waitFor()
  const started = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  const download = await started
  assert.match(download.suggestedFilename(), /^countersign-audit-\d{8}T\d{6}Z\.csv$/)
  const lines = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\r\n')
  assert.equal(lines.length, 2)
  assert.match(lines[1]!, new RegExp(`"webhook\\.paused","webhook:${failing.id}"`))
  assert.deepEqual(complaints, [])
  await close()
})

for (const [name, options] of Object.entries({
  'with JavaScript': {},
  'without JavaScript': { javaScriptEnabled: false },
} satisfies Record<string, BrowserContextOptions>)) {
  test(`an operator verifies the chain and proves it with the head that was found, ${name}`, async () => {
    const { page, complaints, close } = await openVisit('/console/audit/chain', options)
    const until = async (text: string) => {
      if (options.javaScriptEnabled === false) while ((await page.getByText(text).count()) === 0) await page.reload()
      await page.getByText(text).waitFor()
    }
    await page.getByRole('button', { name: 'Verify' }).click()
    await until('The chain is intact.')
    const head = await page.locator('dd code').innerText()
    await page.getByLabel('Anchor').fill(head)
    await page.getByRole('button', { name: 'Verify' }).click()
    await until('The chain goes through the anchor')
    await page.getByLabel('Anchor').fill('not a head')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('It must be a head as an earlier run printed it').waitFor()
    assert.deepEqual(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
    )
    await close()
  })
}

test('the overview stands still when told to', async () => {
  const { page, close } = await openVisit('/console')
  await page.getByRole('button', { name: 'Pause updates' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await applyAsPartner(house.gateway.context.db, 'Patient Applicant', house.act())
  assert.equal(await page.getByText('Patient Applicant').count(), 0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('link', { name: 'Patient Applicant' }).waitFor()
  await close()
})

/** Every page there is, with something on it. */
async function tour(): Promise<Record<string, string>> {
  const { db } = house.gateway.context
  const partner = await openPartner(house)
  await askForRefresh(db, partner.partner, 'long evenings', house.act())
  const { webhookId } = await deliverOne(partner, receiver, '/toured')
  const failing = await makeFailing('/toured-failing')
  await failing.fire()
  return {
    overview: '/console',
    'overview-day': '/console?period=day',
    webhooks: '/console/webhooks',
    'webhooks-none': '/console/webhooks?partner=nobody',
    'webhooks-wrong': '/console/webhooks?condition=lost',
    webhook: `/console/webhooks/${webhookId}`,
    'webhook-failing': `/console/webhooks/${failing.id}?period=day`,
    audit: '/console/audit',
    'audit-none': '/console/audit?actor=nobody',
    'audit-wrong': '/console/audit?from=2026-03-03T00:00&to=2026-03-02T00:00',
    chain: '/console/audit/chain',
    settings: '/console/settings',
  }
}

test('every page of the operation side fits a phone and a desk, and axe finds no serious fault', async () => {
  const pages = await tour()
  const { page, complaints, close } = await openVisit('/console', { bypassCSP: true })
  const found: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(house.baseUrl + path)
    found[name] = await lookAt(page, `console-${name}`)
  }
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, fine])))
  assert.deepEqual(
    complaints.filter((text) => !/status of 400/.test(text)),
    [],
  )
  await close()
})
