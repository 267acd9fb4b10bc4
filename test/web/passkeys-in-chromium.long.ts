/**
 * Passkeys in a real browser, with an authenticator that Chromium plays. With SCREENSHOTS, its pages are
 * photographed too.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartnerSite } from '../support/partner-site.ts'
import { fine, lookAt, openBar, openScreen, phone, pressAsked } from '../support/screen.ts'

const house = await openHouse({ HOST: 'localhost', REQUIRE_SECOND_FACTOR_FOR_TRADE: 'true' })
const site = await keepOpen(openPartnerSite('localhost'))
const chromium = await keepOpen(openChromium())

interface Visit {
  readonly page: Page
  readonly complaints: string[]
  close(): Promise<void>
}

async function openVisit(options: BrowserContextOptions = {}): Promise<Visit> {
  const { page, complaints, close } = await openScreen(chromium, { viewport: phone, ...options })
  const debuggee = await page.context().newCDPSession(page)
  await debuggee.send('WebAuthn.enable')
  await debuggee.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    page,
    complaints,
    close,
  }
}

async function signIn(page: Page, username: string, path = '/account/security'): Promise<void> {
  await page.goto(`${house.baseUrl}${path}`)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: /Sign in|Continue/ }).click()
}

/** What needs every proof asks once more for the password, and for the passkey. */
async function confirm(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
}

/** The page is good for everybody, in both sizes and both colour schemes. */
async function inspect(page: Page, name: string): Promise<void> {
  assert.deepEqual(await lookAt(page, name), fine, name)
}

test('an account holder adds a passkey, signs in with it and removes it', async () => {
  const user = await house.makeUser()
  const { page, complaints, close } = await openVisit()
  await signIn(page, user.username)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  assert.match(await page.getByLabel('Name').inputValue(), /^Chrome on /)
  await inspect(page, 'passkey-setup')
  await page.getByLabel('Name').fill('My laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  await page.getByRole('link', { name: 'I have kept them' }).click()
  await page.getByText('My laptop', { exact: true }).waitFor()
  await inspect(page, 'security-passkey')
  await openBar(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()

  await signIn(page, user.username, '/account/devices')
  await page.getByRole('heading', { name: 'One more step' }).waitFor()
  await inspect(page, 'second-step-passkey')
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: 'Sign-ins and devices' }).waitFor()
  await openBar(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Use my passkey instead' }).waitFor()
  await inspect(page, 'login-passkey')
  await page.getByRole('button', { name: 'Use my passkey instead' }).click()
  await page.waitForURL(/\/account/)
  await page.goto(`${house.baseUrl}/account/devices`)
  await page.getByRole('heading', { name: 'Sign-ins and devices' }).waitFor()
  await openBar(page)
  await page.getByRole('link', { name: 'Security' }).click()
  await pressAsked(page, 'Remove the passkey My laptop')
  await page.getByText('The passkey is removed.').waitFor()
  assert.deepEqual(complaints, [])
  await close()
})

test('the same passkey is not added twice, and somebody who stops half-way is told and may try again', async () => {
  const user = await house.makeUser()
  const { page, close } = await openVisit()
  await signIn(page, user.username, '/account/security/passkey')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  await page.goto(`${house.baseUrl}/account/security/passkey`)
  await confirm(page)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('That did not work, or was stopped. You can try again.').waitFor()
  await page.locator('button:enabled', { hasText: 'Add a passkey' }).waitFor()
  await close()
})

test('where a second factor is demanded for trade, the holder is led to set one up and comes back to the request', async () => {
  const user = await house.makeUser()
  const client = await house.makeClient({ callbackUrl: `${site.origin}/callback` })
  const { page, complaints, close } = await openVisit()
  const query = new URLSearchParams({ client_id: client.id, scope: 'trade', state: 'st' })
  await signIn(page, user.username, `/v1/oauth/authorize?${query}`)
  await page.getByRole('heading', { name: 'Set up two-factor sign-in first' }).waitFor()
  const request = page.url()
  await inspect(page, 'set-up-first')
  await page.getByRole('link', { name: 'Set it up now' }).click()
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  await page.goto(request)
  await confirm(page)
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${site.origin}/callback?*`)
  assert.ok(new URL(page.url()).searchParams.has('code'))
  assert.deepEqual(
    complaints.filter((text) => !text.includes('403')),
    [],
  )
  await close()
})

test('without JavaScript the page says that passkeys need it, and a recovery code is the way in', async () => {
  const user = await house.makeUser()
  const withScript = await openVisit()
  await signIn(withScript.page, user.username, '/account/security/passkey')
  await withScript.page.getByRole('button', { name: 'Add a passkey' }).click()
  await withScript.page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  const code = await withScript.page.locator('.codes code').first().innerText()
  await withScript.close()

  const { page, close } = await openVisit({ javaScriptEnabled: false })
  await signIn(page, user.username)
  await page.getByText('Passkeys need JavaScript').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Use a passkey' }).isVisible(), false)
  await page.getByText('Use a recovery code instead').click()
  await page.getByLabel('Recovery code').fill(code)
  await page.getByRole('button', { name: 'Use recovery code' }).click()
  await page.getByRole('heading', { name: 'Security', exact: true }).waitFor()
  await close()
})
