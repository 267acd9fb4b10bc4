/**
 * What was typed survives in a real browser, with and without JavaScript: a confirmation, an ended session,
 * something wrong in the form.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { minute } from '../../src/clock.ts'
import { openChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner } from '../support/portal.ts'
import { fine, lookAt, openScreen, phone } from '../support/screen.ts'

const house = await openHouse()
const chromium = await keepOpen(openChromium())

/** A browser gives the focus when it first draws the page. */
const hasFocus = (page: Page, name: string) =>
  eventually(
    `the focus on ${name}`,
    async () => (await page.evaluate('document.activeElement.name')) === name,
  )

for (const javaScriptEnabled of [true, false]) {
  test(`a client typed in ten minutes is registered after a confirmation, an ended session and a fault, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const { user, home } = await openPartner(house)
    const { page, enter, close } = await openScreen(chromium, {
      viewport: phone,
      javaScriptEnabled,
      bypassCSP: true,
    })
    await enter(`${house.baseUrl}${home}/clients`, user)
    await page.getByLabel('Name').fill('Ten minutes')
    await page.getByLabel('Callback').fill('https://ten.example.com/callback')
    await page.getByLabel('market', { exact: true }).check()
    await page.getByLabel('read', { exact: true }).uncheck()
    await page.getByLabel('Replace the refresh token').check()

    const assertTyped = async () => {
      assert.equal(await page.getByLabel('Name').inputValue(), 'Ten minutes')
      assert.equal(await page.getByLabel('Callback').inputValue(), 'https://ten.example.com/callback')
      assert.equal(await page.getByLabel('market', { exact: true }).isChecked(), true)
      assert.equal(await page.getByLabel('read', { exact: true }).isChecked(), false)
      assert.equal(await page.getByLabel('Replace the refresh token').isChecked(), true)
    }
    for (const [title, ageMs] of [
      ['Confirm it is you', 6 * minute],
      ['Sign in', 31 * minute],
    ] as const) {
      house.clock.advance(ageMs)
      await page.getByRole('button', { name: 'Register' }).click()
      await page.getByRole('heading', { name: title }).waitFor()
      await page.getByText('What you entered is kept').waitFor()
      await page.getByLabel('Username').fill(user.username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: /Continue|Sign in/ }).click()
      await page.getByText('Nothing was sent yet: check and send.').waitFor()
      await assertTyped()
      await hasFocus(page, 'name')
    }
    if (javaScriptEnabled) assert.deepEqual(await lookAt(page, 'typed-kept'), fine)

    await page.getByLabel('Callback').fill('http://ten.example.com/callback')
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('Nothing was changed. See what is marked below.').waitFor()
    await hasFocus(page, 'callback')
    await page.getByLabel('Callback').fill('https://ten.example.com/callback')
    await assertTyped()
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByRole('heading', { name: /Ten minutes/ }).waitFor()
    await close()
  })
}
