/**
 * Why first, in a real browser: from any home a failing webhook's reason is one click away, and from there it
 * is a few to a receiver that is well again; and a signature that does not verify is explained. Every page on
 * a phone and at a desk, light and dark, looked through by axe.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { addMember } from '../../../src/partners/partner.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner } from '../../support/portal.ts'
import { accept, answer, fail, openReceiver } from '../../support/receiver.ts'
import { fine, lookAt, openScreen } from '../../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())

/** Clicks are counted where they are made. */
function counting(page: Page) {
  let clicks = 0
  return {
    count: () => clicks,
    async click(role: 'link' | 'button', name: string | RegExp) {
      clicks++
      await page.getByRole(role, { name }).first().click()
    },
  }
}

const page = '<!doctype html><title>Just a moment…</title><h1>Checking your browser before you go on</h1>'
const proxied = answer(403, { server: 'cloudflare', 'content-type': 'text/html' }, page)

test('from the partner’s home and the operator’s one click leads to a failing webhook’s reason, and four more to its recovery', async () => {
  const own = await openPartner(house)
  receiver.on('/guarded', proxied)
  const id = await own.program.register(receiver.url('/guarded'), { kinds: ['TRANSACTION'] })
  const fired = await own.program.fire()
  assert.equal(fired.deliveries[0]!.state, 'waiting')
  const found: Record<string, unknown> = {}
  const seen = async (look: Page, name: string) => (found[name] = await lookAt(look, `why-${name}`))

  const console = await openScreen(chromium, { bypassCSP: true })
  await console.enter(`${house.baseUrl}/console`, await house.makeOperator())
  const operator = counting(console.page)
  await console.page.getByText('HTTP 403').first().waitFor()
  await seen(console.page, 'console')
  await operator.click('link', /^Why: The request was refused with a page for people/)
  await console.page.getByText('How to fix it: Let POST requests to this path through').waitFor()
  assert.equal(operator.count(), 1)
  await seen(console.page, 'console-incident')
  await console.page.goto(`${house.baseUrl}/console/webhooks`)
  await seen(console.page, 'console-webhooks')
  await console.page.goto(`${house.baseUrl}/console/webhooks/${id}/recover`)
  await seen(console.page, 'console-recover')
  await console.close()

  const portal = await openScreen(chromium, { bypassCSP: true })
  await portal.enter(`${house.baseUrl}${own.home}`, own.user)
  const member = counting(portal.page)
  await portal.page.getByText('It calls itself cloudflare').waitFor()
  await seen(portal.page, 'overview')
  await member.click('link', 'Why, and how to fix it')
  await portal.page.getByRole('heading', { name: 'Likely cause: refused by a proxy' }).waitFor()
  await portal.page.getByText('How to fix it: Let POST requests to this path through').waitFor()
  assert.equal(member.count(), 1)
  await seen(portal.page, 'incident')

  receiver.on('/guarded', accept)
  await member.click('button', 'Probe now')
  await portal.page.getByText('The probe was accepted: HTTP 200').waitFor()
  await seen(portal.page, 'probed')
  await member.click('link', 'Recover…')
  if ((await portal.page.getByLabel('Trouble since (UTC)').inputValue()) === '')
    await portal.page.getByLabel('Trouble since (UTC)').fill('2026-03-01T00:00')
  await member.click('button', 'Count')
  await member.click('button', 'Recover')
  await portal.page.waitForURL(/\/replays\/\d+$/)
  await portal.page.getByText('finished').waitFor()
  assert.ok(member.count() <= 5, `${member.count()} clicks`)
  for (const path of ['/webhooks', `/webhooks/${id}`, `/webhooks/${id}/incident`]) {
    await portal.page.goto(house.baseUrl + own.home + path)
    await seen(portal.page, `mended${path.replaceAll(/[/\d]+/g, '-')}`)
  }
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, fine])))
  assert.deepEqual([...console.complaints, ...portal.complaints], [])
  await portal.close()
})

test('the log tells how it went and goes on, ticked rows are sent again, and after a new address one click tries what waits', async () => {
  const own = await openPartner(house)
  receiver.on('/old', fail)
  receiver.on('/new', accept)
  const id = await own.program.register(receiver.url('/old'), { kinds: ['TRANSACTION'] })
  for (let n = 0; n < 3; n++) await own.program.fire()
  const screen = await openScreen(chromium, { bypassCSP: true })
  const { page: shown } = screen
  await screen.enter(`${house.baseUrl}${own.home}/deliveries`, own.user)
  await shown
    .getByText(/^500 · \d+ ms · next in under a minute$/)
    .first()
    .waitFor()
  assert.deepEqual(await lookAt(shown, 'told-log'), fine)
  for (const box of (await shown.getByRole('checkbox', { name: /^Delivery / }).all()).slice(0, 2))
    await box.check()
  await shown.getByRole('button', { name: 'Send ticked again' }).click()
  await shown.getByText('2 deliveries are sent again.').waitFor()
  await receiver.count('/old', 5)
  await shown.goto(`${house.baseUrl}${own.home}/webhooks/${id}`)
  await shown.getByLabel('URL').fill(receiver.url('/new'))
  await shown.getByRole('button', { name: 'Save' }).click()
  await shown.getByText('The webhook is saved.').waitFor()
  await shown.goto(house.baseUrl + own.home)
  await shown.getByText('not tried at its new address').first().waitFor()
  assert.deepEqual(await lookAt(shown, 'told-overview'), fine)
  await shown.getByRole('button', { name: 'Try 3 now' }).click()
  await shown.getByText('3 delivered').waitFor()
  assert.deepEqual(await lookAt(shown, 'told-recovery'), fine)
  assert.deepEqual(screen.complaints, [])
  await screen.close()
})

test('who is a member of several partners lands on their list, from where one click leads to a failing webhook’s reason', async () => {
  const [own, other] = [await openPartner(house), await openPartner(house)]
  await addMember(house.gateway.context.db, other.partner, own.user, house.act(), 'viewer')
  receiver.on('/guarded-too', proxied)
  await other.program.register(receiver.url('/guarded-too'), { kinds: ['TRANSACTION'] })
  await other.program.fire()
  const screen = await openScreen(chromium, { bypassCSP: true })
  await screen.enter(`${house.baseUrl}/`, own.user)
  await screen.page.waitForURL(/\/partner$/)
  await screen.page.getByText('HTTP 403').waitFor()
  assert.deepEqual(await lookAt(screen.page, 'why-partners'), fine)
  await screen.page
    .getByRole('link', { name: /^Why: The request was refused with a page for people/ })
    .click()
  await screen.page.getByText('How to fix it: Let POST requests to this path through').waitFor()
  assert.deepEqual(screen.complaints, [])
  await screen.close()
})

test('a developer pastes what came and what the own program computed, and reads which secret, which byte and which mistake', async () => {
  const own = await openPartner(house)
  await own.program.register(receiver.url('/signed'))
  await own.program.fire()
  const came = receiver.at('/signed')[0]!
  const screen = await openScreen(chromium, { bypassCSP: true })
  await screen.enter(`${house.baseUrl}${own.home}`, own.user)
  const shown = screen.page
  await shown.getByRole('link', { name: 'Signatures' }).click()
  const headers = Object.entries(came.headers).map(([name, value]) => `${name}: ${value}`)
  const printed = JSON.stringify(JSON.parse(came.body), undefined, 2)
  const empty = await lookAt(shown, 'why-signature')
  await shown.getByLabel('Headers').fill(headers.join('\n'))
  await shown.getByLabel('Body', { exact: true }).fill(printed)
  await shown
    .getByLabel('What your program computed')
    .fill(createHmac('sha256', own.client.secret).update(printed).digest('base64'))
  await shown.getByRole('button', { name: 'Check' }).click()
  const result = shown.getByRole('status', { name: 'Result' })
  await result.getByText('It does not verify: parsed and printed anew').waitFor()
  await result.getByText('secret of the client Portfolio Pal (current)').first().waitFor()
  await result.getByText('The first difference is at byte 1').waitFor()
  await result.getByText('It is written in base64').waitFor()
  assert.equal((await shown.content()).includes(own.client.secret), false)
  const answered = await lookAt(shown, 'why-signature-wrong')
  // What was pasted is still there.
  assert.equal(await shown.getByLabel('Body', { exact: true }).inputValue(), printed)
  await shown.getByLabel('Body', { exact: true }).fill(came.body)
  await shown.getByLabel('What your program computed').fill(came.headers['x-webhook-signature']!)
  await shown.getByRole('button', { name: 'Check' }).click()
  await shown.getByRole('heading', { name: 'The signature is right' }).waitFor()
  const right = await lookAt(shown, 'why-signature-right')
  assert.deepEqual([empty, answered, right], [fine, fine, fine])
  assert.deepEqual(screen.complaints, [])
  await screen.close()
})
