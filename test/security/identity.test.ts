/**
 * Who is who: an id names one user for ever, a username is what somebody signs in with, and no word can be
 * both.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { violates } from '../../src/database/database.ts'
import { applyAsPartner, getPartner } from '../../src/partners/partner.ts'
import { createApiToken } from '../../src/users/api-token.ts'
import { openPasswords } from '../../src/users/password.ts'
import { createUser, getUserById, getUserNamed, setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'

const house = await openHouse()
const db = house.gateway.context.db

const rename = 'UPDATE users SET username = $2 WHERE id = $1'

test('no username has the shape of an id, neither in a command nor in SQL', async () => {
  const ada = await house.makeUser()
  const draft = { username: ada.id, name: 'Eve', password, role: 'holder' } as const
  await assert.rejects(createUser(db, openPasswords(1), draft, house.act()), {
    message: 'username must not look like the id of a user.',
  })
  const eve = await house.makeUser()
  await assert.rejects(ask(db, rename, [eve.id, ada.id]), (error) =>
    violates(error, 'users_username_is_no_id'),
  )
})

/** What no row can be: the constraint is taken away for it. */
async function makeNamesake(of: User): Promise<User> {
  const namesake = await house.makeUser()
  await db.script('ALTER TABLE users DROP CONSTRAINT users_username_is_no_id')
  await ask(db, rename, [namesake.id, of.id])
  return getUserById(db, namesake.id)
}

test("a user who is called by another's id is neither shown nor locked out in their place", async () => {
  const ada = await house.makeUser()
  const { token } = await createApiToken(db, ada, { environment: 'live', name: 'x' }, house.act())
  const eve = await makeNamesake(ada)
  const answer = await house.profile(token.text)
  assert.equal(answer.json<{ profile: { id: string } }>().profile.id, ada.id)
  const named = await getUserNamed(db, ada.id)
  assert.equal(named.id, ada.id, 'what looks like an id is one')
  await setUserStatus(db, named, 'disabled', house.act())
  assert.equal((await getUserById(db, eve.id)).status, 'active')
  const browser = new Browser(house.baseUrl)
  const signedIn = await browser.submit(await browser.get('/login'), '/login', {
    username: eve.username,
    password,
  })
  assert.equal(signedIn.status, 303, 'and still signs in')
  await ask(db, rename, [eve.id, `eve.${eve.id}`])
})

test('no partner is called by a number, which is a branch id', async () => {
  const partner = await house.makePartner()
  const number = String(partner.branchId)
  await assert.rejects(applyAsPartner(db, ` ${number} `, house.act()), /must not be a number/)
  const other = await house.makePartner()
  const update = 'UPDATE partners SET name = $2 WHERE branch_id = $1'
  await assert.rejects(ask(db, update, [other.branchId, number]), (error) =>
    violates(error, 'partners_name_is_no_id'),
  )
  assert.equal((await getPartner(db, number)).name, partner.name)
})
