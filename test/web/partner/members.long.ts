/** Members of a partner: their roles, and the invitations by mail that make new ones. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, minute } from '../../../src/clock.ts'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { issueLink, linkPath } from '../../../src/notices/invitation-link.ts'
import { inviteMember, listInvitations } from '../../../src/partners/invitation.ts'
import { listMembers, removeMember, setMemberRole } from '../../../src/partners/partner.ts'
import { setEmail } from '../../../src/users/email.ts'
import { setUserStatus } from '../../../src/users/user.ts'
import type { MemberRole } from '../../../src/vocabulary/member-role.ts'
import { ask } from '../../support/ask.ts'
import { type Answer, Browser } from '../../support/browser.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { addAs, readInvitation } from '../../support/members.ts'
import { makeReader, noticesOf } from '../../support/notices.ts'
import { openSecondNode } from '../../support/oauth.ts'
import { addOwner, openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { countRows, markTables, pathOf, signInWith, tokenOf } from '../../support/web.ts'

const house = await openHouse({ ROLES: 'api' })
const second = await keepOpen(openSecondNode(house))
const { context } = house.gateway
const { db } = context

let people = 0
const newAddress = () => `invited-${++people}@example.com`

async function at(
  { browser, home }: PartnerHouse,
  act: string,
  fields: Record<string, string>,
): Promise<Answer> {
  return browser.submit(await browser.get(`${home}/members`), `${home}/members/${act}`, fields)
}

/** Whether or not the page offers it. */
async function press(
  { browser, home }: PartnerHouse,
  act: string,
  fields: Record<string, string>,
): Promise<Answer> {
  return browser.post(`${home}/members/${act}`, { csrf: await tokenOf(browser), ...fields })
}

/** Answers the path of the link. */
async function inviteTo(
  own: PartnerHouse,
  role: MemberRole = 'developer',
  email = newAddress(),
): Promise<string> {
  const sent = await at(own, 'invite', { email, role })
  assert.equal(sent.location, `${own.home}/members`, sent.text)
  return (await readInvitation(house, email)).path
}

const rolesOf = async ({ partner }: PartnerHouse) =>
  Object.fromEntries((await listMembers(db, partner)).map(({ id, role }) => [id, role]))

const goneTitle = /<h1>This invitation no longer works<\/h1>/

async function isOpen(path: string): Promise<boolean> {
  const page = await (await house.signIn(await house.makeUser())).get(path)
  assert.equal(page.status, goneTitle.test(page.text) ? 404 : 200)
  return page.status === 200
}

test('an owner invites by mail; whoever follows the link signs in, sees partner and role, and becomes a member by accepting', async () => {
  const own = await openPartner(house)
  const path = await inviteTo(own, 'viewer')
  const invited = await house.makeUser()
  const browser = new Browser(house.baseUrl)
  const asked = await browser.get(path)
  const login = `/login?return=${encodeURIComponent(path)}`
  assert.ok(asked.text.includes(`href="${login}"`))
  assert.equal(pathOf(await signInWith(browser, invited.username, { path: login })), path)
  const before = await markTables(db)
  const page = await browser.get(path)
  assert.match(page.text, new RegExp(`<h1>${own.partner.name} invites you</h1>`))
  assert.match(page.text, /<strong>viewer<\/strong><br>Sees everything and changes nothing\./)
  assert.match(page.text, new RegExp(`<dt>Invited by</dt><dd>${own.user.name}</dd>`))
  assert.match(page.text, new RegExp(invited.username))
  assert.deepEqual(await markTables(db), before, 'opening it does nothing')
  assert.equal((await browser.get(own.home)).status, 404, 'an invitation alone opens nothing')
  const accepted = await browser.submit(page, `${path}/accept`, {})
  assert.equal(accepted.location, own.home)
  assert.equal((await browser.get(own.home)).status, 200)
  assert.equal((await rolesOf(own))[invited.id], 'viewer')
  assert.match((await own.browser.get(`${own.home}/members`)).text, new RegExp(invited.username))
})

test('whoever declines is no member, and the link works no more', async () => {
  const own = await openPartner(house)
  const path = await inviteTo(own)
  const invited = await house.makeUser()
  const browser = await house.signIn(invited)
  const declined = await browser.submit(await browser.get(path), `${path}/decline`, {})
  assert.equal(declined.location, '/partner')
  assert.equal(await isOpen(path), false)
  assert.equal((await browser.get(own.home)).status, 404)
})

test('no answer tells whether an address is that of a user, nor of which', async () => {
  const own = await openPartner(house)
  const [reader, member] = [await makeReader(house), await addOwner(house, own.partner)]
  await setEmail(db, member, 'member@example.com', house.act())
  const answers = []
  for (const email of [reader.email, 'member@example.com', newAddress()]) {
    const began = await countRows(db, 'notices')
    const { status, location } = await at(own, 'invite', { email, role: 'viewer' })
    const page = await own.browser.get(`${own.home}/members`)
    answers.push({
      status,
      location,
      written: (await countRows(db, 'notices')) - began,
      says: saysOf(page, email),
    })
    assert.doesNotMatch(page.text, new RegExp(`${reader.username}|${reader.id}`))
  }
  assert.deepEqual(answers[1], answers[0])
  assert.deepEqual(answers[2], answers[0])
})

/** What stands in the list about an address. */
function saysOf({ text }: Answer, email: string): string {
  const [, row] = new RegExp(`<li><div><strong class="address">${email}</strong>(.*?)<br>`).exec(text)!
  return row!
}

test('a link counts once: of several who accept at once, on two nodes, one becomes a member', async () => {
  const own = await openPartner(house)
  const path = await inviteTo(own)
  const users = await Promise.all(Array.from({ length: 4 }, () => house.makeUser()))
  const tries = users.map(async (user, place) => {
    const browser = place % 2 === 0 ? await house.signIn(user) : new Browser(second.baseUrl)
    if (place % 2 === 1) await signInWith(browser, user.username)
    return { browser, page: await browser.get(path) }
  })
  const opened = await Promise.all(tries)
  const answers = await Promise.all(
    opened.map(({ browser, page }) => browser.submit(page, `${path}/accept`, {})),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 404, 404, 404])
  assert.equal(Object.keys(await rolesOf(own)).length, 2)
})

test('a link ends after seven days, and when its invitation is withdrawn or sent again', async () => {
  const own = await openPartner(house)
  const [withdrawn, email] = [newAddress(), newAddress()]
  const first = await inviteTo(own, 'viewer', withdrawn)
  const numberOf = async (address: string) =>
    String(
      (await listInvitations(db, own.partner, house.clock.now())).find((each) => each.email === address)!.id,
    )
  assert.equal(await isOpen(first), true)
  await at(own, 'uninvite', { invitation: await numberOf(withdrawn) })
  assert.equal(await isOpen(first), false)
  const old = await inviteTo(own, 'viewer', email)
  assert.equal(
    (await at(own, 'resend', { invitation: await numberOf(email) })).location,
    `${own.home}/members`,
  )
  const renewed = (await readInvitation(house, email)).path
  assert.deepEqual([await isOpen(old), await isOpen(renewed)], [false, true])
  house.clock.advance(7 * day - minute)
  assert.equal(await isOpen(renewed), true)
  house.clock.advance(minute)
  assert.equal(await isOpen(renewed), false)
  const owner = { ...own, browser: await house.signIn(own.user) }
  assert.match((await owner.browser.get(`${own.home}/members`)).text, /no longer works/)
  await at(owner, 'resend', { invitation: await numberOf(email) })
  assert.equal(await isOpen((await readInvitation(house, email)).path), true)
  house.clock.advance(37 * day)
  assert.ok((await removeDead(context)).invitations > 0)
  assert.deepEqual(await listInvitations(db, own.partner, house.clock.now()), [])
})

test('a link that was never sent looks like one that has ended', async () => {
  const browser = await house.signIn(await house.makeUser())
  const forged = linkPath(issueLink(context.vault).token.text)
  const ended = await inviteTo(await openPartner(house))
  await ask(db, 'DELETE FROM invitations')
  const [one, other] = [await browser.get(forged), await browser.get(ended)]
  assert.equal(one.status, 404)
  const mainOf = ({ text }: Answer) => /<main.*<\/main>/s.exec(text)![0]
  assert.equal(mainOf(one), mainOf(other))
  for (const word of ['x', '%00', 'a'.repeat(53)])
    assert.equal((await browser.get(`/partner/invitation/${word}`)).status, 404)
})

const leaving: Record<string, (own: PartnerHouse) => Promise<unknown>> = {
  'is removed': ({ partner, user }) => removeMember(db, partner, user, house.act()),
  'is an owner no more': ({ partner, user }) => setMemberRole(db, partner, user, 'developer', house.act()),
  'is locked out': ({ user }) => setUserStatus(db, user, 'disabled', house.act()),
  'acts for a partner that is suspended': ({ partner }) => suspend(house, partner, 'a test'),
}

for (const [what, leave] of Object.entries(leaving)) {
  test(`whoever ${what} leaves no way in behind: the links that they sent no longer work`, async () => {
    const own = await openPartner(house)
    await addOwner(house, own.partner)
    const path = await inviteTo(own, 'owner')
    const browser = await house.signIn(await house.makeUser())
    const page = await browser.get(path)
    await leave(own)
    const accepted = await browser.submit(page, `${path}/accept`, {})
    assert.equal(accepted.status, 404)
    assert.match(accepted.text, goneTitle)
    assert.equal(await isOpen(path), false)
  })
}

test('a member who follows a link gets no other role by it, is offered nothing, and uses nothing up', async () => {
  const own = await openPartner(house)
  const { user, browser } = await addAs(house, own.partner, 'viewer')
  const path = await inviteTo(own, 'owner')
  const page = await browser.get(path)
  assert.match(page.text, /You are a member of .* already/)
  assert.doesNotMatch(page.text, /\/accept/)
  const stranger = await house.signIn(await house.makeUser())
  const once = /name="once" value="([^"]+)"/.exec((await stranger.get(path)).text)![1]!
  assert.equal((await browser.post(`${path}/accept`, { csrf: await tokenOf(browser), once })).status, 409)
  assert.equal((await rolesOf(own))[user.id], 'viewer')
  assert.equal(await isOpen(path), true)
})

test('a partner sends twenty invitations a day, and nobody gets more than five, by whomever', async () => {
  const own = await openPartner(house)
  const act = { by: { name: `user:${own.user.id}` }, at: house.clock.now() }
  for (let n = 0; n < 20; n++)
    await inviteMember(context, own.partner, { email: newAddress(), role: 'viewer' }, act)
  const beyond = await at(own, 'invite', { email: newAddress(), role: 'viewer' })
  assert.equal(beyond.status, 429)
  assert.match(beyond.text, /20 invitations were sent within a day\. Try again tomorrow\./)
  const victim = newAddress()
  const partners = await Promise.all(Array.from({ length: 8 }, () => openPartner(house)))
  const tries = partners.map((each) => at(each, 'invite', { email: victim.toUpperCase(), role: 'viewer' }))
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [303, 303, 303, 303, 303, 429, 429, 429])
  house.clock.advance(day + minute)
  const owner = { ...own, browser: await house.signIn(own.user) }
  assert.equal((await at(owner, 'invite', { email: victim, role: 'viewer' })).status, 303)
})

test('withdrawing and inviting again sends no more than the limits allow', async () => {
  const own = await openPartner(house)
  const email = newAddress()
  const statuses = []
  for (let n = 0; n < 6; n++) {
    const [open] = await listInvitations(db, own.partner, house.clock.now())
    if (open) await at(own, 'uninvite', { invitation: String(open.id) })
    statuses.push((await at(own, 'invite', { email, role: 'viewer' })).status)
  }
  assert.deepEqual(statuses, [303, 303, 303, 303, 303, 429])
})

test('a partner has fifty members and invitations at most', async () => {
  const own = await openPartner(house)
  const fill = `INSERT INTO invitations (branch_id, email, role, token_hash, invited_at, sent_at, expires_at)
    SELECT $1, n || '@friends.example', 'viewer', sha256(convert_to(format('%s %s', $1::int, n), 'UTF8')), $2, $2,
      $2::timestamptz + interval '7 days'
    FROM generate_series(1, 48) n`
  await ask(db, fill, [own.partner.branchId, house.clock.now()])
  // Each has the form open before the first is full.
  const path = `${own.home}/members`
  const pages = [await own.browser.get(path), await own.browser.get(path), await own.browser.get(path)]
  const answers = await Promise.all(
    pages.map((page) => own.browser.submit(page, `${path}/invite`, { email: newAddress(), role: 'viewer' })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 409, 409])
})

test('what is wrong with an invitation stands beside its field, and what was typed stays', async () => {
  const own = await openPartner(house)
  const wrong = await at(own, 'invite', { email: 'nobody', role: 'viewer' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="email-problem">It must be an e-mail address/)
  assert.match(wrong.text, /name="email" value="nobody"/)
  assert.match(wrong.text, /<option value="viewer" selected>/)
  const email = newAddress()
  await inviteTo(own, 'viewer', email)
  const twice = await at(own, 'invite', { email: email.toUpperCase(), role: 'owner' })
  assert.match(twice.text, /id="email-problem">It is invited already\. Send that invitation again instead\./)
  assert.equal((await at(own, 'invite', { email: newAddress(), role: 'king' })).status, 400)
})

test('owners are told by mail who joined; whoever joined, and other members, are not', async () => {
  const own = await openPartner(house)
  const readers = {
    owner: own.user,
    viewer: (await addAs(house, own.partner, 'viewer')).user,
    joined: await makeReader(house),
  }
  await setEmail(db, readers.owner, newAddress(), house.act())
  await setEmail(db, readers.viewer, newAddress(), house.act())
  const path = await inviteTo(own, 'owner')
  const browser = await house.signIn(readers.joined)
  await browser.submit(await browser.get(path), `${path}/accept`, {})
  const told = async (user: { id: string }) =>
    (await noticesOf(db, user)).filter(({ kind }) => kind === 'member-joined').map(({ facts }) => facts)
  const { name, branchId } = own.partner
  assert.deepEqual(await told(readers.owner), [
    { partner: name, branchId, name: readers.joined.name, role: 'owner' },
  ])
  assert.deepEqual([await told(readers.viewer), await told(readers.joined)], [[], []])
})

test('an owner changes roles and removes; everybody may leave', async () => {
  const own = await openPartner(house)
  const { user, browser } = await addAs(house, own.partner, 'viewer')
  await at(own, 'role', { user: user.id, role: 'developer' })
  assert.equal((await rolesOf(own))[user.id], 'developer')
  assert.equal((await browser.get(`${own.home}/test`)).status, 200)
  const left = await browser.submit(await browser.get(`${own.home}/members`), `${own.home}/members/leave`, {})
  assert.equal(left.location, '/partner')
  assert.equal((await browser.get(own.home)).status, 404)
  const other = await addAs(house, own.partner, 'owner')
  await at(own, 'remove', { user: other.user.id })
  assert.equal((await other.browser.get(own.home)).status, 404, 'with the next request')
  const again = await press(own, 'remove', { user: other.user.id })
  assert.equal(again.status, 303, 'a second click finds it done')
})

test('the last owner stays, is not offered to leave, and is told why when they try', async () => {
  const own = await openPartner(house)
  await addAs(house, own.partner, 'developer')
  const page = await own.browser.get(`${own.home}/members`)
  assert.match(page.text, /the last owner cannot leave/)
  assert.doesNotMatch(page.text, /members\/leave/)
  assert.doesNotMatch(page.text, new RegExp(`name="user" value="${own.user.id}"`))
  const tries = {
    leave: await press(own, 'leave', {}),
    remove: await press(own, 'remove', { user: own.user.id }),
    role: await press(own, 'role', { user: own.user.id, role: 'viewer' }),
  }
  for (const [act, { status, text }] of Object.entries(tries)) {
    assert.equal(status, 409, act)
    assert.match(text, /is the last owner of .*\. Make another member an owner first\./, act)
  }
})

test('with as many members and invitations as there may be, no other is offered, nor one that ended again', async () => {
  const own = await openPartner(house)
  const page = async () => (await own.browser.get(`${own.home}/members`)).text
  const fill = (from: number, to: number) =>
    db.script(`WITH made AS (INSERT INTO users (id, username, name, password_hash, created_at, updated_at)
      SELECT 'id-' || lpad((990000 + n)::text, 12, '0'), 'full-' || n, 'One of many', '', now(), now()
        FROM generate_series(${from}, ${to}) n RETURNING id)
    INSERT INTO partner_members (branch_id, user_id, role, added_at)
      SELECT ${own.partner.branchId}, id, 'viewer', now() FROM made`)
  await inviteTo(own)
  await fill(1, 47)
  assert.match(await page(), /members\/invite"/)
  await fill(48, 48)
  const full = await page()
  assert.doesNotMatch(full, /members\/invite"/)
  assert.match(full, /A partner has at most 50 members and invitations\./)
  assert.match(full, /members\/resend"/, 'one that is open is counted already')
  house.clock.advance(8 * day)
  await fill(49, 49)
  const ended = (await (await house.signIn(own.user)).get(`${own.home}/members`)).text
  assert.doesNotMatch(ended, /members\/(invite|resend)"/)
  assert.match(ended, /members\/uninvite"/)
})
