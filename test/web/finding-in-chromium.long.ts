/** Finding things in a real browser: the search from everywhere, views of lists, and their files. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { recordAct } from '../../src/audit/audit.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'
import { fine, lookAt, openScreen, phone } from '../support/screen.ts'
import { parseCsv } from '../support/web.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())
const own = await openPartner(house)
const { deliveryId } = await deliverOne(own, receiver)
const olga = await house.makeOperator()

const isSought = 'document.activeElement.matches(".top .search input")'

test('Ctrl-K opens the search from the console, the portal and the account, also on a phone and in a field', async () => {
  const visits = [
    { user: olga, paths: ['/console', '/console/users', '/account/devices'] },
    { user: own.user, paths: [own.home, `${own.home}/clients`, '/account'] },
  ]
  for (const options of [{}, { viewport: phone, hasTouch: true }])
    for (const { user, paths } of visits) {
      const { page, enter, complaints, close } = await openScreen(chromium, options)
      await enter(house.baseUrl + paths[0], user)
      for (const path of paths) {
        await page.goto(house.baseUrl + path)
        await page.keyboard.press('Control+k')
        assert.equal(await page.evaluate(isSought), true, path)
        assert.ok(await page.locator('.top .search input').isVisible(), path)
      }
      await page.keyboard.type(own.partner.name)
      await page.keyboard.press('Control+k')
      assert.equal(await page.evaluate('getSelection().toString()'), own.partner.name, 'nothing is lost')
      assert.deepEqual(complaints, [])
      await close()
    }
})

test('somebody who has only an account finds nothing to search, and Ctrl-K is their browser’s', async () => {
  const { page, enter, close } = await openScreen(chromium)
  await enter(`${house.baseUrl}/account`, await house.makeUser())
  assert.equal(await page.locator('.top .search').count(), 0)
  await page.keyboard.press('Control+k')
  assert.equal(await page.evaluate('document.activeElement === document.body'), true)
  await close()
})

test('a request id that a partner copied leads an operator to what it did', async () => {
  const act = house.act()
  const by = { ...act.by, name: `user:${own.user.id}`, requestId: 'partner-ticket-4711' }
  await recordAct(house.gateway.context.db, { ...act, by }, 'client.updated', `client:${own.client.id}`)
  const { page, enter, complaints, close } = await openScreen(chromium, { bypassCSP: true })
  await enter(`${house.baseUrl}/console`, olga)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('partner-ticket-4711')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/console\/audit\?request=partner-ticket-4711/)
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.locator('tbody summary').click()
  await page.getByRole('link', { name: 'partner-ticket-4711' }).waitFor()
  assert.deepEqual(await lookAt(page, 'finding-audit'), fine)

  await page.getByLabel('Request id').fill('')
  await page.getByLabel('Who').fill(own.user.username)
  await page.getByLabel('Act', { exact: true }).fill('signed in')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.locator('tbody tr', { hasText: 'Ada Holder signed in' }).first().waitFor()
  assert.deepEqual(complaints, [])
  await close()
})

test('a question of the delivery log becomes a view, is used, taken as a file, and removed', async () => {
  const { page, enter, complaints, close } = await openScreen(chromium, {
    acceptDownloads: true,
    bypassCSP: true,
  })
  await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await page.getByLabel('State').selectOption('delivered')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.waitForURL(/state=delivered/)
  await page.locator('summary', { hasText: 'Save this view' }).click()
  await page.getByLabel('Name of this view').fill('What went well')
  await page.getByRole('button', { name: 'Save this view' }).click()
  await page.getByText('Saved as “What went well”').waitFor()
  await page.goto(`${house.baseUrl}${own.home}/deliveries`)
  const views = page.getByRole('navigation', { name: 'Saved views' })
  await views.getByRole('link', { name: 'What went well' }).click()
  await page.waitForURL(/state=delivered/)
  await page.getByRole('button', { name: 'Remove this view' }).waitFor()
  assert.deepEqual(await lookAt(page, 'finding-view'), fine)

  const started = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  const download = await started
  assert.match(download.suggestedFilename(), /^countersign-deliveries-\w+\.csv$/)
  const [, ...rows] = parseCsv(readFileSync(await download.path(), 'utf8'))
  assert.deepEqual(
    rows.map(([id]) => id),
    [String(deliveryId)],
  )

  await page.getByRole('button', { name: 'Remove this view' }).click()
  await page.getByText('“What went well” is removed.').waitFor()
  assert.equal(await views.count(), 0)
  await page.getByRole('link', { name: 'All saved views' }).click()
  await page.getByText('You have saved no view of a list.').waitFor()
  assert.deepEqual(await lookAt(page, 'finding-views'), fine)
  assert.deepEqual(complaints, [])
  await close()
})
