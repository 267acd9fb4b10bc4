/**
 * Operations are called from the reference, in a real browser: with the own sandbox credentials, and whatever
 * somebody tries with it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { openBranch } from '../../support/branch.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openLogLines } from '../../support/log-lines.ts'
import { openPartner } from '../../support/portal.ts'
import { openReceiver } from '../../support/receiver.ts'
import { fine, lookAt, openScreen } from '../../support/screen.ts'

const written = openLogLines()
const readLog = () => JSON.stringify(written.lines)
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true', LOG_LEVEL: 'trace' }, written.log)
const receiver = await keepOpen(openReceiver())
const chromium = await keepOpen(openChromium())

async function openOwn() {
  const own = await openPartner(house)
  const client = await house.makeClient({ partner: own.partner, environment: 'sandbox' })
  const program = await openBranch(house, { environment: 'sandbox', client })
  const webhookId = await program.register(receiver.url('/own'))
  return {
    ...own,
    client,
    program,
    webhookId,
    live: own.client,
    url: `${house.sandboxUrl}${own.home}/reference`,
  }
}

/** One operation of the page: opened, filled in and called. */
function operationOn(page: Page, name: string) {
  const part = page.getByRole('group', { name: `Try ${name}`, exact: true })
  return {
    part,
    open: () =>
      page
        .locator('details', { has: page.locator(`#${name}`) })
        .locator('summary')
        .first()
        .click(),
    fill: (label: string, value: string) => part.getByLabel(label).fill(value),
    async call() {
      await part.getByRole('button', { name: 'Call the sandbox' }).click()
      await part.locator('button:enabled').waitFor()
      return part.getByRole('status').innerText()
    },
  }
}

function callsOf(page: Page): Request[] {
  const calls: Request[] = []
  page.on('request', (request) => {
    if (request.resourceType() === 'fetch') calls.push(request)
  })
  return calls
}

test('a developer calls the sandbox from the reference: lists webhooks, sends a test event, and sees a refusal as it is', async () => {
  const own = await openOwn()
  const screen = await openScreen(chromium, { bypassCSP: true })
  const { page } = screen
  await screen.enter(own.url, own.user)
  await page.getByLabel('Client secret').fill(own.client.secret)
  const list = operationOn(page, 'listWebhooks')
  await list.open()
  const listed = await list.call()
  assert.match(listed, /GET \/v2\/webhooks: 200 OK, \d+ ms/)
  assert.match(listed, new RegExp(`"id": ${own.webhookId},`))
  const hook = operationOn(page, 'testTransactionWebhook')
  await hook.open()
  await hook.part
    .getByLabel('Body')
    .fill((await hook.part.getByLabel('Body').inputValue()).replace('500.25', '500.10'))
  await hook.fill('Prefer', 'wait=20')
  assert.match(await hook.call(), /202 Accepted[\s\S]*"state": "delivered"/)
  assert.match(receiver.at('/own')[0]!.body, /"amount":500\.10/)
  const looked = await lookAt(page, 'try-it')
  await hook.part.getByLabel('Body').fill('{')
  assert.match(await hook.call(), /^The body is not JSON/)
  await hook.part.getByLabel('Body').fill('{}')
  assert.match(await hook.call(), /400 Bad Request[\s\S]*transactionId/)
  const profile = operationOn(page, 'getProfile')
  await profile.open()
  assert.match(await profile.call(), /^Enter a token above\.$/)
  await page.getByLabel('Token', { exact: true }).fill(await house.makeToken(own.user, 'sandbox'))
  assert.match(await profile.call(), /200 OK[\s\S]*"account_number"/)
  assert.deepEqual(looked, fine)
  assert.deepEqual(
    screen.complaints.filter((each) => !/status of 400/.test(each)),
    [],
  )
  await screen.close()
})

test('what is another partner’s is not there, live is out of reach, and nothing typed leads a call elsewhere', async () => {
  const [own, other] = [await openOwn(), await openOwn()]
  const screen = await openScreen(chromium)
  const { page } = screen
  await screen.enter(own.url, own.user)
  const calls = callsOf(page)
  await page.getByLabel('Client secret').fill(own.client.secret)
  const fetchOne = operationOn(page, 'getWebhook')
  await fetchOne.open()
  await fetchOne.fill('id path', String(other.webhookId))
  assert.match(await fetchOne.call(), /404 Not Found[\s\S]*has no webhook/)
  await fetchOne.fill('id path', String(own.webhookId))
  assert.match(await fetchOne.call(), /200 OK/)
  assert.equal(calls.length, 2)
  for (const typed of ['../../account', '//evil.example', '1?x=1', '1#', ' ']) {
    await fetchOne.fill('id path', typed)
    assert.match(await fetchOne.call(), /^id: /, typed)
  }
  await fetchOne.part.getByLabel('id path').evaluate((field) => field.removeAttribute('pattern'))
  await fetchOne.fill('id path', '../../account')
  assert.match(await fetchOne.call(), /^id must be a number\.$/)
  await fetchOne.fill('id path', String(own.webhookId))
  await page.getByLabel('Client secret').fill(own.live.secret)
  assert.match(await fetchOne.call(), /^That is a live credential\./)
  assert.equal(await page.getByLabel('Client secret').inputValue(), '')
  assert.equal(calls.length, 2, 'nothing was sent')
  const revoke = operationOn(page, 'revokeToken')
  await revoke.open()
  await page.getByLabel('Client secret').fill(own.client.secret)
  await revoke.fill('token form', await house.makeToken(own.user))
  assert.match(await revoke.call(), /^That is a live credential\./)
  const list = operationOn(page, 'listWebhooks')
  await list.open()
  await list.fill('cursor query', own.client.secret)
  assert.match(await list.call(), /^That is a credential, and would stand in the address\./)
  assert.equal(calls.length, 2, 'nothing was sent')
  const reach = (url: string) =>
    page.evaluate(
      (at) =>
        fetch(at).then(
          () => 'reached',
          () => 'blocked',
        ),
      url,
    )
  assert.deepEqual(
    [await reach(`${house.baseUrl}/openapi.json`), await reach('/openapi.json')],
    ['blocked', 'reached'],
  )
  // Whoever sends a live secret to the sandbox all the same is refused there.
  assert.equal((await openRefused(own)).status, 401)
  await screen.close()
})

async function openRefused({ live }: { live: { id: string; secret: string } }) {
  const authorization = `Basic ${Buffer.from(`${live.id}:${live.secret}`).toString('base64')}`
  return fetch(`${house.sandboxUrl}/v2/webhooks`, { headers: { authorization } })
}

/** What a page can leave behind in a browser. */
const whatIsKept = `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])`

test('a secret is in no address, no cookie, no storage, no page and no log; no session goes along, and leaving forgets it', async () => {
  const own = await openOwn()
  const screen = await openScreen(chromium)
  const { page } = screen
  await screen.enter(own.url, own.user)
  const calls = callsOf(page)
  const addresses: string[] = []
  page.on('request', (request) => addresses.push(request.url()))
  await page.getByLabel('Client secret').fill(own.client.secret)
  const list = operationOn(page, 'listWebhooks')
  await list.open()
  assert.match(await list.call(), /200 OK/)
  const [call] = calls
  const headers = await call!.allHeaders()
  assert.equal('cookie' in headers, false)
  assert.match(headers.authorization!, /^Basic /)
  assert.ok((await page.context().cookies()).length > 0, 'somebody is signed in')
  const kept = String(await page.evaluate(whatIsKept))
  const cookies = JSON.stringify(await page.context().cookies())
  const encoded = headers.authorization!.slice('Basic '.length)
  for (const secret of [own.client.secret, encoded]) {
    for (const place of [kept, cookies, addresses.join(' '), await page.content(), readLog()])
      assert.equal(place.includes(secret), false)
  }
  assert.match(readLog(), /\/v2\/webhooks/)
  await page.goto(`${house.sandboxUrl}${own.home}/events`)
  await page.goBack()
  await page.getByLabel('Client secret').waitFor()
  assert.equal(await page.getByLabel('Client secret').inputValue(), '')
  await screen.close()
})

test('without script there are the lines to run, and nothing else to press', async () => {
  const own = await openOwn()
  const screen = await openScreen(chromium, { javaScriptEnabled: false })
  await screen.enter(own.url, own.user)
  await screen.page.getByText('/v2/deliveries/{id}/redeliver', { exact: true }).click()
  await screen.page.locator('#redeliver').waitFor()
  assert.equal(await screen.page.getByRole('button', { name: 'Call the sandbox' }).count(), 0)
  assert.equal(await screen.page.getByLabel('Client secret').isVisible(), false)
  await screen.close()
})
