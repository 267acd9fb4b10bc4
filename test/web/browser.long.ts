/**
 * The pages in a real browser: the whole way of an account holder, with and without JavaScript, on a phone
 * and at a desk. How each page looks is the matter of looks.long.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { Browser as VisitorBrowser } from '../support/browser.ts'
import { openChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, password, type TestClient, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { openPartnerSite } from '../support/partner-site.ts'
import { desktop, openBar, openScreen, phone, pressAsked } from '../support/screen.ts'
import { makeApp } from '../support/second-factor.ts'
import { signInWith } from '../support/web.ts'

const house = await openHouse()
const site = await keepOpen(openPartnerSite())
const chromium = await keepOpen(openChromium())
const client = await house.makeClient({ callbackUrl: `${site.origin}/callback` })

async function openVisit(options: BrowserContextOptions = {}) {
  const visit = await openScreen(chromium, options)
  visit.page.on('requestfailed', (request) =>
    visit.complaints.push(`${request.url()} ${request.failure()?.errorText}`),
  )
  return visit
}

function authorizeUrl(of: TestClient, scope = 'read', state = 'st'): string {
  return `${house.baseUrl}/v1/oauth/authorize?${new URLSearchParams({ client_id: of.id, scope, state })}`
}

/** From a link on the partner's site to the login page. */
async function connect(page: Page, url: string): Promise<void> {
  await page.goto(`${site.origin}/?${new URLSearchParams({ to: url })}`)
  await page.getByRole('link', { name: 'Connect' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

async function signIn(page: Page, username: string, given = password): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(given)
  await page.getByRole('button', { name: /Sign in|Continue/ }).click()
}

/** Whoever goes on, goes back or clicks twice leaves what was on its way. */
const withoutLeavings = (complaints: readonly string[]) =>
  complaints.filter((text) => !text.endsWith('net::ERR_ABORTED'))

async function takeCallback(page: Page): Promise<URLSearchParams> {
  await page.waitForURL(`${site.origin}/callback?*`)
  return new URL(page.url()).searchParams
}

const secretOf = (page: Page) => page.locator('code.secret').innerText()

for (const [name, options] of Object.entries({
  'on a phone': { viewport: phone, hasTouch: true },
  'at a desk': { viewport: desktop },
  'without JavaScript': { viewport: phone, javaScriptEnabled: false },
} satisfies Record<string, BrowserContextOptions>)) {
  test(`an account holder connects an application, uses their own tokens and revokes both, ${name}`, async () => {
    const { page, complaints, close } = await openVisit(options)
    const numbers = [1, 2].map((last) => `6YB${makeUpWord().toUpperCase()}${last}`)
    const user = await house.makeUser(undefined, numbers)

    await connect(page, authorizeUrl(client, 'read trade', 'from the browser'))
    await page.getByText('Portfolio Pal').waitFor()
    await signIn(page, user.username)
    await page.getByRole('heading', { name: 'Allow Portfolio Pal to use your account?' }).waitFor()
    await page.getByText('moves money').waitFor()
    await page.getByLabel(numbers[1]!).uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    const callback = await takeCallback(page)
    assert.equal(callback.get('state'), 'from the browser')
    assert.equal(callback.get('iss'), house.baseUrl)

    const { access_token } = (await house.exchange(client, callback.get('code')!)).json<TokenBody>()
    const profile = (await house.profile(access_token)).json<{
      profile: { account: { account_number: string } }
    }>()
    assert.equal(profile.profile.account.account_number, numbers[0])

    await page.goto(`${house.baseUrl}/account`)
    await page.getByRole('heading', { name: /Portfolio Pal by/ }).waitFor()
    await page.locator('summary', { hasText: 'For developers' }).click()
    await page.getByRole('link', { name: 'API settings' }).click()
    await page.getByLabel('Name').fill('my notebook')
    await page.getByLabel('Kind').selectOption('live')
    await page.getByRole('button', { name: 'Create' }).click()
    const personal = await secretOf(page)
    await page.getByLabel('Name').fill('my playground')
    await page.getByLabel('Kind').selectOption('sandbox')
    await page.getByRole('button', { name: 'Create' }).click()
    const sandbox = await secretOf(page)
    assert.equal((await house.profile(personal)).status, 200)
    assert.equal((await house.profile(sandbox, 'sandbox')).status, 200)

    for (let left = 2; left > 0; left--) {
      await page.waitForLoadState()
      assert.equal(await page.locator('.ask').count(), left)
      await pressAsked(page, 'Revoke')
      await page.getByText(/^The token .* is revoked\./).waitFor()
    }
    await page.getByText('You have no tokens.').waitFor()
    assert.equal((await house.profile(personal)).status, 401)
    assert.equal((await house.profile(sandbox, 'sandbox')).status, 401)

    await openBar(page)
    await page.getByRole('link', { name: 'Connected applications' }).click()
    await pressAsked(page, 'Revoke access')
    await page.getByText('No application is connected to your account.').waitFor()
    assert.equal((await house.profile(access_token)).status, 401)

    await openBar(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto(`${house.baseUrl}/account`)
    assert.equal(new URL(page.url()).pathname, '/login')
    assert.deepEqual(withoutLeavings(complaints), [])
    await close()
  })
}

test('deny, and cancel at login, return to the application with access_denied', async () => {
  const user = await house.makeUser()
  const { page, complaints, close } = await openVisit()
  await connect(page, authorizeUrl(client))
  await page.getByRole('button', { name: /Cancel and return to localhost/ }).click()
  assert.equal((await takeCallback(page)).get('error'), 'access_denied')
  await connect(page, authorizeUrl(client))
  await signIn(page, user.username)
  await page.getByRole('button', { name: 'Deny' }).click()
  const callback = await takeCallback(page)
  assert.equal(callback.get('error'), 'access_denied')
  assert.equal(callback.has('code'), false)
  assert.deepEqual(withoutLeavings(complaints), [])
  await close()
})

test('a double click on Allow yields one code', async () => {
  const user = await house.makeUser()
  const { page, complaints, close } = await openVisit()
  await connect(page, authorizeUrl(client, 'read', 'clicked twice'))
  await signIn(page, user.username)
  await page.getByRole('button', { name: 'Allow' }).dblclick()
  await takeCallback(page)
  const heard = site.callbacks.filter((callback) => callback.get('state') === 'clicked twice')
  assert.equal(heard.length, 1)
  assert.equal((await house.exchange(client, heard[0]!.get('code')!)).status, 200)
  assert.deepEqual(withoutLeavings(complaints), [])
  await close()
})

test('a wrong password is told where it can be read, and the Enter key signs in', async () => {
  const user = await house.makeUser()
  const { page, close } = await openVisit()
  await page.goto(`${house.baseUrl}/account`)
  await signIn(page, user.username, 'not the right password')
  assert.match(await page.getByRole('alert').innerText(), /do not match/)
  assert.equal(await page.getByLabel('Username').inputValue(), user.username)
  await eventually(
    'the field to correct has the focus',
    async () => (await page.evaluate('document.activeElement.name')) === 'password',
  )
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Connected applications' }).waitFor()
  await close()
})

for (const javaScriptEnabled of [true, false]) {
  test(`an account holder sets up an authenticator app and signs in with it, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const user = await house.makeUser()
    const { page, complaints, close } = await openVisit({ viewport: phone, javaScriptEnabled })
    await page.goto(`${house.baseUrl}/account/security`)
    await signIn(page, user.username)
    await page.getByRole('link', { name: 'Set up an authenticator app' }).click()
    const app = makeApp(house, (await page.locator('code.secret').textContent())!.replaceAll(' ', ''))
    await page.getByLabel('Code from the app').fill(app.code())
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    await page.waitForLoadState()
    assert.equal(await page.locator('.codes code').count(), 10)
    await page.getByRole('link', { name: 'I have kept them' }).click()
    await page.getByRole('heading', { name: 'Security', exact: true }).waitFor()
    await openBar(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    house.clock.advance(30_000)

    await connect(page, authorizeUrl(client, 'read'))
    await signIn(page, user.username)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await page.getByLabel('Code from your authenticator app').fill(app.code())
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow' }).click()
    assert.ok((await takeCallback(page)).has('code'))

    await page.goto(`${house.baseUrl}/account/security`)
    await pressAsked(page, 'Remove the authenticator app')
    await page.getByText('The authenticator app is removed.').waitFor()
    assert.deepEqual(withoutLeavings(complaints), [])
    await close()
  })

  test(`an account holder pauses an application, changes the password and ends other sign-ins, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const user = await house.makeUser()
    const { page, complaints, close } = await openVisit({ viewport: phone, javaScriptEnabled })
    await connect(page, authorizeUrl(client))
    await signIn(page, user.username)
    await page.getByRole('button', { name: 'Allow' }).click()
    const code = (await takeCallback(page)).get('code')!
    const { access_token } = (await house.exchange(client, code)).json<TokenBody>()

    await page.goto(`${house.baseUrl}/account`)
    await page.getByRole('button', { name: 'Pause Portfolio Pal' }).click()
    await page.getByText('Paused since').waitFor()
    assert.equal((await house.profile(access_token)).status, 401)
    await page.getByRole('button', { name: 'Resume Portfolio Pal' }).click()
    await page.getByRole('button', { name: 'Pause Portfolio Pal' }).waitFor()
    assert.equal((await house.profile(access_token)).status, 200)

    await signInElsewhere(user.username, otherDevices[0]!)
    await openBar(page)
    await page.getByRole('link', { name: 'Sign-ins and devices' }).click()
    await page.getByText('Safari on iPhone').first().waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByText('You are signed in nowhere else.').waitFor()

    await openBar(page)
    await page.getByRole('link', { name: 'Security' }).click()
    await page.getByRole('link', { name: 'Change password' }).click()
    await page.getByLabel('Current password').fill(password)
    await page.getByLabel('New password', { exact: true }).fill('a different password')
    await page.getByLabel('New password, again').fill('a different password')
    await page.getByRole('button', { name: 'Change password' }).dblclick()
    await page.getByText('Your password is changed').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await openBar(page)
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByText('You changed your password').waitFor()
    assert.deepEqual(withoutLeavings(complaints), [])
    await close()
  })
}

test('the pages of the two environments are signed in to apart, though they share a host', async () => {
  const user = await house.makeUser()
  const { page, close } = await openVisit()
  for (const url of [house.baseUrl, house.sandboxUrl]) {
    await page.goto(`${url}/account`)
    await signIn(page, user.username)
    await page.getByRole('heading', { name: 'Connected applications' }).waitFor()
  }
  for (const url of [house.baseUrl, house.sandboxUrl]) {
    await page.goto(`${url}/account`)
    assert.equal(page.url(), `${url}/account`)
  }
  await close()
})

test('the answer reaches an application whose callback leads on to another origin', async () => {
  const onward = await house.makeClient({ callbackUrl: `${site.origin}/callback-and-on` })
  const user = await house.makeUser()
  const { page, complaints, close } = await openVisit()
  await connect(page, authorizeUrl(onward))
  await signIn(page, user.username)
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${site.neighbour}/home`)
  assert.deepEqual(withoutLeavings(complaints), [])
  await close()
})

test('no page can be framed by another origin', async () => {
  const user = await house.makeUser()
  const { page, complaints, close } = await openVisit()
  await page.goto(`${house.baseUrl}/account`)
  await signIn(page, user.username)
  await page.getByRole('heading', { name: 'Connected applications' }).waitFor()
  const paths = ['/account', '/account/api', '/login?confirm=1', '/nowhere', authorizeUrl(client)]
  for (const origin of [site.origin, site.neighbour]) {
    for (const path of paths) {
      complaints.length = 0
      const url = path.startsWith('/') ? house.baseUrl + path : path
      await page.goto(`${origin}/frame?${new URLSearchParams({ of: url })}`)
      const [frame] = page.frames().filter((each) => each !== page.mainFrame())
      assert.equal(await frame!.locator('.brand').count(), 0, url)
      await eventually(`a complaint that ${url} cannot be framed`, () =>
        complaints.some((text) => /frame-ancestors|X-Frame-Options|ERR_BLOCKED_BY_RESPONSE/i.test(text)),
      )
    }
  }
  await close()
})

test('the script of the site is the only one that runs: the policy stops one that is injected', async () => {
  const { page, complaints, close } = await openVisit()
  await page.goto(`${house.baseUrl}/login`)
  await page.evaluate(
    "const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s)",
  )
  assert.equal(await page.evaluate('window.ran'), undefined)
  await eventually('a complaint of the policy', () =>
    complaints.some((text) => /Content Security Policy/.test(text)),
  )
  await close()
})

const otherDevices = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 Version/18.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0',
]

async function signInElsewhere(username: string, userAgent: string): Promise<void> {
  await signInWith(new VisitorBrowser(house.baseUrl), username, { headers: { 'user-agent': userAgent } })
}
