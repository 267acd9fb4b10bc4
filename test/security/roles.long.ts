/**
 * What a member may do is what their role lets them do: on every page and endpoint, at every moment, on every
 * node. The last owner stays, whoever writes.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import type { Database } from '../../src/database/database.ts'
import { addMember, listMembers, removeMember, setMemberRole } from '../../src/partners/partner.ts'
import { lockPartner, updateMemberRole } from '../../src/partners/partners.sql.ts'
import { Forbidden } from '../../src/problem.ts'
import { type MemberRole, memberRoles, reaches } from '../../src/vocabulary/member-role.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { ask } from '../support/ask.ts'
import { callJson, type ProblemAnswer, transaction } from '../support/branch.ts'
import { Browser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { crawl, formsOf, makeEverything, rowOf } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { addAs } from '../support/members.ts'
import { openSecondNode } from '../support/oauth.ts'
import { addOwner, openPartner, type PartnerHouse } from '../support/portal.ts'
import { markTables, signInWith, tokenOf } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
const second = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context
/** Writers that no gateway knows of, on connections of their own. */
const [one, other] = [await openWriter(), await openWriter()] as const

function openWriter(): Promise<Database> {
  return keepOpen(openLenientDatabase({ connectionString: house.databaseUrl, connections: 1 }))
}

const lesser = memberRoles.filter((role) => role !== 'owner')
const ofPartner = pageRoutes.filter(({ gate }) => gate.least !== undefined)

/** With words for ids: a role is judged before anything is looked up. */
const addressOf = (path: string, { partner }: PartnerHouse) =>
  path.replace(':branch', String(partner.branchId)).replaceAll(/:\w+/g, '1')

for (const role of lesser) {
  test(`what takes more than a ${role} answers a ${role} with the role it takes and the names of the owners, and does nothing`, async () => {
    const own = await openPartner(house)
    const { user, browser } = await addAs(house, own.partner, role)
    const inSandbox = await house.signIn(user, 'sandbox')
    const csrfs = new Map([browser, inSandbox].map((each) => [each, tokenOf(each)]))
    await Promise.all(csrfs.values())
    const before = await markTables(db)
    const refused = ofPartner.filter(({ gate }) => !reaches(role, gate.least!))
    assert.ok(refused.length >= 6, String(refused.length))
    for (const { method, path, gate, sites } of refused) {
      const address = addressOf(path, own)
      const here = sites.includes('live') ? browser : inSandbox
      const fields = { csrf: (await csrfs.get(here))!, once: 'x'.repeat(22) }
      const answer = method === 'GET' ? await here.get(address) : await here.post(address, fields)
      assert.equal(answer.status, 403, `${method} ${path}`)
      assert.match(answer.text, new RegExp(`<h1>This needs the ${gate.least} role</h1>`), path)
      assert.match(answer.text, new RegExp(`You are a ${role} of ${own.partner.name}`), path)
      assert.ok(
        answer.text.includes(
          `<strong>${own.user.name}</strong> <span class="faint">${own.user.username}</span>`,
        ),
      )
    }
    assert.deepEqual(await markTables(db), before)
  })
}

test('a partner without an owner says so', async () => {
  const partner = await house.makePartner()
  const { browser } = await addAs(house, partner, 'viewer')
  assert.match(
    (await browser.get(`/partner/${partner.branchId}/test`)).text,
    /It has no owner at present\. Ask the brokerage/,
  )
})

test('no page leads a member to what their role is refused: neither by a link nor by a form', async () => {
  const { own, starts } = await makeEverything(house)
  const inPortal = starts.filter((path) => path.startsWith('/partner'))
  const formsSeen: Record<string, number> = {}
  for (const role of memberRoles) {
    const { user, browser } = await addAs(house, own.partner, role)
    // Of another partner they are something else.
    await addMember(db, await house.makePartner(), user, house.act(), role === 'owner' ? 'viewer' : 'owner')
    const roleAt = (address: string) =>
      address.startsWith(own.home) ? role : role === 'owner' ? 'viewer' : 'owner'
    const pages = await crawl(browser, [...inPortal, `${own.home}/clients/${own.client.id}`])
    assert.ok(pages.size > 20, `${role} sees ${pages.size} pages`)
    for (const [path, page] of pages) {
      const links = [...page.text.matchAll(/href="(\/partner\/\d[^"#]*)"/g)].map(([, link]) => link!)
      for (const link of links)
        assert.ok(mayOpen('GET', link, roleAt(link)), `${role}: ${path} leads to ${link}`)
      const forms = formsOf(path, page).filter(({ action }) => /^\/partner\/\d/.test(action))
      for (const { action } of forms)
        assert.ok(mayOpen('POST', action, roleAt(action)), `${role}: ${path} has ${action}`)
      if (path.startsWith(own.home)) formsSeen[role] = (formsSeen[role] ?? 0) + forms.length
    }
  }
  assert.ok(
    formsSeen.viewer! < formsSeen.developer! && formsSeen.developer! < formsSeen.owner!,
    JSON.stringify(formsSeen),
  )
})

function mayOpen(method: 'GET' | 'POST', address: string, role: MemberRole): boolean {
  const row = rowOf(method, address)
  const route = pageRoutes.find((each) => each.method === method && each.path === row)
  assert.ok(route, `${method} ${address}`)
  return route.gate.least === undefined || reaches(role, route.gate.least)
}

const ofBranches = apiRoutes.filter(
  ({ protection, path }) => protection?.tokens === 'personal' && path.startsWith('/v2/'),
)

test('a personal token may do what its user may do: a viewer’s reads, a developer’s writes too', async () => {
  const own = await openPartner(house)
  const call = async (role: MemberRole) => {
    const { user } = await addAs(house, own.partner, role)
    const headers = { authorization: `Bearer ${await house.makeToken(user)}` }
    return async (method: string, path: string) =>
      callJson(
        house.baseUrl + path.replaceAll(/:\w+/g, '1'),
        method as 'GET',
        method === 'GET' ? undefined : {},
        headers,
      )
  }
  const [asViewer, asDeveloper] = [await call('viewer'), await call('developer')]
  assert.ok(ofBranches.length > 20, String(ofBranches.length))
  for (const { method, path } of ofBranches) {
    const refused = await asViewer(String(method), path)
    assert.equal(refused.status === 403, method !== 'GET', `${method} ${path}: ${refused.text}`)
    if (method !== 'GET')
      assert.match(
        refused.json<ProblemAnswer>().error_description,
        /^This needs the developer role, and this user is a viewer\./,
      )
    assert.notEqual((await asDeveloper(String(method), path)).status, 403, `${method} ${path}`)
  }
})

test('whoever gets another role has it with the next request, on pages and by token, on every node', async () => {
  const own = await openPartner(house)
  const { user } = await addAs(house, own.partner, 'developer')
  const headers = { authorization: `Bearer ${await house.makeToken(user)}` }
  const browser = new Browser(second.baseUrl)
  await signInWith(browser, user.username)
  const answers = async () => [
    (await callJson(`${second.baseUrl}/v2/webhooks/transaction`, 'POST', transaction(), headers)).status,
    (await callJson(`${house.baseUrl}/v2/webhooks/transaction`, 'POST', transaction(), headers)).status,
    (await browser.get(`${own.home}/test`)).status,
  ]
  assert.deepEqual(await answers(), [202, 202, 200])
  await setMemberRole(db, own.partner, user, 'viewer', house.act())
  assert.deepEqual(await answers(), [403, 403, 403])
  await setMemberRole(db, own.partner, user, 'developer', house.act())
  assert.deepEqual(await answers(), [202, 202, 200])
})

test('an owner who waits for the one who demotes them is refused when their turn comes', async () => {
  for (const change of ['role', 'remove'] as const) {
    const own = await openPartner(house)
    const rival = await addOwner(house, own.partner)
    const by = { by: { name: `user:${own.user.id}` }, at: house.clock.now() }
    let waiting: Promise<unknown> | undefined
    await db.transaction(async (sql) => {
      await sql.query(lockPartner, { branchId: own.partner.branchId })
      waiting = (
        change === 'role'
          ? setMemberRole(db, own.partner, own.user, 'owner', by)
          : removeMember(db, own.partner, rival, by)
      ).catch((error: unknown) => error)
      await eventually('somebody who waits for the lock', async () => (await run(selectWaiting)).length > 0)
      await sql.query(updateMemberRole, {
        branchId: own.partner.branchId,
        userId: own.user.id,
        role: 'viewer',
      })
    })
    assert.ok((await waiting) instanceof Forbidden, change)
    assert.equal(await ownersOf(own), 1)
  }
})

const selectWaiting = `SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE NOT l.granted AND a.datname = current_database()`
const run = (text: string) => ask(second.context.db, text)

const ownersOf = async ({ partner }: PartnerHouse) =>
  (await listMembers(db, partner)).filter(({ role }) => role === 'owner').length

test('of two owners who demote each other at the same moment, on two nodes, one stays an owner', async () => {
  for (let round = 0; round < 5; round++) {
    const own = await openPartner(house)
    const rival = await addOwner(house, own.partner)
    const there = new Browser(second.baseUrl)
    await signInWith(there, rival.username)
    const sides = [
      { browser: own.browser, user: rival.id },
      { browser: there, user: own.user.id },
    ]
    const pages = await Promise.all(sides.map(({ browser }) => browser.get(`${own.home}/members`)))
    const act = round % 2 === 0 ? 'role' : 'remove'
    const answers = await Promise.all(
      sides.map(({ browser, user }, side) =>
        browser.submit(pages[side]!, `${own.home}/members/${act}`, { user, role: 'viewer' }),
      ),
    )
    assert.equal(await ownersOf(own), 1)
    // Whoever comes second is refused by the rule, or by the gate when it is over already.
    const statuses = answers.map(({ status }) => status).sort()
    assert.equal(statuses[0], 303)
    assert.ok([403, 404, 409].includes(statuses[1]!), String(statuses))
  }
})

const demote = `UPDATE partner_members SET role = 'viewer' WHERE branch_id = $1 AND user_id = $2`
const remove = 'DELETE FROM partner_members WHERE branch_id = $1 AND user_id = $2'
const lastOwner = /last owner of a partner|could not serialize access/

for (const [what, change] of Object.entries({ demoted: demote, removed: remove }))
  for (const isolation of ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'])
    test(`two owners ${what} by hand at once, at ${isolation.toLowerCase()}: the second waits, and is refused`, async () => {
      const own = await openPartner(house)
      const rival = await addOwner(house, own.partner)
      const began = Promise.withResolvers<void>()
      const over = new AbortController()
      const first = one.transaction(async (sql) => {
        await sql.script(`SET TRANSACTION ISOLATION LEVEL ${isolation}`)
        await ask(sql, change, [own.partner.branchId, rival.id])
        began.resolve()
        await untilSomebodyWaits(over.signal)
      })
      await began.promise
      const late = other.transaction(async (sql) => {
        await sql.script(`SET TRANSACTION ISOLATION LEVEL ${isolation}`)
        // Its snapshot is of before: it still sees two of them.
        await ask(sql, 'SELECT count(*) FROM partner_members')
        await ask(sql, change, [own.partner.branchId, own.user.id])
      })
      await assert.rejects(
        late.finally(() => over.abort()),
        lastOwner,
      )
      await first
      assert.equal(await ownersOf(own), 1)
    })

/** For a lock of somebody else. */
async function untilSomebodyWaits(over: AbortSignal): Promise<void> {
  const blocked = `SELECT FROM pg_stat_activity WHERE datname = current_database()
      AND cardinality(pg_blocking_pids(pid)) > 0`
  await eventually('somebody waits', async () => over.aborted || (await ask(db, blocked)).length > 0)
}

test('all owners at once, whoever deletes or moves them, is refused', async () => {
  const own = await openPartner(house)
  await addOwner(house, own.partner)
  const branch = [own.partner.branchId]
  const everybody = {
    delete: 'DELETE FROM partner_members WHERE branch_id = $1',
    demote: `UPDATE partner_members SET role = 'developer' WHERE branch_id = $1`,
  }
  for (const text of Object.values(everybody)) await assert.rejects(ask(one, text, branch), lastOwner)
  const elsewhere = 'UPDATE partner_members SET branch_id = $2 WHERE branch_id = $1'
  await assert.rejects(ask(one, elsewhere, [...branch, (await house.makePartner()).branchId]), lastOwner)
  assert.equal(await ownersOf(own), 2)
})
