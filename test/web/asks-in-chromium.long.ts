/**
 * A card's menu, an answer with its way back, a question before what cannot be undone, and the search: on a
 * phone, with and without script.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Chromium, openChromium } from '../support/chromium.ts'
import { openTestGateway, type TestGateway } from '../support/gateway.ts'
import { openPartner, type PartnerHouse } from '../support/portal.ts'
import { openScreen, phone, pressAsked } from '../support/screen.ts'

let house: TestGateway
let chromium: Chromium
let own: PartnerHouse
before(async () => {
  house = await openTestGateway({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
  chromium = await openChromium()
  own = await openPartner(house)
})
after(async () => {
  await chromium?.close()
  await house?.close()
})

for (const javaScriptEnabled of [true, false]) {
  test(`on a phone a webhook is paused from its card, resumed by undo and deleted after a question, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
    const id = await own.program.register(`https://hooks.example.com/${javaScriptEnabled}`)
    const { page, enter, close } = await openScreen(chromium, {
      viewport: { ...phone, width: 320 },
      javaScriptEnabled,
    })
    await enter(`${house.baseUrl}${own.home}/webhooks`, own.user)
    const card = page.getByRole('row', { name: `hooks.example.com/${javaScriptEnabled}` })
    await card.getByText('Actions').click()
    await card.getByRole('button', { name: 'Pause' }).click()
    const told = page.locator('.done')
    assert.match(await told.innerText(), /The webhook is paused: events wait for it\./)
    await told.getByRole('button', { name: 'Undo' }).click()
    assert.match(await told.innerText(), /The webhook is resumed/)
    await page.goto(`${house.baseUrl}${own.home}/webhooks/${id}`)
    assert.equal(
      await page.getByRole('button', { name: 'Delete' }).isVisible(),
      false,
      'the question comes first',
    )
    await pressAsked(page, `Delete webhook ${id}`)
    assert.match(await told.innerText(), new RegExp(`Webhook ${id} is deleted\\.`))
    await told.getByRole('link', { name: 'Deliveries' }).click()
    await page.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor()
    await close()
  })
}

test('one search in the bar finds by address, and the filters of a list stand in one line that the address carries', async () => {
  const id = await own.program.register('https://sought.example.com/in')
  const { page, enter, close } = await openScreen(chromium)
  await enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await page.getByLabel('State').selectOption('failed after all retries')
  const tops = await page
    .locator('.filter .field')
    .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().bottom))
  assert.equal(new Set(tops.map(Math.round)).size, 1, `one line: ${tops}`)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.waitForURL(/[?&]state=exhausted/)
  await page.getByRole('searchbox').fill('sought.example.com')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${house.baseUrl}${own.home}/webhooks/${id}`)
  await close()
})
