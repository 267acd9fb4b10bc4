/** An operator decides an application from the console's home, in a real browser, with two clicks; with JavaScript and without. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { applyWithDetails, getPartner } from '../../../src/partners/partner.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { setUserStatus } from '../../../src/users/user.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner } from '../../support/portal.ts'
import { fine, lookAt, openScreen } from '../../support/screen.ts'
import { guess } from '../../support/web.ts'

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
      const target = role === 'group' ? page.locator('summary', { hasText: name }) : page.getByRole('button', { name })
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

test('the queue, a partner, a person and the log fit a phone and a desk, and axe finds no serious fault', async () => {
  const { db } = house.gateway.context
  const now = house.clock.now()
  await apply('Patient Partners')
  const { partner, user, program, client, browser } = await openPartner(house)
  await house.approve(client, browser, { scope: 'read trade' })
  const asking = await house.makePartner({ refresh: false })
  await askForRefresh(db, asking, 'Our users read the paper at breakfast and trade at night.', house.act())
  const failing = await program.register('https://receiver.example/a/very/long/path/to/where/hooks/are/received')
  await db.script(`UPDATE lanes SET failures = 7, evidence = 5, failing_since = '${now.toISOString()}' WHERE webhook_id = ${failing};
    INSERT INTO refused_calls (branch_id, environment, claimed, at, method, route, status, code, description, sent, request_id)
    SELECT ${partner.branchId}, 'live', false, '${now.toISOString()}', 'GET', '/v1/user/profile', 401, 'invalid_token', 'The token has ended.', '', n::text FROM generate_series(1, 60) n`)
  const guessed = await house.makeUser()
  for (let time = 0; time < 5; time++) await guess(house, guessed.username)
  await setUserStatus(db, await house.makeUser(), 'disabled', house.act())
  const { page, enter, close } = await openScreen(chromium, { bypassCSP: true })
  await enter(`${house.baseUrl}/console`, await house.makeOperator())
  await page.waitForURL(`${house.baseUrl}/console`)
  await page.locator('summary', { hasText: 'Decide about Patient Partners' }).click()
  const found: Record<string, unknown> = { home: await lookAt(page, 'console-home') }
  const pages = {
    partner: `/console/partners/${partner.branchId}`,
    'failed-calls': `/console/partners/${partner.branchId}/failed-calls`,
    person: `/console/users/${user.id}`,
    audit: '/console/audit',
  }
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(house.baseUrl + path)
    if (name === 'audit') await page.locator('summary', { hasText: 'Ids' }).first().click()
    found[name] = await lookAt(page, `console-${name}`)
  }
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, fine])))
  await close()
})
