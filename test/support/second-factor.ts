/** An authenticator app for the tests, and people who have one. */
import assert from 'node:assert/strict'
import { Secret, TOTP } from 'otpauth'
import type { User } from '../../src/users/user.ts'
import { type Answer, Browser, hiddenFields } from './browser.ts'
import type { TestGateway } from './gateway.ts'
import { signInWith } from './web.ts'

export interface App {
  readonly secret: string
  /** What it shows now, or so many steps from now. */
  code(steps?: number): string
  readonly recoveryCodes: readonly string[]
}

export function makeApp(house: TestGateway, secret: string, recoveryCodes: readonly string[] = []): App {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  return {
    secret,
    recoveryCodes,
    code: (steps = 0) => totp.generate({ timestamp: house.clock.now().getTime() + steps * 30_000 }),
  }
}

/** One that is wrong for certain. */
export function wrongCode(app: App): string {
  return wrongCodes(app, 1)[0]!
}

export function wrongCodes(app: App, count: number): string[] {
  const right = [-1, 0, 1].map((steps) => app.code(steps))
  const codes = Array.from({ length: count + right.length }, (_, place) => String(100_000 + place))
  return codes.filter((code) => !right.includes(code)).slice(0, count)
}

export function readSecret(page: Answer): string {
  return /<code class="secret">([A-Z2-7 ]+)<\/code>/.exec(page.text)![1]!.replaceAll(' ', '')
}

export function readRecoveryCodes(page: Answer): string[] {
  return [...page.text.matchAll(/<li><code>([a-z0-9-]+)<\/code><\/li>/g)].map((match) => match[1]!)
}

/**
 * Sets up an app in this browser. The code that proves it, of now or of so many steps from now, is used up.
 */
export async function setUpApp(house: TestGateway, browser: Browser, steps = 0): Promise<App> {
  const page = await browser.get('/account/security/app')
  assert.equal(page.status, 200, page.text)
  const secret = readSecret(page)
  const done = await browser.submit(page, '/account/security/app', {
    code: makeApp(house, secret).code(steps),
  })
  assert.equal(done.status, 200, done.text)
  return makeApp(house, secret, readRecoveryCodes(done))
}

export interface GuardedUser {
  readonly user: User
  readonly browser: Browser
  readonly app: App
}

/** A user with an app, signed in with both proofs; the clock has gone on to the next code. */
export async function makeGuardedUser(house: TestGateway, made?: User): Promise<GuardedUser> {
  const user = made ?? (await house.makeUser())
  const browser = await house.signIn(user)
  const app = await setUpApp(house, browser, -1)
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  house.clock.advance(30_000)
  return { user, browser, app }
}

/** A browser in which the password was given and the second step is awaited. */
export async function startSignIn(
  house: TestGateway,
  user: User,
  browser = new Browser(house.baseUrl),
): Promise<Browser> {
  const answer = await signInWith(browser, user.username, { path: '/login?confirm=1' })
  assert.match(answer.location ?? answer.text, /^\/login\/second\?/)
  return browser
}

export async function sendSecond(browser: Browser, fields: Record<string, string>): Promise<Answer> {
  const page = await browser.get('/login/second')
  if (page.status !== 200) return page
  const action = Object.hasOwn(fields, 'recovery') ? '/login/second/recovery' : '/login/second'
  return browser.post(action, { ...secondStep(page.text), ...fields })
}

/** The hidden fields of the step, which are those of each of its forms: an app that is locked has none left. */
export function secondStep(page: string): Record<string, string> {
  const isLocked = !page.includes('action="/login/second"')
  return hiddenFields(page, isLocked ? '/login/second/recovery' : '/login/second')
}
