/**
 * Charts and test events in a real browser: a chart is read by keyboard, by pointer and as a table, and a
 * test event is followed from its form to a receiver. With SCREENSHOTS set to a folder, the pages are also
 * photographed there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { hour, minute } from '../../../src/clock.ts'
import { countWaiting, openAttemptCounter } from '../../../src/webhooks/health/webhook-counts.ts'
import { attemptOf } from '../../support/attempt-record.ts'
import { transaction } from '../../support/branch.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { accept, fail, openReceiver } from '../../support/receiver.ts'
import { fine, lookAt, openScreen, pressAsked } from '../../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())

/** A webhook with a month behind it, one delivery that fails and one behind that. */
async function makeBusy(partner: PartnerHouse): Promise<number> {
  const { db } = house.gateway.context
  receiver.on('/busy', fail)
  const webhookId = await partner.program.register(receiver.url('/busy'))
  for (const transactionId of [1, 1]) await partner.program.fire(transaction({ transactionId }))
  await house.gateway.context.attemptCounter.flush()
  const counter = openAttemptCounter(db)
  const now = house.clock.now().getTime()
  for (let n = 0; n < 720; n++)
    for (let each = 0; each < 3 + (n % 7); each++)
      counter.note(
        attemptOf({
          ...{ webhookId, at: new Date(now - n * hour - each * 5 * minute), ms: 20 + 13 * ((n * each) % 29) },
          kind: (n + each) % 11 === 0 ? 'refused' : 'accepted',
        }),
      )
  await counter.flush()
  await countWaiting(db, house.clock.now())
  return webhookId
}

/** What is read just now. */
const shown = (page: Page) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.reading')].filter((each) => getComputedStyle(each).clipPath === 'none').map((each) => each.textContent)`,
  )

test('a chart is read by keyboard, by pointer and as a table, on a phone, at a desk, in the dark and in colours of the reader’s own', async () => {
  const partner = await openPartner(house)
  const webhookId = await makeBusy(partner)
  const screen = await openScreen(chromium, { bypassCSP: true })
  const { page, complaints } = screen
  const path = `${house.baseUrl}${partner.home}/webhooks/${webhookId}`
  await screen.enter(path, partner.user)
  await page.waitForURL(path)

  await page.getByRole('link', { name: 'Last 30 days' }).focus()
  await page.keyboard.press('Tab')
  const list = page.getByRole('list', { name: 'Attempts in each 5 minutes' })
  const readings = await list.locator('.reading').allTextContents()
  assert.equal(readings.length, 12)
  assert.match(readings.at(-1)!, /UTC: \d+ attempts: \d+ accepted, \d+ refused, \d+ unreachable$/)
  assert.deepEqual(await shown(page), [readings.at(-1)], 'the newest column comes first')
  await page.keyboard.press('ArrowLeft')
  assert.deepEqual(await shown(page), [readings.at(-2)])
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowLeft')
  assert.deepEqual(await shown(page), [readings[0]])
  await page.keyboard.press('End')
  await page.keyboard.press('Tab')
  assert.match(
    (await shown(page)).join(),
    /2 waiting, 1 of them queued behind an earlier one$/,
    'one step of the tab key further',
  )
  await list.getByRole('listitem').nth(3).hover()
  assert.ok((await shown(page)).includes(readings[3]!))

  const box = await page.locator('summary', { hasText: 'Delete webhook' }).boundingBox()
  const place = await page.getByRole('heading', { name: 'Delete', exact: true }).boundingBox()
  assert.ok(box!.y > place!.y, 'what is drawn of charts moves nothing else')
  for (const period of ['Last day', 'Last 7 days', 'Last 30 days'])
    await page.getByRole('link', { name: period }).click()
  await page.getByText('As a table').click()
  const table = page.getByRole('region', { name: 'Attempts' })
  await table.getByRole('row').nth(30).waitFor()
  assert.equal(await table.getByRole('row').count(), 31)

  // The fewest columns and the most: those between have the same parts.
  for (const period of ['hour', '30days']) {
    await page.goto(`${path}?period=${period}`)
    assert.deepEqual(await lookAt(page, `charts-${period}`), fine)
  }
  await page.setViewportSize({ width: 320, height: 700 })
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
  assert.deepEqual(complaints, [])
  await screen.close()
})

test('a test event goes from its form to one receiver, and one that waits behind another is led to it', async () => {
  const partner = await openPartner(house)
  const [chosen, other] = ['/chosen-one', '/another-one']
  await partner.program.register(receiver.url(other))
  const webhookId = await partner.program.register(receiver.url(chosen))
  const screen = await openScreen(chromium, { bypassCSP: true })
  const { page, complaints } = screen
  const path = `${house.baseUrl}${partner.home}/webhooks/${webhookId}`
  await screen.enter(path, partner.user)
  await page.waitForURL(path)
  await page.getByRole('link', { name: 'Send a test event' }).click()
  const id = await page.getByLabel('transactionId').inputValue()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('delivered', { exact: true }).waitFor()
  assert.deepEqual(
    receiver
      .at(chosen)
      .map(({ headers, body }) => [headers['x-webhook-test'], String(JSON.parse(body).transactionId)]),
    [['true', id]],
  )
  assert.equal(receiver.at(other).length, 0)

  receiver.on(chosen, fail)
  await page.getByRole('link', { name: 'Send another' }).click()
  assert.notEqual(await page.getByLabel('transactionId').inputValue(), id, 'a fresh one')
  for (const turn of [1, 2]) {
    await page.getByLabel('transactionId').fill('7')
    await page.getByRole('button', { name: 'Send' }).click()
    await receiver.count(chosen, 2)
    await page
      .getByText(turn === 1 ? 'HTTP 500' : 'Queued behind')
      .first()
      .waitFor()
    if (turn === 1) await page.getByRole('link', { name: 'Send another' }).click()
  }
  assert.deepEqual(await lookAt(page, 'test-event-waits'), fine)
  receiver.on(chosen, accept)
  await page.getByRole('link', { name: /^#[\d-]+$/ }).click()
  await pressAsked(page, 'Skip it')
  await page.getByText('canceled', { exact: true }).waitFor()
  await receiver.count(chosen, 3)
  await page.goto(`${house.baseUrl}${partner.home}/test?webhook=${webhookId}`)
  assert.deepEqual(await lookAt(page, 'test-event-form'), fine)
  assert.deepEqual(complaints, [])
  await screen.close()
})
