/**
 * An operator gives the brokerage its own look with a real browser: types, uploads, is told what is wrong,
 * activates and goes back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPng, svgLogo } from '../../support/brand.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openScreen, pressAsked } from '../../support/screen.ts'

const house = await openHouse({ HOST: 'localhost' })
const { page, enter, complaints } = await keepOpen(openScreen(await keepOpen(openChromium())))

test('a brand is typed, a logo uploaded, and both are in force on the login page until somebody goes back', async () => {
  const home = `${house.baseUrl}/console/brand/live`
  await enter(home, await house.makeOperator())
  await page.waitForURL(home)
  await page.getByLabel('Short name').fill('Northwind')
  await page.getByLabel('Legal name').fill('Northwind Securities Ltd')
  await page.getByLabel('Accent, light').fill('#7a1f5c')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()

  const upload = async (name: string, buffer: Buffer) => {
    await page.getByLabel('File for Logo, light').setInputFiles({ name, mimeType: 'image/png', buffer })
    await page.getByRole('button', { name: 'Upload Logo, light' }).click()
  }
  await upload('logo.png', Buffer.concat([drawPng(64, 16), Buffer.from('<script>alert(1)</script>')]))
  await page.getByText('it goes on after its end').waitFor()
  await upload('logo.svg', svgLogo())
  await page.getByText('The image is in the draft.').waitFor()
  const decoded = `document.querySelector('img[alt^="Logo, light"]').decode().then(() => 'shown')`
  assert.equal(await page.evaluate(decoded), 'shown', 'the policy lets it in')

  await pressAsked(page, 'Activate')
  await page.getByText('The brand is in force.').waitFor()
  assert.equal(await page.title(), 'Brand · Northwind')
  const colour = `getComputedStyle(document.querySelector('button.primary')).backgroundColor`
  assert.equal(await page.evaluate(colour), 'rgb(122, 31, 92)')
  await page.locator('.done').getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The earlier brand is in force again.').waitFor()
  assert.equal(await page.title(), 'Brand · Countersign')
  assert.deepEqual(
    complaints.filter((text) => !/status of 400/.test(text)),
    [],
  )
})
