/**
 * The people's half of the console in a real browser: an operator decides about a partner and about a user,
 * with and without JavaScript.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import type { Application } from '../../../src/partners/application-details.ts'
import { applyWithDetails, getPartner } from '../../../src/partners/partner.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { getUserById, type User } from '../../../src/users/user.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openBar, openScreen, phone, pressAsked } from '../../support/screen.ts'

const house = await openHouse()
const chromium = await keepOpen(openChromium())

/** Signs in on the way to the page, and is led back to it. */
async function openVisit(path: string, options: BrowserContextOptions = {}) {
  const screen = await openScreen(chromium, options)
  await screen.enter(house.baseUrl + path, await house.makeOperator())
  await screen.page.waitForURL(house.baseUrl + path)
  return screen
}

const application: Application = {
  website: 'https://app.example.com',
  contact: 'dev@app.example.com',
  purpose: 'Portfolios for everybody, with charts that their grandparents understand.',
}

async function apply(name: string): Promise<User> {
  const { db } = house.gateway.context
  const user = await house.makeUser()
  await applyWithDetails(db, user, { name, ...application }, house.act())
  return user
}

for (const [name, options] of Object.entries({
  'on a phone': { viewport: phone, hasTouch: true },
  'at a desk': {},
  'without JavaScript': { javaScriptEnabled: false },
} satisfies Record<string, BrowserContextOptions>)) {
  test(`an operator approves a partner, grants refresh access, suspends it, locks and unlocks a user, ${name}`, async () => {
    const { db } = house.gateway.context
    const partner = `Applicant ${name}`
    const member = await apply(partner)
    const { page, complaints, close } = await openVisit('/console/partners', options)
    await page.getByRole('link', { name: partner }).first().click()
    // The thread has it too, folded away.
    const heading = page.getByRole('heading', { name: 'Application', exact: true })
    await page.locator('section').filter({ has: heading }).getByText(application.purpose).waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The partner is approved.').waitFor()

    await askForRefresh(db, await getPartner(db, partner), `Evenings ${name}`, house.act())
    const go = async (label: string) => {
      await openBar(page)
      await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: label }).click()
    }
    await go('Partners')
    await page.getByText(`“Evenings ${name}”`).waitFor()
    await page.getByLabel('Name or branch id').fill(partner)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('region', { name: 'Partners' }).getByRole('link', { name: partner }).click()
    await page.getByRole('button', { name: 'Grant' }).click()
    await page.locator('.done').getByText('Refresh access is granted.').waitFor()

    await pressAsked(page, `Suspend ${partner}`, 'Complaints of holders')
    await page.getByText('Suspended. Reason: Complaints of holders').waitFor()
    const decided = await getPartner(db, partner)
    assert.deepEqual([decided.status, decided.refreshAccess], ['suspended', true])

    await go('Users')
    await page.getByLabel('Username, name').fill(member.username)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('link', { name: member.username }).click()
    await pressAsked(page, 'Lock out', 'Lost phone')
    await page.getByText('The user is locked out.').waitFor()
    assert.equal((await getUserById(db, member.id)).status, 'disabled')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The user may sign in again.').waitFor()
    assert.equal((await getUserById(db, member.id)).status, 'active')
    assert.deepEqual(complaints, [])
    await close()
  })
}
