/**
 * What an identity provider hands out, roles by its map and customers by its link claim, is handed out by
 * whoever has it.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { factsOf, findProvider, getProvider } from '../../src/identity/provider.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import type { NoticeToSend } from '../../src/notices/post.ts'
import { carryOut, decideProposal } from '../../src/proposals/proposal.ts'
import { setEmail } from '../../src/users/email.ts'
import type { Session } from '../../src/users/session.ts'
import { type StaffRole, staffRoles } from '../../src/vocabulary/permission.ts'
import { ask } from '../support/ask.ts'
import { openConsole, press } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { draftUpstream } from '../support/upstream.ts'
import { tokenOf } from '../support/web.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context
const officer = await openConsole(house, 'Otto Officer', ['security-officer'])
const boss = await openConsole(house, 'Ada Administrator')
await setEmail(db, boss.user, 'ada@broker.example', house.act())

const staffDraft = (role: StaffRole) => ({
  ...{ kind: 'staff', 'roles-claim': 'groups', role: `gateway=${role}`, label: 'Our people' },
  ...{ 'client-id': 'countersign', proof: 'client_secret_basic', secret: 'a secret of theirs' },
})
const holderDraft = {
  ...{ kind: 'holder', 'link-claim': 'customer_id', label: 'Example Bank ID' },
  ...{ 'client-id': 'countersign', proof: 'client_secret_basic', secret: 'a secret of theirs' },
}

async function save({ browser }: typeof officer, fields: Record<string, string>) {
  const name = makeUpWord().toLowerCase()
  const page = await browser.get('/console/providers/new')
  const given = { untested: 'yes', ...fields, name, issuer: `https://127.0.0.1:9/${name}` }
  return { name, answer: await browser.submit(page, '/console/providers/new/create', given) }
}

/** All that somebody who is a security officer holds themselves. */
const heldByOfficer: readonly StaffRole[] = ['viewer', 'security-officer']

for (const role of staffRoles)
  test(`a security officer ${heldByOfficer.includes(role) ? 'maps' : 'does not map'} the role ${role}; an administrator does`, async () => {
    const { name, answer } = await save(officer, staffDraft(role))
    if (heldByOfficer.includes(role)) assert.equal(answer.location, `/console/providers/${name}`, answer.text)
    else {
      assert.equal(answer.status, 403)
      assert.match(
        answer.text,
        /You may not map the role .*: it may do more than you\. Ask an administrator\./,
      )
      await assert.rejects(getProvider(db, name), /There is no identity provider/)
    }
    const byBoss = await save(boss, staffDraft(role))
    assert.equal(byBoss.answer.location, `/console/providers/${byBoss.name}`, byBoss.answer.text)
  })

test('a security officer sets no link claim: it would open the account of every customer', async () => {
  const { name, answer } = await save(officer, holderDraft)
  assert.equal(answer.status, 403)
  assert.match(answer.text, /You may not set a link claim: it opens the accounts of customers\./)
  await assert.rejects(getProvider(db, name), /There is no identity provider/)
  assert.ok((await save(boss, holderDraft)).answer.location)
})

test('what an administrator wrote down, a security officer does not enable', async () => {
  for (const fields of [staffDraft('administrator'), staffDraft('support'), holderDraft]) {
    const { name } = await save(boss, fields)
    const offered = await officer.browser.get(`/console/providers/${name}`)
    assert.ok(!offered.text.includes('/enable"') && offered.text.includes('Ask an administrator.'))
    const forged = { csrf: await tokenOf(officer.browser) }
    const refused = await officer.browser.post(`/console/providers/${name}/enable`, forged)
    assert.equal(refused.status, 403, refused.text)
    assert.equal(await findProvider(db, name), undefined)
    await press(boss.browser, `/console/providers/${name}`, '/enable')
    assert.ok(await findProvider(db, name))
  }
})

const actOf = ({ user }: typeof officer) => ({
  ...{ by: { name: `user:${user.id}` }, at: house.clock.now(), reason: 'Ticket 4711.' },
})
const sessionOf = ({ user }: typeof officer) => {
  const now = house.clock.now()
  return {
    id: 1,
    user,
    proofs: { passwordAt: now, factorAt: undefined },
    firstSeenAt: now,
  } as unknown as Session
}

test('where it takes two, both hold what is handed out', async () => {
  const other = await openConsole(house, 'Olive Officer', ['security-officer'])
  for (const handed of [
    { kind: 'staff', linkClaim: null, rolesClaim: 'groups', roleMap: { all: 'administrator' } },
    { linkClaim: 'customer_id' },
  ] as const) {
    const draft = await draftUpstream(house, handed)
    const values = { providerId: draft.id, ...factsOf(draft) }
    const propose = (by: typeof officer) =>
      carryOut({ db, fourEyes: ['provider.add'] }, 'provider.add', values, actOf(by))
    await assert.rejects(propose(officer), /You may not propose this/)
    const made = await propose(boss)
    assert.ok(made.kind === 'proposed')
    const decide = decideProposal(db, made.id, 'approve', { session: sessionOf(other), act: actOf(other) })
    await assert.rejects(decide, /You may not decide about this/)
    assert.equal(await findProvider(db, draft.name), undefined)
  }
})

test('the log says what a provider hands out, when it is written down and when it is enabled', async () => {
  const staff = await save(boss, staffDraft('support'))
  const holders = await save(boss, holderDraft)
  for (const { name } of [staff, holders]) await press(boss.browser, `/console/providers/${name}`, '/enable')
  const told = async (name: string) =>
    (await findEntries(db, { subject: `provider:${name}` })).map(({ action, details }) => {
      const { rolesClaim, roleMap, linkClaim, linkSource } = details
      return [action, rolesClaim ?? linkClaim, roleMap ?? linkSource]
    })
  assert.deepEqual(await told(staff.name), [
    ['provider.added', 'groups', { gateway: 'support' }],
    ['provider.drafted', 'groups', { gateway: 'support' }],
  ])
  assert.deepEqual(await told(holders.name), [
    ['provider.added', 'customer_id', 'core'],
    ['provider.drafted', 'customer_id', 'core'],
  ])
})

test('administrators are told of every provider that is set up, enabled, given another credential or removed, and of what it hands out', async () => {
  const { name } = await save(boss, staffDraft('support'))
  const page = `/console/providers/${name}`
  await press(boss.browser, page, '/enable')
  await press(boss.browser, page, '/credential', {
    proof: 'client_secret_basic',
    secret: 'another of theirs',
  })
  await press(officer.browser, page, '/remove')
  const text = `SELECT id, email, kind, key, facts, 1 AS attempts, created_at AS "createdAt", 'Ada' AS name
    FROM notices
    WHERE user_id = $1 AND kind = 'power' AND facts ->> 'subject' = $2 ORDER BY id`
  const told = await ask<NoticeToSend>(db, text, [boss.user.id, `provider:${name}`])
  const addresses = { live: 'https://live.example', sandbox: 'https://sandbox.example' }
  const words = told.map((notice) => noticeWords(notice, addresses, vault).text)
  const issuer = `https://127.0.0.1:9/${name}`
  const handsOut = 'with roles by groups (gateway: support)'
  for (const [place, sentence] of [
    `“Ada Administrator” set up identity provider provider:${name} for staff, not enabled yet: ${issuer}, ${handsOut}`,
    `“Ada Administrator” added identity provider provider:${name} for staff: ${issuer}, ${handsOut}`,
    `“Ada Administrator” gave identity provider provider:${name} a new credential (client_secret_basic)`,
    `“Otto Officer” removed identity provider provider:${name}`,
  ].entries())
    assert.ok(words[place]!.replaceAll(/\s+/g, ' ').includes(sentence), words[place])
  assert.equal(told.length, 4)
})
