/** An invited colleague without an account makes one through the invitation, where accounts are made here. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day } from '../../../src/clock.ts'
import { inviteMember } from '../../../src/partners/invitation.ts'
import { listMembers } from '../../../src/partners/partner.ts'
import { findMail } from '../../../src/users/email.ts'
import { findUserByUsername } from '../../../src/users/user.ts'
import { ask } from '../../support/ask.ts'
import { Browser, type Fields } from '../../support/browser.ts'
import { openHouse } from '../../support/gateway.ts'
import { readInvitation } from '../../support/members.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { assertGuarded, countRows, markTables, signInWith } from '../../support/web.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context

let people = 0

async function invite(own: PartnerHouse, email = `grace-${++people}@example.com`) {
  const act = { by: { name: `user:${own.user.id}` }, at: house.clock.now() }
  await inviteMember({ db, vault }, own.partner, { email, role: 'developer' }, act)
  return { email, path: (await readInvitation(house, email)).path }
}

const chosen = 'seven unrelated words are plenty'

async function join(path: string, fields: Fields = {}, browser = new Browser(house.baseUrl)) {
  const page = await browser.get(path)
  const [, username = ''] = /name="username" value="([^"]*)"/.exec(page.text) ?? []
  const given = { name: 'Grace Colleague', username, password: chosen, ...fields }
  return { browser, username, answer: await browser.submit(page, `${path}/join`, given) }
}

test('the link shows partner, role and inviter to somebody who is not signed in, and both ways on', async () => {
  const own = await openPartner(house)
  const { path, email } = await invite(own)
  const before = await markTables(db)
  const page = await new Browser(house.baseUrl).get(path)
  assert.equal(page.status, 200)
  assertGuarded(page, path)
  assert.match(page.text, new RegExp(`${own.partner.name} invites you`))
  assert.match(page.text, /developer/)
  assert.match(page.text, /Ada Holder/)
  assert.ok(page.text.includes(email))
  assert.ok(page.text.includes(`href="/login?return=${encodeURIComponent(path)}"`))
  assert.deepEqual(await markTables(db), before)
})

test('one form makes the account, signs its owner in as a member, and proves the address', async () => {
  const own = await openPartner(house)
  const { path, email } = await invite(own)
  const { browser, username, answer } = await join(path)
  assert.equal(answer.status, 303, answer.text)
  assert.equal(answer.location, own.home)
  assert.equal((await browser.get(`${own.home}/webhooks`)).status, 200)
  const { id, role } = (await findUserByUsername(db, username))!
  assert.equal(role, 'member')
  assert.equal((await findMail(db, id))!.email, email)
  const member = (await listMembers(db, own.partner)).find((each) => each.id === id)!
  assert.equal(member.role, 'developer')
  const entries = await ask<{ action: string; actor: string }>(
    db,
    'SELECT action, actor FROM audit_entries WHERE subject = $1 OR details ->> $2 = $3 ORDER BY id',
    [`user:${id}`, 'userId', id],
  )
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['user.created', 'partner.member_added', 'session.opened'],
  )
  const again = await signInWith(new Browser(house.baseUrl), username, { password: chosen })
  assert.equal(again.location, own.home)
})

test('one link makes one account, also when it is used twice at once', async () => {
  const own = await openPartner(house)
  const { path } = await invite(own)
  const before = await countRows(db, 'users')
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((letter) => join(path, { username: `${letter}#${own.partner.branchId}` })),
  )
  assert.deepEqual(answers.map(({ answer }) => answer.status).toSorted(), [303, 404, 404])
  assert.equal(await countRows(db, 'users'), before + 1)
  assert.equal((await join(path).catch(() => undefined))?.answer.status ?? 404, 404)
})

test('what is wrong stands beside its field; the password is chosen by the house rules, and nothing is used up', async () => {
  const own = await openPartner(house)
  const { path } = await invite(own)
  const { branchId } = own.partner
  const tries: readonly [Fields, string][] = [
    [{ password: 'too short', name: 'Typed <twice>' }, 'password'],
    [{ name: '' }, 'name'],
    [{ username: 'grace' }, 'username'],
    [{ username: `grace#${branchId}9` }, 'username'],
    [{ username: `core:c-1#${branchId}` }, 'username'],
  ]
  const before = await countRows(db, 'users')
  for (const [fields, field] of tries) {
    const { answer } = await join(path, fields)
    assert.equal(answer.status, 400, field)
    assert.match(answer.text, new RegExp(`name="${field}"[^>]*aria-invalid="true"`), field)
    assert.ok(!answer.text.includes('too short"'))
    if (fields.name) assert.match(answer.text, /name="name" value="Typed &lt;twice&gt;"/)
  }
  assert.equal(await countRows(db, 'users'), before)
  assert.equal((await join(path)).answer.status, 303)
  const { path: other } = await invite(own)
  const { answer } = await join(other, { username: `grace-${people - 1}#${branchId}` })
  assert.match(answer.text, /id="username-problem">It is taken/)
})

test('whoever made their account so is no customer: no account can be held, no source can mean them', async () => {
  const own = await openPartner(house)
  const { path } = await invite(own)
  const { username } = await join(path)
  const { id } = (await findUserByUsername(db, username))!
  const { accountNumber } = (
    await ask<{ accountNumber: string }>(
      db,
      'SELECT account_number AS "accountNumber" FROM accounts WHERE test_of IS NULL LIMIT 1',
    )
  )[0]!
  const hold = `INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
    VALUES ($1, $2, 'owner', '{read}', now(), now())`
  await assert.rejects(ask(db, hold, [id, accountNumber]), { code: 'conflict' })
  const link = `UPDATE users SET source = 'core', external_id = 'C-1' WHERE id = $1`
  await assert.rejects(ask(db, link, [id]), /users_external_id/)
  const rename = `UPDATE users SET username = $2 WHERE role = 'holder'`
  await assert.rejects(
    ask(db, rename.replace('$2', '$1'), [username]),
    /users_username_of_role|users_username_key/,
  )
})

test('a form of another browser makes no account, nor does one after the link has ended', async () => {
  const own = await openPartner(house)
  const { path } = await invite(own)
  const page = await new Browser(house.baseUrl).get(path)
  const thief = new Browser(house.baseUrl)
  await thief.get('/login')
  const sent = await thief.submit(page, `${path}/join`, { name: 'X', username: 'x#1', password: chosen })
  assert.equal(sent.status, 403)
  const late = new Browser(house.baseUrl)
  const shown = await late.get(path)
  house.clock.advance(8 * day)
  const fields = { name: 'Late', username: `late#${own.partner.branchId}`, password: chosen }
  assert.equal((await late.submit(shown, `${path}/join`, fields)).status, 404)
})

test('where customers come from a source, the page says whom to ask, and no form makes an account', async () => {
  const own = await openPartner(house)
  const { path } = await invite(own)
  const early = new Browser(house.baseUrl)
  const form = await early.get(path)
  await ask(db, `UPDATE sources SET heard_at = $1 WHERE name = 'core'`, [house.clock.now()])
  const page = await new Browser(house.baseUrl).get(path)
  assert.match(page.text, /No account\?/)
  assert.match(page.text, /or ask Ada Holder/)
  assert.doesNotMatch(page.text, /name="password"/)
  const fields = { name: 'Grace', username: `grace#${own.partner.branchId}`, password: chosen }
  const before = await countRows(db, 'users')
  assert.equal((await early.submit(form, `${path}/join`, fields)).status, 409)
  assert.equal(await countRows(db, 'users'), before)
})

test('where customers sign in at the identity provider alone, the page says whom to ask', async () => {
  const provided = await openHouse({ HOLDER_SIGN_IN: 'provider' })
  const { db, vault } = provided.gateway.context
  const partner = await provided.makePartner()
  await inviteMember({ db, vault }, partner, { email: 'grace@example.com', role: 'viewer' }, provided.act())
  const { path } = await readInvitation(provided, 'grace@example.com')
  const page = await new Browser(provided.baseUrl).get(path)
  assert.match(page.text, /No account\?/)
  assert.doesNotMatch(page.text, /name="password"/)
})
