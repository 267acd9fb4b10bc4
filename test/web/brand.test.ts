/**
 * A brokerage under its own name: every page of an account holder, what apps and passkeys keep of it, and a
 * message as it arrives.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activateDraft, saveDraft, setDraftImage } from '../../src/brands/brand-acts.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { check, drawPng, putSecondBrandInForce, secondWords } from '../support/brand.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { rowOf } from '../support/forms-of-pages.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openMailServer, parseMail } from '../support/mail-server.ts'
import { makeReader, writeNotice } from '../support/notices.ts'
import { makeGuardedUser } from '../support/second-factor.ts'
import { assertGuarded, openConsent, pathOf, signInWith, startRequest } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost' })
for (const environment of ['live', 'sandbox'] as const) await putSecondBrandInForce(house, environment)

/** Addresses of files are read by nobody. */
const withoutFiles = (text: string) => text.replaceAll(/\/assets\/[0-9a-f]{12}\/countersign\.css/g, '')

function assertOwnName({ text }: Answer, where: string): void {
  assert.doesNotMatch(withoutFiles(text), /countersign/i, where)
  assert.match(text, /<title>[^<]* · Northwind<\/title>/, where)
  assert.match(text, /colours\/7a1f5c-f09ad0-faf5f8-170f14\.css/, where)
}

/** Where nobody is signed in, with what leads nowhere. */
const ofStrangers = [
  ...['/login/password', '/login/forgotten', '/login/with/nobody', '/login/from/nobody', '/login/signed-out'],
  ...[`/login/reset/${'x'.repeat(43)}`, '/.well-known/change-password'],
]

const holderRows = pageRoutes.filter(
  ({ method, path }) => method === 'GET' && !/^\/(partner|console)\b/.test(path),
)

test('no page of an account holder says any name but that of the brand, on either site', async () => {
  const visited = new Set<string>()
  const look = async (browser: Browser, path: string) => {
    const page = await browser.get(path)
    const row = rowOf('GET', path.split('?')[0]!)
    visited.add(row)
    if (page.status < 300 || page.status >= 400) {
      assertOwnName(page, path)
      if (page.status === 200) assertGuarded(page, path)
    }
    return page
  }
  const { user, browser } = await makeGuardedUser(house)
  const client = await house.makeClient()
  for (const { path, gate } of holderRows) if (gate.who === 'signed in') await look(browser, path)
  await look(await house.signIn(await house.makeUser()), '/account/security/app')
  const stranger = new Browser(house.baseUrl)
  for (const path of [
    '/login',
    '/',
    '/v1/oauth/authorize?client_id=nobody',
    '/nowhere',
    '/consent?request=x',
    ...ofStrangers,
  ])
    await look(stranger, path)
  await look(stranger, await startRequest(stranger, client))
  assertOwnName(await signInWith(stranger, user.username, { password: 'not the right password' }), 'refused')
  await look(stranger, pathOf(await signInWith(stranger, user.username)))
  assertOwnName(await openConsent(browser, client, { scope: 'read trade' }), 'consent')
  visited.add('/consent')
  const inSandbox = await house.signIn(await house.makeUser(), 'sandbox')
  const ofSwitch = ['/login/live', '/login/live/back']
  for (const path of ['/account', '/account/api', '/login?confirm=1', '/account/security', ...ofSwitch])
    await look(inSandbox, path)
  await look(browser, '/login/sandbox')
  assert.deepEqual(
    holderRows.map(({ path }) => path).filter((path) => !visited.has(path)),
    [],
    'every row was looked at',
  )
})

test('an authenticator app and a passkey keep the name of the brand', async () => {
  const browser = await house.signIn(await house.makeUser())
  const app = await browser.get('/account/security/app')
  assert.match(app.text, /otpauth:\/\/totp\/Northwind(%20| )localhost/)
  const passkey = await browser.get('/account/security/passkey')
  assert.match(passkey.text, /&quot;rp&quot;:\{&quot;name&quot;:&quot;Northwind&quot;/)
})

test('a message is written by the brand of its site, and shows its logo', async () => {
  const server = await keepOpen(openMailServer())
  const own = await openTestGateway({
    SMTP_URL: server.url(),
    MAIL_FROM: 'Countersign <gateway@broker.example>',
  })
  try {
    const { db } = own.gateway.context
    const plain = { ...secondWords, mailSender: null }
    await saveDraft(db, 'live', plain, 0, own.act())
    const logo = await check(drawPng(120, 30))
    await setDraftImage(db, 'live', 'logoLight', logo, own.act())
    await activateDraft(db, 'live', 2, own.act())
    const reader = await makeReader(own)
    await writeNotice(own, reader)
    const mails = await server.hasTaken(1)
    for (const { raw } of mails) {
      const mail = parseMail(raw)
      assert.ok(mail.headers.includes('From: Northwind <gateway@broker.example>'), mail.headers.join('\n'))
      assert.ok(mail.headers.includes('Reply-To: help@northwind.example'))
      assert.doesNotMatch(raw + mail.text + mail.html, /countersign/i)
      assert.deepEqual([...mail.images.values()], [logo.bytes])
    }
  } finally {
    await own.close()
  }
})
