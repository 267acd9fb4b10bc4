/** Users whom operators make and help: nobody but the user ever knows their password. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day } from '../../../src/clock.ts'
import { linkByHand } from '../../../src/identity/identity.ts'
import { findMail, setEmail } from '../../../src/users/email.ts'
import { listRolesOf, type StaffRole } from '../../../src/users/staff-role.ts'
import { findUserByUsername, type User } from '../../../src/users/user.ts'
import { ask } from '../../support/ask.ts'
import { hiddenFields } from '../../support/browser.ts'
import { openConsole } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { noticesOf } from '../../support/notices.ts'
import { draftUpstream, makeCustomer, registerUpstream } from '../../support/upstream.ts'
import { pathOf } from '../../support/web.ts'
import { newStaff } from './staff-rows.ts'

const house = await openHouse({ ROLES: 'api' })
const { db } = house.gateway.context
const adminBrowser = await house.signIn(await house.makeOperator())
const kindsOf = async (user: User) => (await noticesOf(db, user)).map(({ kind }) => kind)

test('an operator makes a user, who gets a link for a password', async () => {
  const page = await adminBrowser.get('/console/users/new')
  const fields = { username: 'Nora', name: 'Nora New', email: 'nora@example.com' }
  const answer = await adminBrowser.submit(page, '/console/users/create', fields)
  assert.equal(answer.status, 303, answer.text)
  const user = (await findUserByUsername(db, 'nora'))!
  assert.equal(pathOf(answer), `/console/users/${user.id}`)
  assert.equal(user.passwordHash, null)
  assert.deepEqual(await kindsOf(user), ['password-reset'])
})

test('a username that is taken is told at its field, and what was typed stays', async () => {
  const { username } = await house.makeUser()
  const page = await adminBrowser.get('/console/users/new')
  const fields = { username, name: 'Second', email: 'second@example.com' }
  const answer = await adminBrowser.submit(page, '/console/users/create', fields)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /It is taken\./)
  assert.match(answer.text, /value="second@example.com"/)
})

test('an operator changes an address with a reason, and the one before is told', async () => {
  const user = await house.makeUser()
  const home = `/console/users/${user.id}`
  for (const email of ['first@example.com', 'second@example.com']) {
    const page = await adminBrowser.get(home)
    const fields = { ...hiddenFields(page.text, `${home}/email`), email, reason: 'Ticket 4711.' }
    assert.equal((await adminBrowser.post(`${home}/email`, fields)).status, 303)
  }
  assert.equal((await findMail(db, user.id))!.email, 'second@example.com')
  const told = (await noticesOf(db, user)).filter(({ kind }) => kind === 'address')
  assert.ok(told.some(({ email }) => email === 'first@example.com'))
})

/** No reset goes to an address that was given today. */
const yesterday = () => after(house.clock.now(), -day)

test('a password reset goes to the address of the user; without one nothing is sent, and that is said', async () => {
  const user = await house.makeUser()
  const home = `/console/users/${user.id}`
  const csrf = hiddenFields((await adminBrowser.get(home)).text, `${home}/lock`).csrf!
  const none = await adminBrowser.post(`${home}/reset`, { csrf, reason: 'Ticket 4711.' })
  assert.equal(none.status, 409)
  assert.match(none.text, /No link was sent/)
  await setEmail(db, user, 'theirs@example.com', { by: { name: `user:${user.id}` }, at: yesterday() })
  assert.equal((await adminBrowser.post(`${home}/reset`, { csrf, reason: 'Ticket 4711.' })).status, 303)
  assert.ok((await kindsOf(user)).includes('password-reset'))
})

test('an operator sends no password reset to themselves, and is offered none', async () => {
  const operator = await house.makeOperator()
  await setEmail(db, operator, 'own@example.com', house.act())
  const browser = await house.signIn(operator)
  const home = `/console/users/${operator.id}`
  const page = await browser.get(home)
  assert.doesNotMatch(page.text, /Send a password reset/)
  const csrf = hiddenFields(page.text, `${home}/email`).csrf!
  const answer = await browser.post(`${home}/reset`, { csrf, reason: 'Mine.' })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /to yourself/)
  assert.ok(!(await kindsOf(operator)).includes('password-reset'))
})

test('a customer without a password who signs in at a provider gets no link for one, and the operator reads why', async () => {
  const send = async (user: User) => {
    const home = `/console/users/${user.id}`
    await ask(db, 'UPDATE users SET password_hash = NULL WHERE id = $1', [user.id])
    await setEmail(db, user, `${user.username}@example.com`, {
      by: { name: `user:${user.id}` },
      at: yesterday(),
    })
    return adminBrowser.submit(await adminBrowser.get(home), `${home}/reset`, { reason: 'Ticket 4711.' })
  }
  await draftUpstream(house)
  assert.equal(
    (await send(await makeCustomer(house, 'C-1'))).status,
    303,
    'no provider that is enabled is for them',
  )
  const provider = await registerUpstream(house, { issuer: 'https://login.example.com' }, 'bank')
  const linked = await house.makeUser()
  await linkByHand(db, provider, 'sub-linked', linked, house.act())
  for (const user of [await makeCustomer(house, 'C-2'), linked]) {
    const answer = await send(user)
    assert.equal(answer.status, 409)
    assert.match(answer.text, /sign in at your identity provider/)
    assert.ok(!(await kindsOf(user)).includes('password-reset'))
  }
  assert.equal((await send(await house.makeUser())).status, 303, 'they are no customer of it')
})

test('a reset just after an operator changed the address is refused with words that say when it is possible', async () => {
  const user = await house.makeUser()
  const home = `/console/users/${user.id}`
  const csrf = hiddenFields((await adminBrowser.get(home)).text, `${home}/lock`).csrf!
  await adminBrowser.post(`${home}/email`, { csrf, email: 'theirs@example.com', reason: 'Ticket 4711.' })
  const refused = await adminBrowser.post(`${home}/reset`, { csrf, reason: 'Ticket 4711.' })
  assert.equal(refused.status, 409)
  assert.match(refused.text, /less than 24 hours ago\. A reset is possible from \d{4}-/)
  assert.ok(!(await kindsOf(user)).includes('password-reset'))
})

/** As an operator with these roles sends the form. */
async function createStaff(fields: Record<string, string>, roles?: StaffRole[]) {
  const { browser } = await openConsole(house, 'Ada', roles)
  const page = await browser.get('/console/staff/new')
  const given = { ...newStaff(), reason: 'A new colleague.', ...fields }
  return { username: given.username, answer: await browser.submit(page, '/console/staff/new/create', given) }
}

test('an administrator makes a staff member, with a role and a link for a password', async () => {
  const { username, answer } = await createStaff({ role: 'support' })
  assert.equal(answer.status, 303, answer.text)
  const user = (await findUserByUsername(db, username))!
  assert.deepEqual([user.role, user.passwordHash], ['operator', null])
  assert.deepEqual(await listRolesOf(db, user.id), ['support'])
  assert.deepEqual(await kindsOf(user), ['password-reset'])
})

test('a security officer makes staff with what they hold themselves, and nobody with more: nothing is left of the attempt', async () => {
  const officer: StaffRole[] = ['security-officer']
  assert.equal((await createStaff({ role: 'viewer' }, officer)).answer.status, 303)
  for (const role of ['support', 'administrator']) {
    const { username, answer } = await createStaff({ role }, officer)
    assert.equal(answer.status, 403, role)
    assert.equal(await findUserByUsername(db, username), undefined)
  }
  for (const [field, value] of [
    ['role', 'owner'],
    ['reason', ''],
  ] as const)
    assert.equal((await createStaff({ [field]: value })).answer.status, 400, field)
})
