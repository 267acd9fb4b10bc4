/**
 * What stands around every page, in a real browser: keys, moments in the reader's own zone, tables as cards,
 * colours of the reader's choice, paper.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask } from '../support/ask.ts'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { openTestGateway, type TestGateway } from '../support/gateway.ts'
import { deliverOne, openPartner, type PartnerHouse } from '../support/portal.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { fine, lookAt, openScreen, phone } from '../support/screen.ts'

let house: TestGateway
let chromium: Chromium
let receiver: Receiver
let own: PartnerHouse
before(async () => {
  house = await openTestGateway()
  receiver = await openReceiver()
  chromium = await openChromium()
  own = await openPartner(house)
  await deliverOne(own, receiver)
})
after(async () => {
  await chromium?.close()
  await house?.close()
  await receiver?.close()
})

test('keys lead to the search, to each part and to their list, and leave alone whoever types', async () => {
  const { page, enter, close } = await openScreen(chromium, { bypassCSP: true })
  await enter(`${house.baseUrl}${own.home}/clients`, own.user)
  await page.getByRole('heading', { name: 'Clients', exact: true }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.equal(
    await page.evaluate('document.activeElement.id'),
    'content',
    'the first stop leads past the bars',
  )

  await page.keyboard.press('?')
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await list.waitFor()
  assert.match(await list.innerText(), /g w\s+Webhooks/)
  assert.deepEqual(await lookAt(page, 'keys'), fine)
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
  await list.getByRole('button', { name: 'Close' }).click()

  await page.keyboard.press('Control+g')
  await page.keyboard.press('w')
  await page.getByLabel('Name').focus()
  await page.keyboard.type('g?/w')
  assert.equal(await page.getByLabel('Name').inputValue(), 'g?/w')
  assert.equal(page.url(), `${house.baseUrl}${own.home}/clients#content`, 'nothing led away')
  await page.getByRole('heading', { name: 'Clients', exact: true }).click()
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await page.waitForURL(`${house.baseUrl}${own.home}/webhooks`)
  await page.keyboard.press('/')
  await page.waitForFunction(`document.activeElement.closest('[role=search]') !== null`)
  await page.keyboard.type('transaction:42')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${house.baseUrl}${own.home}/deliveries?entity=transaction%3A42`)
  await close()
})

for (const javaScriptEnabled of [true, false]) {
  const zone = javaScriptEnabled ? 'in the zone of the reader, who can choose UTC' : 'in UTC without script'
  test(`moments are told ${zone}, also where the page changes by itself`, async () => {
    const { page, enter, close } = await openScreen(chromium, {
      timezoneId: 'America/New_York',
      javaScriptEnabled,
    })
    await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
    const moments = page.locator('tbody time')
    await moments.first().waitFor()
    const expected = javaScriptEnabled ? '2026-03-02 05:00:00 UTC-5' : '2026-03-02 10:00:00 UTC'
    assert.equal(await moments.first().innerText(), expected)
    if (javaScriptEnabled) {
      assert.match((await moments.first().getAttribute('title'))!, /^2026-03-02T10:00:00.*Z$/)
      const rows = await moments.count()
      await own.program.fire()
      await moments.nth(rows).waitFor()
      for (const text of await moments.allInnerTexts()) assert.match(text, / UTC-5$/)
      await page.getByLabel('From (America/New_York)').fill('2026-03-02T04:59')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.waitForURL(/zone=America/)
      assert.equal(await moments.first().innerText(), expected)
      await page.getByRole('button', { name: 'Show times in UTC' }).click()
      await page.getByText('Times are in UTC.').waitFor()
      assert.equal(await page.getByLabel('From (UTC)').inputValue(), '2026-03-02T09:59')
      await page.goto(`${house.baseUrl}/account/devices`)
      await page.getByText('2 March 2026, 10:00 UTC').first().waitFor()
      await page.getByRole('button', { name: 'Show times in America/New_York' }).click()
      await page.getByText('2 March 2026, 05:00 UTC-5').first().waitFor()
    }
    await close()
  })
}

test('on a phone each row of a table is a card that says what its cells are, and nothing scrolls sideways', async () => {
  const { page, enter, close } = await openScreen(chromium, { viewport: { ...phone, width: 320 } })
  await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await page.getByRole('cell').nth(1).waitFor()
  const label = await page.evaluate(
    'getComputedStyle(document.querySelectorAll("td")[2], "::before").content',
  )
  assert.equal(label, '"State"')
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
  const scrolls = 'document.querySelector(".scrolls")'
  assert.equal(await page.evaluate(`${scrolls}.scrollWidth <= ${scrolls}.clientWidth`), true)
  assert.equal(
    await page.getByRole('row').count(),
    (await page.locator('tbody tr').count()) + 1,
    'it is still a table',
  )
  await close()
})

test('on a laptop the delivery log shows every column, however long its entities and addresses are', async () => {
  const { db } = house.gateway.context
  await ask(db, `UPDATE log SET entity = 'transaction:' || repeat('9', 60)`)
  await ask(db, `UPDATE webhooks SET url = url || '/' || repeat('a', 200)`)
  for (const width of [1024, 1280]) {
    const { page, enter, close } = await openScreen(chromium, { viewport: { width, height: 800 } })
    await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
    await page.getByRole('cell').nth(1).waitFor()
    const scrolls = 'document.querySelector(".scrolls")'
    assert.equal(await page.evaluate(`${scrolls}.scrollWidth <= ${scrolls}.clientWidth`), true, `${width}`)
    await page
      .getByRole('link', { name: /^transaction:9+$/ })
      .first()
      .click()
    await page.waitForURL(/entity=transaction%3A9+/)
    await close()
  }
})

test('the bar of a phone takes 64 px on both sites, and unfolds without script', async () => {
  for (const [origin, width] of [
    [house.baseUrl, 320],
    [house.sandboxUrl, 390],
  ] as const) {
    const { page, enter, close } = await openScreen(chromium, {
      viewport: { ...phone, width },
      javaScriptEnabled: false,
    })
    await enter(`${origin}/partner/${own.partner.branchId}/deliveries`, own.user)
    assert.equal((await page.locator('header').boundingBox())?.height, 64)
    const link = page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Clients' })
    assert.equal(await link.isVisible(), false)
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.keyboard.press('Escape')
    await link.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Menu' }).click()
    await link.click()
    await page.waitForURL(`${origin}/partner/${own.partner.branchId}/clients`)
    await close()
  }
})

test('at every width the columns of a table stand beside each other, and a desk of 1920 px is used', async () => {
  const { page, enter, close } = await openScreen(chromium)
  await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await page.getByRole('cell').nth(1).waitFor()
  for (const width of [320, 390, 800, 1030, 1280, 1920]) {
    await page.setViewportSize({ ...phone, width })
    const boxes = await Promise.all(
      (await page.locator('tbody tr').first().getByRole('cell').all()).map((each) => each.boundingBox()),
    )
    for (const [at, one] of boxes.entries())
      for (const other of boxes.slice(at + 1))
        assert.ok(
          one!.x + one!.width <= other!.x + 1 ||
            other!.x + other!.width <= one!.x + 1 ||
            one!.y + one!.height <= other!.y + 1,
          `${width}: cell ${at} is covered`,
        )
  }
  assert.ok((await page.locator('table').boundingBox())!.width > 1_850)
  await close()
})

test('Escape closes a menu and gives the focus back, and so does a click elsewhere without it', async () => {
  const { page, enter, close } = await openScreen(chromium)
  await enter(`${house.baseUrl}${own.home}/webhooks`, own.user)
  const menu = page.locator('.menu').first()
  await menu.locator('summary').click()
  await menu.getByRole('link').first().focus()
  await page.keyboard.press('Escape')
  await menu.getByRole('link').first().waitFor({ state: 'hidden' })
  assert.equal(
    await page.evaluate(`document.activeElement === document.querySelector('.menu > summary')`),
    true,
  )
  await page.keyboard.press('Enter')
  await menu.getByRole('link').first().waitFor()
  await page.getByRole('heading', { name: 'Webhooks', exact: true }).click()
  await menu.getByRole('link').first().waitFor({ state: 'hidden' })
  await close()
})

test('in colours of the reader’s choice states have outlines, and on paper stand no bars and no forms', async () => {
  const { page, enter, close } = await openScreen(chromium, { bypassCSP: true, forcedColors: 'active' })
  await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await page.locator('.state').first().waitFor()
  assert.equal(
    await page.evaluate('getComputedStyle(document.querySelector(".state")).borderTopStyle'),
    'solid',
  )
  assert.deepEqual(await lookAt(page, 'forced-colours'), fine)
  await page.emulateMedia({ media: 'print', forcedColors: 'none' })
  for (const gone of ['.top nav', '.filter', '.bottom', '.skip'])
    assert.equal(await page.locator(gone).first().isVisible(), false, gone)
  assert.ok(await page.getByRole('heading', { name: 'Deliveries' }).isVisible())
  assert.ok(await page.locator('.brand').isVisible(), 'whose it is, is')
  await close()
})
