/** Four eyes as people meet them: what is proposed where it was done before, and decided by somebody else. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { minute } from '../../../src/clock.ts'
import { getClient } from '../../../src/partners/client.ts'
import { applyAsPartner, getPartner } from '../../../src/partners/partner.ts'
import { askForScopes } from '../../../src/partners/scope-request.ts'
import { setEmail } from '../../../src/users/email.ts'
import { findSecondFactors, isGuarded } from '../../../src/users/second-factor.ts'
import { toldBy } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { type ConsoleSession, openConsole, press } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { setUpApp } from '../../support/second-factor.ts'
import { pathOf, tokenOf } from '../../support/web.ts'

const house = await openHouse({ FOUR_EYES: 'all' })
const { db } = house.gateway.context
const maker = await openConsole(house, 'Mary Maker', ['partner-manager', 'support'])
const checker = await openConsole(house, 'Charlie Checker', ['partner-manager', 'support'])

/** Sends the form on the page, and answers the page of the proposal that it made. */
async function propose(
  page: string,
  action: string,
  fields: Record<string, string | string[]> = {},
): Promise<string> {
  const open = await maker.browser.get(page)
  const answer = await maker.browser.submit(open, page + action, { reason: 'Ticket 4711.', ...fields })
  assert.match(answer.location ?? answer.text, /^\/console\/proposals\/\d+$/)
  return answer.location!
}

async function decide(
  { browser }: ConsoleSession,
  proposal: string,
  verdict: 'approve' | 'decline',
): Promise<string> {
  const answer = await press(browser, proposal, `/${verdict}`)
  assert.equal(answer.status, 303, answer.text)
  return toldBy(await browser.get(pathOf(answer)))!.text
}

async function makeApplicant() {
  const partner = await applyAsPartner(db, `Applicant ${makeUpWord()}`, house.act())
  return { partner, page: `/console/partners/${partner.branchId}` }
}

const statusOf = async (branchId: number) => (await getPartner(db, String(branchId))).status

test('to approve a partner takes two: the page offers to propose it, the overview shows it, somebody else approves', async () => {
  const { partner, page } = await makeApplicant()
  assert.match((await maker.browser.get(page)).text, /Propose: Approve/)
  const proposal = await propose(page, '/approve')
  assert.equal(await statusOf(partner.branchId), 'applied')
  for (const { browser } of [maker, checker]) {
    const home = (await browser.get('/console')).text
    assert.ok(home.indexOf(`href="${proposal}"`) < home.indexOf('Needs your attention'), 'on top')
    assert.ok(home.includes(`href="${proposal}"`))
  }
  assert.match((await checker.browser.get(page)).text, /proposed by Mary Maker, waits for a second person/)
  assert.equal(await decide(checker, proposal, 'approve'), 'It is approved and done.')
  assert.equal(await statusOf(partner.branchId), 'approved')
  assert.match(
    (await checker.browser.get(proposal)).text,
    /approved<\/span>[\s\S]*Decided by<\/dt><dd>Charlie Checker/,
  )
})

test('whoever proposed it is offered no decision, and is refused by the domain when they send one', async () => {
  const { partner, page } = await makeApplicant()
  const proposal = await propose(page, '/approve')
  const own = (await maker.browser.get(proposal)).text
  assert.ok(!own.includes(`${proposal}/approve`) && !own.includes(`${proposal}/decline`))
  assert.ok(own.includes(`${proposal}/withdraw`))
  const csrf = await tokenOf(maker.browser)
  const forced = await maker.browser.post(`${proposal}/approve`, { csrf })
  assert.equal(forced.status, 403)
  assert.match(forced.text, /You proposed this yourself/)
  assert.equal(await statusOf(partner.branchId), 'applied')
  assert.equal((await press(maker.browser, proposal, '/withdraw')).status, 303)
  assert.match((await maker.browser.get(proposal)).text, /withdrawn<\/span>/)
})

test('a decision takes a sign-in of minutes ago', async () => {
  const { page } = await makeApplicant()
  const [early, late] = [await openConsole(house, 'Ed Early'), await openConsole(house, 'Lara Late')]
  const answer = await press(early.browser, page, '/approve')
  house.clock.advance(6 * minute)
  const asked = await press(late.browser, answer.location!, '/approve')
  assert.match(asked.location!, /^\/login\?return=.*&confirm=1$/)
})

test('without a reason nothing is proposed', async () => {
  const { page } = await makeApplicant()
  const admin = await openConsole(house)
  const answer = await admin.browser.submit(await admin.browser.get(page), `${page}/approve`, { reason: ' ' })
  assert.equal(answer.status, 400)
  assert.equal((await findEntries(db, { actor: `user:${admin.user.id}`, action: 'proposal.made' })).length, 0)
})

test('a live client goes back to the standard by two people; it is moved up by one, and in the sandbox both ways', async () => {
  const [one, two] = [await openConsole(house, 'One'), await openConsole(house, 'Two')]
  for (const environment of ['live', 'sandbox'] as const) {
    const client = await house.makeClient({ environment })
    await ask(db, "UPDATE clients SET jwks_uri = 'https://app.example.com/jwks' WHERE id = $1", [client.id])
    const page = `/console/partners/${client.branchId}`
    const form = `${page}/clients/${client.id}/profile`
    const send = async (fields: Record<string, string>) => {
      const sent = { bearers: 'end', reason: 'Ticket 4711.', ...fields }
      return (await one.browser.submit(await one.browser.get(page), form, sent)).location
    }
    const profile = async () => (await getClient(db, client.id)).fapi2From !== null
    assert.equal(await send({ profile: 'fapi2' }), page)
    assert.equal(await profile(), true)
    const back = await send({ profile: 'standard' })
    if (environment === 'live') {
      assert.match(back!, /^\/console\/proposals\/\d+$/)
      assert.equal(await profile(), true)
      assert.match((await two.browser.get(back!)).text, /FAPI 2\.0 from .*, bearer tokens end then/)
      await decide(two, back!, 'approve')
    }
    assert.equal(await profile(), false)
  }
})

test('refresh access, wider scopes and a reset of two-factor take two; what takes something away takes one', async () => {
  const [one, two] = [await openConsole(house, 'One'), await openConsole(house, 'Two')]
  const proposeAs = async (page: string, action: string, fields: Record<string, string | string[]> = {}) => {
    const sent = { reason: 'Ticket 4711.', ...fields }
    const answer = await one.browser.submit(await one.browser.get(page), page + action, sent)
    assert.match(answer.location ?? answer.text, /^\/console\/proposals\/\d+$/)
    return answer.location!
  }
  const client = await house.makeClient({ scope: 'read', refresh: false })
  const page = `/console/partners/${client.branchId}`
  const isRefreshing = async () => (await getPartner(db, String(client.branchId))).refreshAccess
  const refresh = await proposeAs(page, '/refresh/grant')
  assert.equal(await isRefreshing(), false)
  await decide(two, refresh, 'approve')
  assert.equal(await isRefreshing(), true)
  assert.equal((await press(one.browser, page, '/refresh/withdraw')).location, page)
  assert.equal(await isRefreshing(), false)

  const scopesOf = async () => (await getClient(db, client.id)).scopesAtMost
  await askForScopes(db, client, { wider: 'trade', reason: 'orders' }, house.act())
  const wider = await proposeAs(page, `/clients/${client.id}/scopes/grant`)
  assert.deepEqual(await scopesOf(), ['read'])
  await decide(two, wider, 'approve')
  assert.deepEqual(await scopesOf(), ['read', 'trade'])
  const set = await proposeAs(page, `/clients/${client.id}/scopes`, { scope: ['read', 'market'] })
  await decide(two, set, 'decline')
  assert.deepEqual(await scopesOf(), ['read', 'trade'])
  const narrowed = await one.browser.submit(
    await one.browser.get(page),
    `${page}/clients/${client.id}/scopes`,
    {
      scope: ['read'],
      reason: 'Less is enough.',
    },
  )
  assert.equal(narrowed.location, page)
  assert.deepEqual(await scopesOf(), ['read'])

  const user = await house.makeUser()
  await setUpApp(house, await house.signIn(user))
  const reset = await proposeAs(`/console/users/${user.id}`, '/factors/reset')
  assert.equal(isGuarded(await findSecondFactors(db, user.id)), true)
  await decide(two, reset, 'approve')
  assert.equal(isGuarded(await findSecondFactors(db, user.id)), false)
})

test('what has changed since is not done, and the answer says so', async () => {
  const [one, two] = [await openConsole(house, 'One'), await openConsole(house, 'Two')]
  const { partner, page } = await makeApplicant()
  const answer = await press(one.browser, page, '/approve')
  await press(two.browser, page, '/decline', { reason: 'Say more.' })
  assert.ok(!(await two.browser.get(answer.location!)).text.includes('/approve"'))
  const forced = await two.browser.post(`${answer.location}/approve`, { csrf: await tokenOf(two.browser) })
  assert.match(
    toldBy(await two.browser.get(pathOf(forced)))!.text,
    /^Nothing was done: something has changed/,
  )
  assert.equal(await statusOf(partner.branchId), 'declined')
})

test('the queue of attention offers no button that takes two people', async () => {
  const { browser } = await openConsole(house)
  const { page } = await makeApplicant()
  const home = (await browser.get('/console')).text
  assert.ok(!home.includes(`action="${page}/approve"`))
  assert.match(home, new RegExp(`href="${page}">Propose…`))
})

test('a proposal about somebody is not there for whoever may not look at people', async () => {
  const [one, other] = [
    await openConsole(house, 'One'),
    await openConsole(house, 'Paul', ['partner-manager']),
  ]
  const user = await house.makeUser()
  await setUpApp(house, await house.signIn(user))
  const { location } = await press(one.browser, `/console/users/${user.id}`, '/factors/reset')
  assert.equal((await other.browser.get(location!)).status, 404)
  assert.ok(!(await other.browser.get('/console/proposals')).text.includes(location!))
  assert.ok(!(await other.browser.get('/console')).text.includes(location!))
  const csrf = await tokenOf(other.browser)
  assert.equal((await other.browser.post(`${location}/approve`, { csrf })).status, 404)
})

test('those who could decide are told by e-mail, and nobody else', async () => {
  const people = {
    maker: await openConsole(house, 'One'),
    decider: await openConsole(house, 'Two', ['partner-manager']),
    auditor: await openConsole(house, 'Three', ['auditor']),
  }
  for (const { user } of Object.values(people))
    await setEmail(db, user, `${user.username}@broker.example`, house.act())
  const { page } = await makeApplicant()
  await press(people.maker.browser, page, '/approve')
  const text = `SELECT user_id AS "userId" FROM notices WHERE kind = 'proposal' AND user_id = ANY ($1)`
  const ids = Object.values(people).map(({ user }) => user.id)
  const told = await ask<{ userId: string }>(db, text, [ids])
  assert.deepEqual(
    told.map(({ userId }) => userId),
    [people.decider.user.id],
  )
})
