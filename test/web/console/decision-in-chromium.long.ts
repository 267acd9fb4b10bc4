/**
 * An operator decides an application from the console's home, in a real browser, with two clicks; with
 * JavaScript and without.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { applyWithDetails, getPartner } from '../../../src/partners/partner.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openScreen } from '../../support/screen.ts'

const house = await openHouse()
const chromium = await keepOpen(openChromium())

async function apply(name: string): Promise<void> {
  const purpose = 'Portfolios for everybody, with charts that their grandparents understand.'
  const said = { name, website: 'https://app.example.com', contact: 'dev@app.example.com', purpose }
  await applyWithDetails(house.gateway.context.db, await house.makeUser(), said, house.act())
}

/** Counts what the hand does. */
function openHand(page: Page) {
  let clicks = 0
  return {
    clicks: () => clicks,
    async click(role: 'button' | 'group', name: string) {
      const target =
        role === 'group' ? page.locator('summary', { hasText: name }) : page.getByRole('button', { name })
      await target.click()
      clicks++
    },
  }
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
  test(`an operator decides an application in two clicks from the home, ${how}`, async () => {
    const { db } = house.gateway.context
    const [approved, declined] = [`Good ${how}`, `Bad ${how}`]
    await apply(approved)
    await apply(declined)
    const { page, complaints, enter, close } = await openScreen(chromium, { javaScriptEnabled })
    await enter(`${house.baseUrl}/console`, await house.makeOperator())
    const first = openHand(page)
    await first.click('group', `Decide about ${approved}`)
    await first.click('button', `Approve ${approved}`)
    await page.getByText(`${approved}: The partner is approved.`).waitFor()
    assert.equal(first.clicks(), 2)
    assert.equal((await getPartner(db, approved)).status, 'approved')

    const second = openHand(page)
    await second.click('group', `Decide about ${declined}`)
    // Whatever arrives meanwhile leaves what was opened and typed as it is.
    await page.locator('details[open] textarea').fill('We know too little of you.')
    await apply(`Late ${how}`)
    await second.click('button', `Decline ${declined}`)
    await page
      .getByRole('status')
      .filter({ hasText: `${declined}: ` })
      .waitFor()
    assert.equal(second.clicks(), 2)
    assert.equal((await getPartner(db, declined)).statusReason, 'We know too little of you.')
    assert.deepEqual(complaints, [])
    await close()
  })
}
