/**
 * Nobody of the staff acts on a partner of their own, and a proposal is decided on what it was made on, which
 * its page shows.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { day } from '../../src/clock.ts'
import { getClient, updateClient } from '../../src/partners/client.ts'
import {
  addMember,
  applyAsPartner,
  getPartner,
  printSeen,
  removeMember,
  setPartnerStatus,
} from '../../src/partners/partner.ts'
import { askForScopes, findOpenScopeRequest } from '../../src/partners/scope-request.ts'
import { proposableActs } from '../../src/proposals/acts.ts'
import { carryOut, decideProposal, getProposal } from '../../src/proposals/proposal.ts'
import { setEmail } from '../../src/users/email.ts'
import type { Session } from '../../src/users/session.ts'
import type { User } from '../../src/users/user.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { toldBy } from '../support/answers.ts'
import { ask } from '../support/ask.ts'
import { openConsole, press } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { setUpApp } from '../support/second-factor.ts'
import { pathOf, tokenOf } from '../support/web.ts'
import { forms } from '../web/console/rows.ts'

const house = await openHouse()
const four = await openHouse({ FOUR_EYES: 'all' })
const { db } = house.gateway.context
const refused = /You are a member of this partner, or were one in the last 30 days/

const managed = pageRoutes.filter(
  ({ method, gate }) => method === 'POST' && gate.permission === 'partners.manage',
)
const branchIn = (address: string) => /^\/console\/partners\/(\d+)/.exec(address)![1]!

test('whoever is a member sends none of the forms by which staff manage a partner; a colleague sends each', async () => {
  const [insider, colleague] = [
    await openConsole(house, 'Ina Insider', ['partner-manager']),
    await openConsole(house),
  ]
  assert.ok(managed.length > 10)
  for (const { path } of managed) {
    const { address, fields = {} } = await forms[path]!(house, insider.user)
    await addMember(db, await getPartner(db, branchIn(address)), insider.user, house.act(), 'viewer')
    const before = await findEntries(db, { actor: `user:${insider.user.id}`, limit: 1_000 })
    const sent = async ({ browser }: typeof insider) => {
      const all = { reason: 'Asked for.', ...fields, csrf: await tokenOf(browser) }
      return browser.post(address, all)
    }
    const answer = await sent(insider)
    assert.equal(answer.status, 403, path)
    assert.match(answer.text, refused, path)
    assert.deepEqual(await findEntries(db, { actor: `user:${insider.user.id}`, limit: 1_000 }), before, path)
    assert.equal((await sent(colleague)).status, 303, path)
  }
})

test('the page of their own partner says so, and offers nothing', async () => {
  const { user, browser } = await openConsole(house, 'Ina Insider', ['partner-manager'])
  const client = await house.makeClient()
  const address = `/console/partners/${client.branchId}`
  assert.ok((await browser.get(address)).text.includes(`action="${address}`))
  await addMember(db, await getPartner(db, String(client.branchId)), user, house.act())
  const page = await browser.get(address)
  assert.equal(page.status, 200)
  assert.match(page.text, refused)
  assert.ok(!page.text.includes(`action="${address}`), page.text)
  const look = await browser.get(`${address}/clients/${client.id}/look`)
  assert.ok(!look.text.includes(`action="${address}`))
})

test('whoever leaves to decide, or shares the address of a member, gives it nothing; who shares an address may take away', async () => {
  const { user, browser } = await openConsole(house, 'Ina Insider', ['partner-manager'])
  const { branchId } = await house.makePartner({ refresh: false })
  const partner = await getPartner(db, String(branchId))
  const grant = async () => {
    const from = await house.signIn(user)
    return (await from.post(`/console/partners/${branchId}/refresh/grant`, { csrf: await tokenOf(from) }))
      .status
  }
  await addMember(db, partner, await house.makeUser(), house.act())
  await addMember(db, partner, user, house.act())
  await removeMember(db, partner, user, house.act())
  assert.equal(
    (await browser.post(`/console/partners/${branchId}/refresh/grant`, { csrf: await tokenOf(browser) }))
      .status,
    403,
  )
  house.clock.advance(31 * day)
  const other = await house.makeUser()
  await addMember(db, partner, other, house.act(), 'viewer')
  for (const each of [user, other]) await setEmail(db, each, `Same.${branchId}@example.com`, house.act())
  assert.equal(await grant(), 403)
  // A member who takes an address is not out of its holder's reach.
  const from = await house.signIn(user)
  const taken = await from.post(`/console/partners/${branchId}/suspend`, {
    csrf: await tokenOf(from),
    reason: 'Ticket 4711.',
    seen: printSeen(await getPartner(db, String(branchId))),
  })
  assert.equal(taken.status, 303)
  assert.equal((await getPartner(db, String(branchId))).status, 'suspended')
  await setPartnerStatus(db, partner, 'approved', undefined, house.act())
  // Nor does another address make them somebody else, whose ever it is, or that the other one leaves.
  await setEmail(db, other, 'other@example.com', house.act())
  assert.equal(await grant(), 403)
  await setEmail(db, user, 'own@example.com', house.act())
  await removeMember(db, partner, other, house.act())
  assert.equal(await grant(), 403)
  house.clock.advance(31 * day)
  assert.equal(await grant(), 303)
})

const inFour = four.gateway.context.db
const actOf = ({ id }: User) => ({ by: { name: `user:${id}` }, at: four.clock.now(), reason: 'Ticket 4711.' })
const decide = (id: number, user: User) => {
  const now = four.clock.now()
  const proofs = { passwordAt: now, factorAt: now }
  const session = { id: 1, user, proofs, firstSeenAt: now } as unknown as Session
  return decideProposal(inFour, id, 'approve', { session, act: actOf(user) })
}

test('nobody proposes or decides about a partner of their own, nor is done what somebody proposed who has joined since', async () => {
  const [insider, one, two] = [await openConsole(four), await openConsole(four), await openConsole(four)]
  const partner = await applyAsPartner(inFour, `Applicant ${makeUpWord()}`, four.act())
  await addMember(inFour, partner, insider.user, four.act())
  const values = { branchId: partner.branchId, seen: printSeen(partner) }
  const propose = (by: User) =>
    carryOut({ db: inFour, fourEyes: ['partner.approve'] }, 'partner.approve', values, actOf(by))
  await assert.rejects(propose(insider.user), refused)
  await assert.rejects(
    carryOut({ db: inFour, fourEyes: [] }, 'partner.approve', values, actOf(insider.user)),
    refused,
  )
  const made = await propose(one.user)
  assert.ok(made.kind === 'proposed')
  await assert.rejects(decide(made.id, insider.user), refused)
  const page = await insider.browser.get(`/console/proposals/${made.id}`)
  assert.match(page.text, refused)
  assert.ok(!page.text.includes('/approve"'))
  await addMember(inFour, partner, one.user, four.act())
  assert.equal(await decide(made.id, two.user), 'outdated')
  assert.equal((await getPartner(inFour, String(partner.branchId))).status, 'applied')
})

/** What is shown of each kind, and how it changes under a proposal. */
const cases: readonly (readonly [
  what: string,
  make: () => Promise<{
    page: string
    action: string
    fields?: Record<string, string>
    change(): Promise<unknown>
    before: string
    after: string
  }>,
])[] = [
  [
    'the callback of a client whose scopes are widened',
    () => onClient({ callbackUrl: 'https://evil.example/cb' }),
  ],
  ['the name of a client whose scopes are widened', () => onClient({ name: 'The Brokerage Itself' })],
  [
    'the name of a partner that is approved',
    async () => {
      const name = `Applicant ${makeUpWord()}`
      const { branchId } = await applyAsPartner(inFour, name, four.act())
      const rename = `UPDATE partners SET name = $2 WHERE branch_id = $1`
      const after = `The Brokerage ${makeUpWord()}`
      const change = () => ask(inFour, rename, [branchId, after])
      return { page: `/console/partners/${branchId}`, action: '/approve', change, before: name, after }
    },
  ],
  [
    'the address of somebody whose two-factor sign-in is reset',
    async () => {
      const user = await four.makeUser()
      const [before, after] = ['before@example.com', 'after@example.com']
      await setEmail(inFour, user, before, actOf(user))
      await setUpApp(four, await four.signIn(user))
      const change = () => setEmail(inFour, user, after, actOf(user))
      return { page: `/console/users/${user.id}`, action: '/factors/reset', change, before, after }
    },
  ],
]

async function onClient(changed: { readonly callbackUrl?: string; readonly name?: string }) {
  const client = await four.makeClient({ scope: 'read' })
  await askForScopes(inFour, client, { wider: 'trade', reason: 'orders' }, four.act())
  const { id } = (await findOpenScopeRequest(inFour, client.id))!
  const now = await getClient(inFour, client.id)
  const draft = {
    name: now.name,
    callbackUrl: now.callbackUrl,
    scope: 'read',
    rotateRefreshTokens: false,
    ...changed,
  }
  const change = () => updateClient(inFour, now, draft, { ...four.act(), development: true })
  const [[field, after]] = Object.entries(changed) as [['name' | 'callbackUrl', string]]
  const page = `/console/partners/${client.branchId}`
  return {
    page,
    action: `/clients/${client.id}/scopes/grant`,
    fields: { request: String(id) },
    change,
    before: now[field],
    after,
  }
}

for (const [what, make] of cases)
  test(`a decision shows ${what} as it was proposed on; changed meanwhile, that is told, and nothing is done`, async () => {
    const [one, two] = [await openConsole(four), await openConsole(four)]
    const { page, action, fields, change, before, after } = await make()
    const { location } = await press(one.browser, page, action, fields)
    const shown = await two.browser.get(location!)
    assert.ok(shown.text.includes(before), shown.text)
    assert.ok(shown.text.includes(`${location}/approve"`))
    await change()
    const changed = await two.browser.get(location!)
    assert.match(
      changed.text,
      /Something has changed since it was proposed: approved, nothing would be done\./,
    )
    assert.ok(changed.text.includes(`: “${before}”, now “${after}”`), changed.text)
    assert.ok(!changed.text.includes(`${location}/approve"`))
    const forced = await two.browser.post(`${location}/approve`, { csrf: await tokenOf(two.browser) })
    assert.match(
      toldBy(await two.browser.get(pathOf(forced)))!.text,
      /^Nothing was done: something has changed/,
    )
  })

test('every kind that is proposed says what its decision shows, and names first whom or what it is about', async () => {
  const rows = await ask<{ id: number }>(inFour, 'SELECT id FROM proposals ORDER BY id')
  for (const { id } of rows) {
    const { shows } = JSON.parse((await getProposal(inFour, id)).state)
    assert.ok(
      ['Partner', 'Client', 'Person', 'Source', 'Name'].includes(Object.keys(shows)[0]!),
      JSON.stringify(shows),
    )
  }
  assert.ok(rows.length > 3)
  for (const act of Object.values(proposableActs))
    assert.equal('branchOf' in act, act.sees === 'partners.see')
})
