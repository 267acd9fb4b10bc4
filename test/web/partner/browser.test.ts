/**
 * The portal in a real browser: the main path of a partner's developer with and without JavaScript, every page on a phone and at a
 * desk, light and dark, looked through by axe. With SCREENSHOTS set to a folder, every page is also photographed there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { callJson } from '../../support/branch.ts'
import { openChromium } from '../../support/chromium.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { deliverOne, openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'
import { fine, lookAt, openScreen, phone } from '../../support/screen.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())

async function openVisit({ user, partner }: PartnerHouse, options: BrowserContextOptions = {}) {
  const screen = await openScreen(chromium, options)
  await screen.enter(`${house.baseUrl}/partner`, user)
  await screen.page.getByRole('heading', { name: partner.name }).waitFor()
  return screen
}

for (const [name, options] of Object.entries({
  'on a phone': { viewport: phone, hasTouch: true },
  'at a desk': {},
  'without JavaScript': { javaScriptEnabled: false },
} satisfies Record<string, BrowserContextOptions>)) {
  test(`a developer registers a webhook, tests it, reads the delivery, sends it again and makes a secret, ${name}`, async () => {
    const partner = await openPartner(house)
    const path = `/${name.replaceAll(' ', '-')}`
    const { page, complaints, close } = await openVisit(partner, options)
    const go = (label: string) =>
      page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: label }).click()
    await go('Webhooks')
    await page.getByLabel('URL').fill(receiver.url(path))
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('healthy').waitFor()

    await go('Test events')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('heading', { name: 'TRANSACTION SUBMITTED' }).waitFor()
    await receiver.count(path, 1)
    if (options.javaScriptEnabled === false) await reloadUntil(page, 'delivered')
    await page.getByText('delivered', { exact: true }).first().waitFor()

    await go('Deliveries')
    await page.getByRole('region', { name: 'Deliveries' }).getByRole('link').first().click()
    await page.getByText('x-webhook-signature').first().waitFor()
    await page.getByRole('button', { name: 'Replay it' }).click()
    await page.getByText('Repeats', { exact: true }).waitFor()
    await receiver.count(path, 2)
    if (options.javaScriptEnabled === false) await reloadUntil(page, 'attempt 1')
    await page.getByText('attempt 1,').waitFor()

    await go('Clients')
    await page.getByRole('link', { name: 'Portfolio Pal' }).click()
    await page.getByLabel('New secret').selectOption('hour')
    await page.getByRole('button', { name: 'Make a new secret' }).click()
    const secret = await page.locator('code.secret').innerText()
    const called = await callJson(
      `${house.baseUrl}/v2/webhooks`,
      'GET',
      undefined,
      basic({ ...partner.client, secret }),
    )
    assert.equal(called.status, 200)
    assert.equal(page.url().includes(secret), false)
    assert.deepEqual(complaints, [])
    await close()
  })
}

async function reloadUntil(page: Page, text: string): Promise<void> {
  while ((await page.getByText(text).count()) === 0) await page.reload()
}

test('the list of deliveries grows by itself, and stands still when told to', async () => {
  const partner = await openPartner(house)
  await deliverOne(partner, receiver, '/live')
  const { page, close } = await openVisit(partner)
  await page.goto(`${house.baseUrl}${partner.home}/deliveries`)
  const rows = page.locator('tbody tr')
  assert.equal(await rows.count(), 1)
  await page.getByText('Updating', { exact: true }).waitFor()
  await partner.program.fire()
  await rows.nth(1).waitFor()
  await page.getByRole('button', { name: 'Pause updates' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await partner.program.fire()
  assert.equal(await rows.count(), 2)
  await page.getByRole('button', { name: 'Resume' }).click()
  await rows.nth(2).waitFor()
  await close()
})

/** Every page there is. */
async function tour(partner: PartnerHouse): Promise<Record<string, string>> {
  const { home, program, client } = partner
  const { webhookId, deliveryId } = await deliverOne(partner, receiver, '/toured')
  receiver.on('/refusing', answer(500, {}, '{"error":"out of order"}'))
  const refusing = await program.register(receiver.url('/refusing'), { kinds: ['TRANSACTION'] })
  const fired = await program.fire()
  const failed = fired.deliveries.find((each) => each.webhookId === refusing)!.id
  await callJson(`${house.baseUrl}/v2/webhooks/999999`, 'GET', undefined, basic(client))
  await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic({ ...client, secret: 'wrong' }))
  await house.gateway.context.refusedCalls.flush()
  return {
    overview: home,
    webhooks: `${home}/webhooks`,
    webhook: `${home}/webhooks/${webhookId}`,
    'webhook-failing': `${home}/webhooks/${refusing}?period=day`,
    replay: `${home}/webhooks/${webhookId}/replay?from=2026-03-01T00:00`,
    'replay-wrong': `${home}/webhooks/${webhookId}/replay?from=2026-03-03T00:00&to=2026-03-01T00:00`,
    recover: `${home}/webhooks/${refusing}/recover?since=2026-03-01T00:00`,
    'recover-wrong': `${home}/webhooks/${refusing}/recover?since=2099-01-01T00:00`,
    skip: `${home}/webhooks/${refusing}/skip`,
    deliveries: `${home}/deliveries`,
    'deliveries-wrong': `${home}/deliveries?state=lost`,
    delivery: `${home}/deliveries/${deliveryId}`,
    'delivery-failed': `${home}/deliveries/${failed}`,
    test: `${home}/test`,
    clients: `${home}/clients`,
    client: `${home}/clients/${client.id}`,
    members: `${home}/members`,
    refusals: `${home}/refusals`,
    reference: `${home}/reference`,
  }
}

interface Outcome {
  readonly path: string
  readonly tick?: string
  /** It asks first. */
  readonly asks?: true
  readonly press: string | RegExp
  readonly leadsTo: RegExp
}

/** What is seen only after a button. */
function outcomes({ client, home }: PartnerHouse, pages: Record<string, string>): Record<string, Outcome> {
  return {
    secret: { path: `${home}/clients/${client.id}`, press: 'Make a new secret', leadsTo: /\/rotate$/ },
    'test-outcome': { path: `${home}/test`, press: 'Send', leadsTo: /\/test\/\d+$/ },
    'replay-progress': { path: pages.replay!, press: /^Replay \d+/, leadsTo: /\/replays\/\d+$/ },
    'recover-progress': { path: pages.recover!, press: 'Recover', leadsTo: /\/replays\/\d+$/ },
    'delivery-skipped': {
      path: pages['delivery-failed']!,
      press: 'Skip it',
      asks: true,
      leadsTo: /\/deliveries\/\d+$/,
    },
    'skip-progress': {
      path: pages.skip!,
      tick: 'Skip everything that waits',
      press: /^Skip \d+/,
      leadsTo: /\/skips\/\d+$/,
    },
  }
}

test('every page of the portal fits a phone and a desk, and axe finds no serious fault', async () => {
  const partner = await openPartner(house)
  const pages = await tour(partner)
  const { page, complaints, close } = await openVisit(partner, { bypassCSP: true })
  const found: Record<string, unknown> = {}
  const look = async (name: string) => {
    found[name] = await lookAt(page, `portal-${name}`)
  }
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(house.baseUrl + path)
    await look(name)
  }
  for (const [name, { path, tick, asks, press, leadsTo }] of Object.entries(outcomes(partner, pages))) {
    await page.goto(house.baseUrl + path)
    if (tick !== undefined) await page.getByLabel(tick).check()
    if (asks) await page.locator('.ask > summary', { hasText: press }).click()
    await page.getByRole('button', { name: press }).click()
    await page.waitForURL(leadsTo)
    await look(name)
  }
  await suspend(house, partner.partner, 'The terms of use were not kept.')
  await page.goto(house.baseUrl + partner.home)
  await look('suspended')
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, fine])))
  assert.deepEqual(
    complaints.filter((text) => !/status of 400/.test(text)),
    [],
  )
  await close()
})

test('a visitor without a partner finds the application form, and its faults are read out', async () => {
  const { page, enter, close } = await openScreen(chromium, { bypassCSP: true })
  await enter(`${house.baseUrl}/partner`, await house.makeUser())
  await page.getByLabel('Name').fill('12')
  await page.getByLabel('Website').fill('https://x.example')
  await page.getByLabel('E-mail').fill('a@b.example')
  await page.getByLabel('What you want to build').fill('something')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('It must not be a number').waitFor()
  assert.deepEqual(await lookAt(page, 'portal-apply'), fine)
  await close()
})
