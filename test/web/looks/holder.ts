/** Every page of an account holder: signing in, approving, and what they have approved. */
import { after, day, minute } from '../../../src/clock.ts'
import { removeProvider } from '../../../src/identity/provider.ts'
import { setEmail } from '../../../src/users/email.ts'
import { sendResetTo } from '../../../src/users/password-reset.ts'
import { Browser } from '../../support/browser.ts'
import { password } from '../../support/gateway.ts'
import { findResetLink } from '../../support/reset-link.ts'
import { makeApp } from '../../support/second-factor.ts'
import { registerUpstream } from '../../support/upstream.ts'
import { signInWith } from '../../support/web.ts'
import { unfold, visitAll, type Walk } from './tour.ts'

const otherDevices = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 Version/18.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0',
]

/** What somebody sees who signs in at the brokerage's provider, and who forgot their password. */
async function* providerTour(walk: Walk): AsyncGenerator<string, void> {
  const { house } = walk
  const provider = await registerUpstream(house, { issuer: 'https://127.0.0.1:9' }, 'bank')
  yield* visitAll(walk, {
    'login-with-a-provider': '/login',
    'login-by-password': '/login/password',
    'sign-in-lost': '/login/from/bank?state=of-nobody',
    'signed-out': '/login/signed-out',
  })
  await removeProvider(house.gateway.context.db, provider, house.act())
  const { db, vault } = house.gateway.context
  const reader = await house.makeUser()
  await setEmail(db, reader, 'reader@example.com', {
    by: { name: `user:${reader.id}` },
    at: after(house.clock.now(), -day),
  })
  await sendResetTo({ db, vault, holdersUsePasswords: true }, reader, house.act())
  yield* visitAll(walk, {
    'forgotten-password': '/login/forgotten',
    'new-password': await findResetLink(house, reader),
  })
}

export async function* holderTour(walk: Walk): AsyncGenerator<string, void> {
  const { house, site, page, visit } = walk
  const client = await house.makeClient({ callbackUrl: `${site.origin}/callback` })
  const authorize = (scope: string) =>
    visit(`/v1/oauth/authorize?${new URLSearchParams({ client_id: client.id, scope, state: 'st' })}`)
  const press = (name: string) => page.getByRole('button', { name }).click()
  const { username } = await house.makeUser(undefined, ['6YD00001', '6YD00002'])

  yield* visitAll(walk, {
    'error-400': '/v1/oauth/authorize?client_id=unknown',
    'error-404': '/nowhere',
    'sandbox-login': `${house.sandboxUrl}/login`,
    login: '/login',
    'partner-stranger': '/partner',
    'sandbox-partner-stranger': `${house.sandboxUrl}/partner`,
  })
  yield* providerTour(walk)
  await visit('/login')
  await signIn('nobody', 'not the right password')
  await page.getByRole('alert').waitFor()
  yield 'login-refused'
  await authorize('read write market trade stream')
  yield 'login-for-an-application'
  await signIn(username)
  await page.getByRole('heading', { name: /^Allow / }).waitFor()
  yield 'consent'
  for (const box of await page.locator('[name=account]').all()) await box.uncheck()
  await press('Allow')
  await page.getByRole('alert').waitFor()
  yield 'consent-without-an-account'
  yield* visitAll(walk, { 'connected-none': '/account' })
  await authorize('read trade')
  await press('Allow')
  await page.waitForURL(`${site.origin}/callback?*`)
  await visit('/account')
  await unfold(page)
  yield 'connected'
  await press('Pause')
  await page.getByText('Paused since').waitFor()
  yield 'connected-paused'
  for (const userAgent of otherDevices)
    await signInWith(new Browser(house.baseUrl), username, { headers: { 'user-agent': userAgent } })
  yield* visitAll(walk, {
    devices: '/account/devices',
    security: '/account/security',
    passkey: '/account/security/passkey',
    password: '/account/password',
  })
  await page.getByLabel('Current password').fill('not the right password')
  await page.getByLabel('New password', { exact: true }).fill('short')
  await page.getByLabel('New password, again').fill('other')
  await press('Change password')
  await page.locator('.problem').first().waitFor()
  yield 'password-refused'
  yield* visitAll(walk, { 'notices-none': '/account/security/notices', email: '/account/security/email' })
  await page.getByLabel('E-mail address').fill('ada@localhost')
  await press('Save')
  await page.locator('.problem').waitFor()
  yield 'email-refused'
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await press('Save')
  await page.getByText('Your e-mail address is saved.').waitFor()
  yield 'notices'
  yield* guard()
  yield* visitAll(walk, {
    history: '/account/history',
    'views-none': '/account/views',
    'api-none': '/account/api',
  })
  await page.getByLabel('Name').fill('My notebook at home')
  await press('Create')
  await page.locator('code.secret').waitFor()
  yield 'api-created'
  await page
    .getByLabel('Name')
    .fill('A name that is as long as names may be, because some are '.padEnd(100, 'x'))
  await page.getByLabel('Kind').selectOption('sandbox')
  await press('Create')
  await page.locator('code.secret').waitFor()
  await visit('/account/api')
  await unfold(page)
  yield 'api'
  house.clock.advance(6 * minute)
  await authorize('trade')
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  yield 'confirm'

  async function signIn(name: string, given = password) {
    await page.getByLabel('Username').fill(name)
    await page.getByLabel('Password').fill(given)
    await page.getByRole('button', { name: /Sign in|Continue/ }).click()
  }

  /** Sets up an app, and comes in again with what it takes since. */
  async function* guard(): AsyncGenerator<string, void> {
    yield* visitAll(walk, { 'app-setup': '/account/security/app' })
    await page.getByLabel('Code from the app').fill('000000')
    await press('Turn on')
    await page.locator('.problem').waitFor()
    yield 'app-refused'
    const secret = (await page.locator('code.secret').textContent())!.replaceAll(' ', '')
    await page.getByLabel('Code from the app').fill(makeApp(house, secret).code())
    await press('Turn on')
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    yield 'recovery-codes'
    const [code] = await page.locator('.codes code').allInnerTexts()
    await visit('/account/security')
    await unfold(page)
    yield 'security-guarded'
    await visit('/login?confirm=1')
    await signIn(username)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    yield 'second-step'
    for (const each of ['not one of them', code!]) {
      await unfold(page)
      await page.getByLabel('Recovery code').fill(each)
      await press('Use recovery code')
      if (each === code) break
      await page.locator('.problem').waitFor()
      yield 'second-step-refused'
    }
    await page.getByRole('heading', { name: 'Connected applications' }).waitFor()
  }
}
