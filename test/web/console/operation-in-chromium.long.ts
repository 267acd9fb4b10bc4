/**
 * The operation side of the console in a real browser: what an operator does when something fails, and how
 * the log is proven.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { applyAsPartner } from '../../../src/partners/partner.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'
import { openScreen, pressAsked } from '../../support/screen.ts'

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
  const row = page.getByRole('region', { name: 'Live webhooks that need attention' })
  await row.getByRole('link', { name: failing.url }).click()
  await page.getByRole('heading', { name: `Webhook ${failing.id}` }).waitFor()
  await page.getByText('500 after').first().waitFor()
  await pressAsked(page, 'Pause', 'It floods them.')
  await page.getByText('The webhook is paused.').waitFor()
  await page.locator('.done').getByRole('link', { name: 'Audit entries' }).click()
  await page.locator('tbody tr', { hasText: 'Olga Operator paused webhook' }).waitFor()

  await page.getByLabel('Act', { exact: true }).fill('webhook.paused')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL(/action=webhook\.paused/)
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.locator('tbody summary').click()
  await page.locator('tbody details').getByText('Request', { exact: true }).waitFor()
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
      if (options.javaScriptEnabled === false)
        while ((await page.getByText(text).count()) === 0) await page.reload()
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
