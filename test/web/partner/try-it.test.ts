/**
 * The reference as something to run: its curl lines with the own ids, and what its page may call, in the
 * sandbox and nowhere else.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { operationsOf, readDocument } from '../../openapi/document.ts'
import { openBranch } from '../../support/branch.ts'
import { type Browser, send } from '../../support/browser.ts'
import { openHouse, type TestClient } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { formsOf } from '../../support/page-forms.ts'
import { openPartner } from '../../support/portal.ts'
import { decodeEntities } from '../../support/quick-start.ts'
import { openReceiver } from '../../support/receiver.ts'
import { parsePolicy, sandboxLink } from '../../support/web.ts'

const run = promisify(execFile)
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const sandbox = await openSandbox()
const path = `${own.home}/reference`

/**
 * The same partner in the sandbox: a client, a webhook, a delivery, a replay, a skip, and its member at a
 * browser.
 */
async function openSandbox() {
  const client = await house.makeClient({ partner: own.partner, environment: 'sandbox' })
  const program = await openBranch(house, { environment: 'sandbox', client })
  const webhookId = await program.register(receiver.url('/sandbox'))
  const { deliveries } = await program.fire()
  const idOf = async (what: string, body: object) =>
    String((await program.call('POST', `/v2/webhooks/${webhookId}/${what}`, body)).json().id)
  const env = { REPLAY_ID: await idOf('replays', { failed: true }), SKIP_ID: await idOf('skips', {}) }
  const browser = await house.signIn(own.user, 'sandbox')
  return { env, client, program, webhookId, deliveryId: deliveries[0]!.id, browser }
}

async function curlLines(browser: Browser): Promise<Map<string, string>> {
  const { text } = await browser.get(path)
  const found = text.matchAll(/data-curl="(\w+)">(.*?)<\/pre>/gs)
  return new Map([...found].map(([, id, line]) => [id!, decodeEntities(line!)]))
}

async function statusOf(line: string, client: TestClient): Promise<number> {
  const env = { ...sandbox.env, PATH: process.env.PATH, CLIENT_SECRET: client.secret }
  const shell = `${line} -s -o /dev/null -w '%{http_code}'`
  return Number(
    (await run('sh', ['-ec', shell], { env: { ...env, ACCESS_TOKEN: 'csla', CODE: 'x' } })).stdout,
  )
}

/** What is answered where a token or a code is needed that nobody can know, and where a page is. */
const otherwise: Record<string, number> = {
  exchangeCode: 400,
  refreshAccessToken: 400,
  getProfile: 401,
  authorize: 302,
}
const last = ['pauseWebhook', 'resumeWebhook', 'deleteWebhook']

test('each curl line runs as it stands, with the own ids, and says neither a secret nor a body of somebody else', async () => {
  const lines = await curlLines(sandbox.browser)
  const document = await readDocument(house.sandboxUrl)
  const names = operationsOf(document).map(({ operationId }) => operationId)
  assert.deepEqual([...lines.keys()], names)
  const place = (name: string) => last.indexOf(name)
  for (const [name, line] of [...lines].sort(([one], [other]) => place(one) - place(other))) {
    assert.ok(!line.includes(sandbox.client.secret))
    const status = await statusOf(line, sandbox.client)
    assert.ok(
      otherwise[name] === undefined ? status < 300 : status === otherwise[name],
      `${name}: ${status} ${line}`,
    )
  }
  assert.match(lines.get('getWebhook')!, new RegExp(`/v2/webhooks/${sandbox.webhookId}"$`))
  assert.match(lines.get('getDelivery')!, new RegExp(`/v2/deliveries/${sandbox.deliveryId}"$`))
  assert.match(lines.get('testTransactionWebhook')!, new RegExp(`"branchId":${own.partner.branchId}[,}]`))
})

test('where nothing is known yet a line has a variable in its place', async () => {
  const lines = await curlLines(own.browser)
  assert.match(lines.get('getWebhook')!, /\/v2\/webhooks\/\$WEBHOOK_ID"$/)
  assert.match(lines.get('getDelivery')!, /\/v2\/deliveries\/\$DELIVERY_ID"$/)
  assert.match(lines.get('getReplay')!, /\/replays\/\$REPLAY_ID"$/)
})

test('the page of the sandbox offers every operation, by fields that are of no form and have no name, and may call its own site alone', async () => {
  const page = await sandbox.browser.get(path)
  const document = await readDocument(house.sandboxUrl)
  const offered = [
    ...page.text.matchAll(/aria-label="Try (\w+)" data-method="([A-Z]+)" data-path="([^"]*)"/g),
  ]
  const expected = operationsOf(document).filter(({ operationId }) => operationId !== 'authorize')
  assert.deepEqual(
    offered.map(([, name, method, at]) => [name, method, at]),
    expected.map(({ operationId, method, path: at }) => [operationId, method.toUpperCase(), at]),
  )
  assert.match(
    page.text,
    new RegExp(`href="/v1/oauth/authorize\\?client_id=${sandbox.client.id}&amp;scope=read`),
  )
  assert.deepEqual(formsOf(page.text), [])
  const main = /<main.*<\/main>/s.exec(page.text)![0]
  for (const [field] of main.matchAll(/<(?:input|select|textarea)\b[^>]*>/g))
    assert.doesNotMatch(field, / name=/)
  for (const [field] of main.matchAll(/<input[^>]*type="password"[^>]*>/g))
    assert.match(field, /autocomplete="off"/)
  // Without script there is the curl line, and nothing that does not work.
  for (const [part] of main.matchAll(/<(?:div class="try"|section class="card" id="try")[^>]*>/g))
    assert.match(part, / hidden>$/)
  assert.deepEqual(parsePolicy(String(page.headers['content-security-policy']))['connect-src'], ["'self'"])
  assert.ok(!page.text.includes(sandbox.client.secret) && !page.text.includes(own.client.id))
})

test('the page of the live site calls nothing: no field, no script, no leave to connect; it leads to the sandbox', async () => {
  const page = await own.browser.get(path)
  assert.doesNotMatch(page.text, /class="try"|id="try"|try-it/)
  assert.equal('connect-src' in parsePolicy(String(page.headers['content-security-policy'])), false)
  assert.ok(page.text.includes(`href="${sandboxLink(house, path)}"`))
  assert.ok(!page.text.includes(sandbox.client.id))
})

test('nothing of it is a relay, and a session alone calls nothing: every operation that asks who calls refuses a cookie', async () => {
  assert.equal((await sandbox.browser.post(path, { url: 'https://evil.example' })).status, 405)
  const cookie = sandbox.browser.cookieHeader
  assert.notEqual(cookie, '')
  const document = await readDocument(house.sandboxUrl)
  const guarded = operationsOf(document).filter(({ security }) => security.length > 0)
  assert.ok(guarded.length > 20)
  for (const { operationId, method, path: template } of guarded) {
    const at = house.sandboxUrl + template.replaceAll(/\{\w+\}/g, String(sandbox.webhookId))
    const headers = { cookie, accept: 'application/json', 'content-type': 'application/json' }
    const verb = method.toUpperCase() as 'GET' | 'POST'
    const answer = await send(at, { method: verb, headers, ...(verb !== 'GET' && { body: '{}' }) })
    assert.ok([401, 415].includes(answer.status), `${operationId}: ${answer.status}`)
  }
})
