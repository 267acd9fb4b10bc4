/** What people come for, in as few steps as was promised: the browser counts the clicks and the fields. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getPartner } from '../../src/partners/partner.ts'
import { openChromium } from '../support/chromium.ts'
import { openHouse, password } from '../support/gateway.ts'
import { countJourney, type Journey } from '../support/journey.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner } from '../support/portal.ts'
import { answer, openReceiver } from '../support/receiver.ts'
import { fine, lookAt, openScreen } from '../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())
const { db } = house.gateway.context

function assertWithin({ clicks, fields, told }: Journey, most: { clicks: number; fields: number }): void {
  assert.ok(clicks > 0, 'clicks are counted')
  assert.ok(
    clicks <= most.clicks && fields <= most.fields,
    `${clicks} clicks, ${fields} fields:\n${told.join('\n')}`,
  )
}

test('an operator decides an application in two clicks; from then on its partner is six clicks and three fields from the first verified webhook', async () => {
  const user = await house.makeUser()
  const found: Record<string, unknown> = {}
  const partner = await openScreen(chromium, { bypassCSP: true })
  const { page } = partner
  const seen = async (name: string) => {
    found[name] = await lookAt(page, `journey-${name}`)
  }
  await partner.enter(`${house.baseUrl}/partner`, user)
  await page.getByLabel('Name').fill('Quick Quotes')
  await page.getByLabel('Website').fill('https://quotes.example.com')
  await page.getByLabel('E-mail for questions').fill('dev@quotes.example.com')
  await page.getByLabel('What you want to build').fill('Quotes, quickly.')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('heading', { name: 'The sandbox is open' }).waitFor()
  await seen('applied')

  const operator = await openScreen(chromium)
  await operator.enter(`${house.baseUrl}/console`, await house.makeOperator())
  await operator.page.getByText('Quick Quotes').first().waitFor()
  const deciding = await countJourney(operator.page)
  await operator.page.locator('summary', { hasText: 'Decide about Quick Quotes' }).click()
  await operator.page.getByRole('button', { name: 'Approve Quick Quotes' }).click()
  await operator.page.getByText('Quick Quotes: The partner is approved.').waitFor()
  assertWithin(deciding.soFar(), { clicks: 2, fields: 0 })
  assert.equal((await getPartner(db, 'Quick Quotes')).status, 'approved')
  await operator.close()

  await page.reload()
  await page.getByRole('heading', { name: 'Getting started 2 of 6' }).waitFor()
  await seen('live-home')
  const joining = await countJourney(page)
  await page.getByRole('link', { name: 'Open the sandbox' }).click()
  await page.getByRole('heading', { name: 'Getting started 2 of 5' }).waitFor()
  await seen('sandbox-home')
  await page.getByRole('link', { name: 'Register a client' }).click()
  await page.getByLabel('Name').fill('Quotes')
  await page.getByLabel('Callback').fill('https://quotes.example.com/callback')
  await page.getByRole('button', { name: 'Register' }).click()
  // What came from the live site has proven nothing in the sandbox yet, and a client has a secret.
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Nothing was sent yet: check and send.').waitFor()
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('heading', { name: 'Next: your first webhook' }).waitFor()
  await seen('client')
  await page.getByRole('button', { name: 'Receive a test event now' }).click()
  await page.getByText('signature verified', { exact: true }).waitFor()
  assertWithin(joining.soFar(), { clicks: 6, fields: 3 })
  assert.equal(joining.soFar().fields, 3, 'what is filled in is counted')
  await seen('receiver')

  await page.getByRole('link', { name: 'Back to the overview' }).click()
  await page.getByRole('heading', { name: 'Getting started 5 of 5' }).waitFor()
  await page.getByRole('link', { name: 'Python' }).click()
  await page.waitForURL(/\?language=python#quick-start$/)
  await seen('sandbox-home-done')
  await page.goto(`${house.baseUrl}/partner`)
  await page.getByText('First verified webhook').waitFor()
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, fine])))
  assert.deepEqual([...partner.complaints, ...operator.complaints], [])
  await partner.close()
})

test('what is to be copied is copied with a click, and can be selected where there is no script', async () => {
  const own = await openPartner(house)
  const { page, enter, complaints, close } = await openScreen(chromium, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await enter(`${house.baseUrl}${own.home}`, own.user)
  await page.getByRole('button', { name: 'Copy the client id' }).click()
  await page.getByRole('button', { name: 'Copied the client id' }).waitFor()
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' })
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), own.client.id)
  assert.deepEqual(complaints, [])
  await close()
  const plain = await openScreen(chromium, { javaScriptEnabled: false })
  await plain.enter(`${house.baseUrl}${own.home}`, own.user)
  await plain.page.getByText(own.client.id).last().waitFor()
  assert.equal(await plain.page.locator('.copy').first().isVisible(), false)
  await plain.close()
})

test('a failing webhook’s reason is one click from the partner’s home and from the operator’s', async () => {
  const own = await openPartner(house)
  receiver.on('/broken', answer(500, {}, 'database is locked'))
  await own.program.register(receiver.url('/broken'), { kinds: ['TRANSACTION'] })
  assert.equal((await own.program.fire()).deliveries[0]!.state, 'waiting')
  const homes = [
    { address: house.baseUrl + own.home, user: own.user, link: 'Why, and how to fix it' },
    { address: `${house.baseUrl}/console`, user: await house.makeOperator(), link: /^Why: / },
  ]
  for (const { address, user, link } of homes) {
    const { page, enter, complaints, close } = await openScreen(chromium)
    await enter(address, user)
    await page.getByText('HTTP 500').first().waitFor()
    const asking = await countJourney(page)
    await page.getByRole('link', { name: link }).first().click()
    await page.getByRole('heading', { name: /^Likely cause: / }).waitFor()
    await page.getByText('database is locked').first().waitFor()
    assertWithin(asking.soFar(), { clicks: 1, fields: 0 })
    assert.deepEqual(complaints, [])
    await close()
  }
})
