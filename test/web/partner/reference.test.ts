/** The API reference holds the partner's own client id, and its first programs run as they stand there. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { pageRoutes } from '../../../src/web/routes.ts'
import { operationsOf, readDocument } from '../../openapi/document.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner } from '../../support/portal.ts'
import { decodeEntities, readProgram } from '../../support/quick-start.ts'
import { openReceiver } from '../../support/receiver.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'countersign-quick-'))
const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
after(() => rmSync(folder, { recursive: true, force: true }))

const settings = (path: string) => ({
  ...{ PATH: process.env.PATH, HOME: folder, CLIENT_SECRET: own.client.secret, HOOK_URL: receiver.url(path) },
})

test('the page names every endpoint of the interface but those of the brokerage, and the own client', async () => {
  const { text } = await own.browser.get(`${own.home}/reference`)
  const document = (await own.program.call('GET', '/openapi.json')).json<{ paths: Record<string, unknown> }>()
  for (const path of Object.keys(document.paths).filter((each) => !each.startsWith('/internal'))) {
    assert.ok(text.includes(`<code>${path}</code>`), path)
  }
  assert.doesNotMatch(text, /\/internal\//)
  assert.ok(text.includes(own.client.id))
  assert.equal(text.includes(own.client.secret), false)
  for (const { path } of pageRoutes.filter(({ schema }) => !schema))
    assert.equal(path in document.paths, false, path)
})

test('every answer has its fields, an example, and the errors that it may be instead', async () => {
  const { text } = await own.browser.get(`${own.home}/reference`)
  const document = await readDocument(house.baseUrl)
  for (const { method, path, responses } of operationsOf(document))
    for (const [status, { $ref, content = {} }] of Object.entries(responses)) {
      const of = `${status} of ${method.toUpperCase()} ${path}`
      if ($ref)
        assert.ok(text.includes(`href="#error-${status}"`) && text.includes(`id="error-${status}"`), of)
      else assert.equal(text.includes(`data-example="${of}"`), 'application/json' in content, of)
    }
  assert.match(text, /<td[^>]*><code>deliveries\[\]\.id<\/code><\/td>/)
  assert.match(text, /&quot;error&quot;: &quot;too_many_requests&quot;/)
})

test('the retry schedule is the one that is kept, and addresses are told where the brokerage promises some', async () => {
  const path = `${own.home}/reference`
  const { text } = await own.browser.get(path)
  assert.match(text, /11 attempts in about 70 hours: after\s+5 s, 30 s, 2 min, 10 min, 1 h, 3 h, 6 h/)
  assert.match(text, /has not named any: deliveries may come from any address/)
  const other = await openHouse({ WEBHOOK_SENT_FROM: '192.0.2.0/24,2001:db8::1' })
  const theirs = await openPartner(other)
  const told = (await theirs.browser.get(`${theirs.home}/reference`)).text
  assert.match(told, /<li><code>192\.0\.2\.0\/24<\/code><\/li><li><code>2001:db8::1<\/code><\/li>/)
})

test('the settings for OAuth libraries are those of the site and of the own client', async () => {
  const { text } = await own.browser.get(`${own.home}/reference`)
  const [, section] = /<h2>Settings for OAuth libraries<\/h2>(.*?)<h2>/s.exec(text)!
  const shown = [...section!.matchAll(/<dd><code>([^<]*)<\/code>/g)].map((match) => decodeEntities(match[1]!))
  const discovery = '/.well-known/oauth-authorization-server'
  const document = (await own.program.call('GET', discovery)).json<Record<string, string>>()
  const { authorization_endpoint, token_endpoint, issuer } = document
  assert.deepEqual(shown, [
    ...[authorization_endpoint, token_endpoint, `${issuer}/v1/user/profile`, issuer, issuer + discovery],
    ...[own.client.id, own.client.callbackUrl],
  ])
})

test('the quick start in curl runs as it stands', async () => {
  await run('sh', ['-ec', await readProgram(own, 'language', 'curl')], { env: settings('/curl') })
  await receiver.count('/curl', 1)
  assert.equal(JSON.parse(receiver.at('/curl')[0]!.body).amount, 500.1)
})

test('the quick start in TypeScript runs as it stands, and its check knows a genuine delivery from a forged one', async () => {
  const start = join(folder, 'start.mts')
  writeFileSync(start, await readProgram(own, 'language', 'TypeScript'))
  await run(process.execPath, [start], { env: settings('/typescript') })
  await receiver.count('/typescript', 1)
  const [arrived] = receiver.at('/typescript')
  const file = join(folder, 'verify.mts')
  writeFileSync(file, await readProgram(own, 'verify', 'TypeScript'))
  const { isGenuine } = (await import(file)) as {
    isGenuine(body: string, signature: string, secret: string): boolean
  }
  const signature = String(arrived!.headers['x-webhook-signature'])
  assert.equal(isGenuine(arrived!.body, signature, own.client.secret), true)
  assert.equal(isGenuine(`${arrived!.body} `, signature, own.client.secret), false)
  const forged = createHmac('sha256', 'another secret').update(arrived!.body).digest('hex')
  assert.equal(isGenuine(arrived!.body, forged, own.client.secret), false)
})
