/** A forgotten password: a link by e-mail, once and for an hour, and the same answer whoever was named. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day, hour, minute } from '../../src/clock.ts'
import { linkUser } from '../../src/provisioning/link.ts'
import { provision } from '../../src/provisioning/provisioning.ts'
import { setEmail } from '../../src/users/email.ts'
import { askForReset, sendResetTo } from '../../src/users/password-reset.ts'
import { setPassword, setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { type Answer, Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { findResetLink, listResets } from '../support/reset-link.ts'
import { makeGuardedUser } from '../support/second-factor.ts'
import { isSignedIn, signInWith } from '../support/web.ts'

const house = await openHouse({ ROLES: 'api' })
const { db } = house.gateway.context
const open = () => new Browser(house.baseUrl)
const chosen = 'a new password of four words'

const ownAct = ({ id }: User) => ({ by: { name: `user:${id}` }, at: house.clock.now() })

/** No reset goes to an address that was given today. */
const yesterday = (user: User) => ({ ...ownAct(user), at: after(house.clock.now(), -day) })

async function makeReader(user?: User): Promise<User> {
  const made = user ?? (await house.makeUser())
  await setEmail(db, made, `${made.username}@example.com`, yesterday(made))
  return made
}

async function askReset(username: string, browser = open()): Promise<Answer> {
  const page = await browser.get('/login/forgotten')
  return browser.post('/login/forgotten', { ...hiddenFields(page.text, '/login/forgotten'), username })
}

const sentTo = (user: User) => listResets(house, user)
const findLink = (user: User, which?: number) => findResetLink(house, user, which)

async function choose(link: string, next = chosen, browser = open()): Promise<Answer> {
  const page = await browser.get(link)
  if (page.status !== 200) return page
  return browser.post(link, { ...hiddenFields(page.text, link), password: next })
}

test('whoever forgot their password chooses a new one by a link, and everybody else is signed out', async () => {
  const user = await makeReader()
  const before = await house.signIn(user)
  assert.equal((await askReset(user.username)).status, 200)
  const answer = await choose(await findLink(user))
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.text, /Your new password is set/)
  assert.equal(await isSignedIn(before), false)
  assert.equal((await signInWith(open(), user.username, { password })).status, 401)
  assert.equal((await signInWith(open(), user.username, { password: chosen })).status, 303)
})

test('the answer is the same for somebody who does not exist, or has no address', async () => {
  const user = await makeReader()
  const pages = [
    await askReset(user.username),
    await askReset('nobody'),
    await askReset((await house.makeUser()).username),
  ]
  const texts = pages.map(({ text }) => text.replaceAll(/value="[^"]*"/g, ''))
  assert.equal(new Set(texts).size, 1)
})

test('a link works once, for an hour, and a newer one ends it', async () => {
  const user = await makeReader()
  await askReset(user.username)
  const first = await findLink(user)
  house.clock.advance(31 * minute)
  await askReset(user.username)
  const second = await findLink(user, 2)
  assert.equal((await choose(first)).status, 404)
  assert.equal((await choose(second)).status, 200)
  assert.equal((await choose(second)).status, 404)
  house.clock.advance(6 * minute)
  await askReset(user.username)
  const third = await findLink(user, 3)
  house.clock.advance(hour)
  assert.equal((await choose(third)).status, 404)
})

test('a link ends with a new password, another address, or a lock', async () => {
  const { passwords } = house.gateway.context
  const changes: ((user: User) => Promise<unknown>)[] = [
    (user) => setPassword(db, passwords, user, 'another password of theirs', house.act()),
    (user) => setEmail(db, user, `other-${user.username}@example.com`, house.act()),
    async (user) => {
      for (const status of ['disabled', 'active'] as const) await setUserStatus(db, user, status, house.act())
    },
  ]
  for (const change of changes) {
    const user = await makeReader()
    await askReset(user.username)
    const link = await findLink(user)
    await change(user)
    assert.equal((await choose(link)).status, 404, String(change))
  }
})

test('a link that is made while the address changes ends with it', async () => {
  const user = await makeReader()
  house.clock.advance(day + minute)
  const { vault } = house.gateway.context
  const [, changed] = await runBehind(
    db,
    (first) => sendResetTo({ db: first, vault, holdersUsePasswords: true }, user, house.act()),
    () => setEmail(db, user, `other-${user.username}@example.com`, house.act()),
  )
  assert.equal(changed.status, 'fulfilled')
  assert.equal((await choose(await findLink(user))).status, 404)
})

test('of a link that is used while the address changes, and the change, both end well', async () => {
  const user = await makeReader()
  await askReset(user.username)
  const link = await findLink(user)
  const [, chosenBehind] = await runBehind(
    db,
    (first) => setEmail(first, user, `other-${user.username}@example.com`, house.act()),
    () => choose(link),
  )
  assert.equal(chosenBehind.status === 'fulfilled' && chosenBehind.value.status, 404)
})

test('a password that is too short is told, and the link stays good', async () => {
  const user = await makeReader()
  await askReset(user.username)
  const link = await findLink(user)
  const short = await choose(link, 'short')
  assert.equal(short.status, 400)
  assert.match(short.text, /at least 12 characters/)
  assert.equal((await choose(link)).status, 200)
})

test('a form of another site sends no link, and sets no password', async () => {
  const user = await makeReader()
  const stranger = await open().get('/login/forgotten')
  const fields = { ...hiddenFields(stranger.text, '/login/forgotten'), username: user.username }
  assert.equal((await open().post('/login/forgotten', fields)).status, 403)
  assert.deepEqual(await sentTo(user), [])
  await askReset(user.username)
  const link = await findLink(user)
  assert.equal((await open().post(link, { ...fields, password: chosen })).status, 403)
  assert.equal((await signInWith(open(), user.username)).status, 303)
})

test('a new password replaces no second factor', async () => {
  const { user } = await makeGuardedUser(house)
  await makeReader(user)
  await askReset(user.username)
  assert.equal((await choose(await findLink(user))).status, 200)
  const answer = await signInWith(open(), user.username, { password: chosen })
  assert.match(answer.location!, /^\/login\/second/)
})

test('a network that asks for too many links in a minute waits for the next', async () => {
  house.clock.advance(minute)
  const answers: number[] = []
  for (let times = 0; times < 21; times++) answers.push((await askReset('nobody')).status)
  assert.deepEqual([...new Set(answers)], [200, 429])
  assert.equal(answers.at(-1), 429)
  house.clock.advance(minute)
})

test('password managers find where a password is changed', async () => {
  const answer = await open().get('/.well-known/change-password')
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/account/password')
})

test('an operator sends no reset to an address that was changed in the last 24 hours, whoever changed it', async () => {
  const { vault } = house.gateway.context
  const at = house.clock.now()
  const support = await house.makeOperator('Stan Staff', ['support'])
  const act = { by: { name: `user:${support.id}` }, at }
  const deps = { db, vault, holdersUsePasswords: true }
  const changes: Record<string, (user: User) => Promise<unknown>> = {
    operator: (user) => setEmail(db, user, 'moved@example.com', act),
    holder: (user) => setEmail(db, user, 'moved@example.com', { by: { name: `user:${user.id}` }, at }),
    source: async (user) => {
      const name = { source: 'core', environment: 'live', externalId: user.id } as const
      await linkUser(db, user, name, act)
      const record = { kind: 'customer', op: 'upsert', externalId: user.id, name: 'Ada', version: 1 } as const
      await provision(db, name, { ...record, email: 'moved@example.com' }, act)
    },
  }
  for (const [who, change] of Object.entries(changes)) {
    const moved = await house.makeUser()
    await change(moved)
    for (const later of [0, day - 1]) {
      const sent = sendResetTo(deps, moved, { ...act, at: after(at, later) })
      await assert.rejects(sent, new RegExp(`possible from ${after(at, day).toISOString()}`), who)
    }
    assert.deepEqual(await sentTo(moved), [])
    assert.equal(await sendResetTo(deps, moved, { ...act, at: after(at, day) }), true, who)
  }
  const byHand = await makeOwn()
  await ask(db, "UPDATE users SET email = 'hand@example.com' WHERE id = $1", [byHand.id])
  await assert.rejects(sendResetTo(deps, byHand, { ...act, at: new Date() }), /A reset is possible from/)
})

test('a reset that is chosen while the address changes in SQL goes to nobody', async () => {
  const { vault } = house.gateway.context
  const user = await makeOwn()
  const record = { kind: 'customer', op: 'upsert', externalId: user.id, name: 'Ada', version: 1 } as const
  const name = { source: 'core', environment: 'live', externalId: user.id } as const
  await linkUser(db, user, name, house.act())
  const [, reset] = await runBehind(
    db,
    (joined) => provision(joined, name, { ...record, email: 'thief@example.com' }, house.act()),
    () => sendResetTo({ db, vault, holdersUsePasswords: true }, user, house.act()),
  )
  assert.notDeepEqual([reset.status, reset.status === 'fulfilled' && reset.value], ['fulfilled', true])
  assert.deepEqual(await sentTo(user), [])
})

test('an operator whose reset goes out while another changes the address sends none', async () => {
  const { vault } = house.gateway.context
  const user = await makeOwn()
  const [, reset] = await runBehind(
    db,
    (joined) => setEmail(joined, user, 'thief@example.com', house.act()),
    () => sendResetTo({ db, vault, holdersUsePasswords: true }, user, house.act()),
  )
  assert.equal(reset.status, 'rejected')
  assert.deepEqual(await sentTo(user), [])
})

async function makeOwn(): Promise<User> {
  const user = await house.makeUser()
  await setEmail(db, user, 'own@example.com', yesterday(user))
  return user
}

/** What the form does when it has answered, waited for. */
const askAndWait = (user: User) =>
  askForReset({ db, vault: house.gateway.context.vault, holdersUsePasswords: true }, user.username, {
    by: { name: 'anybody' },
    at: house.clock.now(),
  })

test('nobody gets a reset at an address that was changed in the last 24 hours, by the form either, and it answers as always', async () => {
  const [moved, usual] = [await makeOwn(), await makeOwn()]
  const support = await house.makeOperator('Sam Staff', ['support'])
  await setEmail(db, moved, 'thief@example.com', {
    by: { name: `user:${support.id}` },
    at: house.clock.now(),
  })
  const texts = [await askReset(moved.username), await askReset(usual.username)].map(({ text }) =>
    text.replaceAll(/value="[^"]*"/g, ''),
  )
  assert.equal(texts[0], texts[1])
  await findLink(usual)
  await askAndWait(moved)
  assert.deepEqual(await sentTo(moved), [])
  house.clock.advance(day)
  await askAndWait(moved)
  assert.equal((await sentTo(moved)).length, 1)
})

test('whoever asks in somebody’s name all day leaves them with a link that is good for half an hour, at every moment, and no flood', async () => {
  const user = await makeOwn()
  for (let minutes = 0; minutes < 24 * 60; minutes += 7) {
    house.clock.advance(7 * minute)
    await askAndWait(user)
    const link = await findLink(user)
    assert.equal((await open().get(link)).status, 200, `after ${minutes} minutes`)
    const { expiresAt } = (await sentTo(user)).at(-1)!.facts as { expiresAt: string }
    assert.ok(new Date(expiresAt) >= after(house.clock.now(), 30 * minute), expiresAt)
  }
  const sent = (await sentTo(user)).length
  assert.ok(sent > 20 && sent < 60, `${sent} messages in a day`)
})

test('a link that is good for half an hour is sent again, not ended by a newer one', async () => {
  const user = await makeOwn()
  await askAndWait(user)
  const first = await findLink(user)
  house.clock.advance(4 * minute)
  await askAndWait(user)
  assert.equal((await sentTo(user)).length, 1, 'the first has just been sent')
  house.clock.advance(minute)
  await askAndWait(user)
  assert.equal(await findLink(user, 2), first)
  assert.equal((await choose(first)).status, 200)
})
