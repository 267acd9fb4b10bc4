/**
 * The device cookie: it keeps the sign-ins of a browser apart from a stranger's guesses. It ends with the
 * password, and in time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day } from '../../src/clock.ts'
import { setPassword, type User } from '../../src/users/user.ts'
import type { Browser } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { guess, signInWith } from '../support/web.ts'

const house = await openHouse()

const deviceCookie = 'countersign-live-device'
const nextPassword = 'quite another sentence'

/** Whether this browser may try while a stranger's guesses keep the user waiting. */
async function isKnown(browser: Browser, user: User, given = password): Promise<boolean> {
  for (let time = 0; time < 6; time++) await guess(house, user.username)
  return (
    (await signInWith(browser, user.username, { password: given, path: '/login?confirm=1' })).status === 303
  )
}

test('a browser that signed in before is known', async () => {
  const user = await house.makeUser()
  assert.equal(await isKnown(await house.signIn(user), user), true)
})

test('with a change of password every device is a stranger, but for the one that changed it', async () => {
  const user = await house.makeUser()
  const [here, elsewhere] = [await house.signIn(user), await house.signIn(user)]
  const copied = here.cookies.get(deviceCookie)!
  const change = { current: password, next: nextPassword, again: nextPassword }
  await here.submit(await here.get('/account/password'), '/account/password', change)
  assert.equal(await isKnown(elsewhere, user, nextPassword), false)
  assert.notEqual(here.cookies.get(deviceCookie), copied)
  elsewhere.cookies.set(deviceCookie, copied)
  assert.equal(await isKnown(elsewhere, user, nextPassword), false, 'a copy of its old cookie')
  assert.equal(await isKnown(here, user, nextPassword), true)
})

test('with a password that the brokerage sets every device is a stranger', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { db, passwords } = house.gateway.context
  await setPassword(db, passwords, user, nextPassword, house.act())
  assert.equal(await isKnown(browser, user, nextPassword), false)
})

test('a device is known for 90 days after its last sign-in, whatever the browser keeps', async () => {
  const user = await house.makeUser()
  const [early, late] = [await house.signIn(user), await house.signIn(user)]
  house.clock.advance(90 * day - 1)
  assert.equal(await isKnown(early, user), true)
  house.clock.advance(day)
  assert.equal(await isKnown(late, user), false)
  assert.equal(await isKnown(early, user), true, 'it signed in meanwhile')
})
