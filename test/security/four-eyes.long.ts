/**
 * Four eyes, in the domain: one proposes, another decides, and what is done is what was proposed on the state
 * that it was proposed on.
 */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type Act, findEntries } from '../../src/audit/audit.ts'
import { day, minute, second } from '../../src/clock.ts'
import { violates } from '../../src/database/database.ts'
import {
  factsOf,
  findProvider,
  getProvider,
  type Provider,
  removeProvider,
  replaceCredential,
} from '../../src/identity/provider.ts'
import { getClient, setScopesAtMost } from '../../src/partners/client.ts'
import {
  applyAsPartner,
  getPartner,
  type Partner,
  printSeen,
  setPartnerStatus,
} from '../../src/partners/partner.ts'
import { askForScopes, findOpenScopeRequest } from '../../src/partners/scope-request.ts'
import type { ProposedActs, WiredKind } from '../../src/proposals/acts.ts'
import {
  carryOut,
  type DecisionResult,
  decideProposal,
  getProposal,
  listOpenProposals,
  outcomeOf,
  withdrawProposal,
} from '../../src/proposals/proposal.ts'
import { getImport, type Import } from '../../src/provisioning/import.ts'
import { stopImport } from '../../src/provisioning/snapshot.ts'
import { findSecondFactors, isGuarded } from '../../src/users/second-factor.ts'
import type { Session } from '../../src/users/session.ts'
import { getStaffMember, type StaffRole, takeRole } from '../../src/users/staff-role.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { proposalKinds } from '../../src/vocabulary/proposal-kind.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { holdSnapshot, households, importLines } from '../support/imports.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { readSource } from '../support/provisioning.ts'
import { setUpApp } from '../support/second-factor.ts'
import { draftUpstream, registerUpstream } from '../support/upstream.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context
const fourEyes = proposalKinds

/** Somebody of the staff who signed in a moment ago. */
interface Person {
  readonly user: User
  readonly act: Act & { readonly reason: string }
  readonly session: Session
}

async function makePerson(...roles: StaffRole[]): Promise<Person> {
  const user = await house.makeOperator('Stan Staff', roles)
  const now = house.clock.now()
  const proofs = { passwordAt: now, factorAt: undefined }
  const session = { id: 1, user, proofs, firstSeenAt: now } as unknown as Session
  return { user, session, act: { by: { name: `user:${user.id}` }, at: now, reason: 'Ticket 4711.' } }
}

const maker = await makePerson('partner-manager', 'support')
const checker = await makePerson('partner-manager', 'support')

function propose<Kind extends WiredKind>(
  kind: Kind,
  values: ProposedActs[Kind],
  by = maker,
): Promise<DecisionResult> {
  return carryOut({ db, fourEyes }, kind, values, by.act)
}

async function proposalOf(outcome: DecisionResult | Promise<DecisionResult>): Promise<number> {
  const made = await outcome
  assert.ok(made.kind === 'proposed', made.kind)
  return made.id
}

const approve = (id: number, by = checker) => decideProposal(db, id, 'approve', by)

async function makeApplicant(): Promise<Partner> {
  return applyAsPartner(db, `Applicant ${makeUpWord()}`, house.act())
}

const statusOf = async ({ branchId }: Partner) => (await getPartner(db, String(branchId))).status
const toApprove = (partner: Partner) => ({ branchId: partner.branchId, seen: printSeen(partner) })

test('what takes two people is proposed, and done when another approves it, under both names', async () => {
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  assert.equal(await statusOf(partner), 'applied')
  assert.equal(await approve(id), 'applied')
  assert.equal(await statusOf(partner), 'approved')
  const entries = await findEntries(db, { subject: `branch:${partner.branchId}`, limit: 3 })
  const told = entries.map(({ action, actor, details }) => [
    action,
    actor,
    details.proposedBy,
    details.reason,
  ])
  assert.deepEqual(told, [
    ['proposal.approved', `user:${checker.user.id}`, `user:${maker.user.id}`, 'Ticket 4711.'],
    ['partner.approved', `user:${checker.user.id}`, undefined, 'Ticket 4711.'],
    ['proposal.made', `user:${maker.user.id}`, undefined, 'Ticket 4711.'],
  ])
})

test('a kind that takes one person is done at once', async () => {
  const partner = await makeApplicant()
  const done = await carryOut({ db, fourEyes: [] }, 'partner.approve', toApprove(partner), maker.act)
  assert.deepEqual([done.kind, await statusOf(partner)], ['done', 'approved'])
})

test('whoever proposed it does not decide it, an administrator no more than others, and the database refuses it whoever writes', async () => {
  const boss = await makePerson('administrator')
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), boss))
  for (const verdict of ['approve', 'decline'] as const)
    await assert.rejects(decideProposal(db, id, verdict, boss), /You proposed this yourself/)
  assert.equal(await statusOf(partner), 'applied')
  for (const outcome of ['applied', 'declined']) {
    const text = `UPDATE proposals SET outcome = $2, decided_by = proposed_by, decided_at = proposed_at
      WHERE id = $1`
    const forced = ask(db, text, [id, outcome])
    await assert.rejects(forced, (error) => violates(error, 'proposals_four_eyes'), outcome)
  }
  const byNobody = `UPDATE proposals SET outcome = 'applied', decided_at = proposed_at WHERE id = $1`
  await assert.rejects(ask(db, byNobody, [id]), (error) => violates(error, 'proposals_four_eyes'))
})

test('of two who decide at once one does it, and the other finds it done', async () => {
  const third = await makePerson('partner-manager')
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  const [first, second] = await runBehind(
    db,
    (joined) => decideProposal(joined, id, 'decline', third),
    () => approve(id),
  )
  assert.equal(first, 'declined')
  assert.deepEqual(second, { status: 'fulfilled', value: 'declined' })
  assert.equal(await statusOf(partner), 'applied')
})

test('what is being withdrawn while somebody approves it is not done', async () => {
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  const [, second] = await runBehind(
    db,
    (joined) => withdrawProposal(joined, id, maker.act),
    () => approve(id),
  )
  assert.deepEqual(second, { status: 'fulfilled', value: 'withdrawn' })
  assert.equal(await statusOf(partner), 'applied')
})

test('whoever decides while the state is being changed waits, and finds it changed', async () => {
  const idle = await house.makePartner({ refresh: false })
  const refresh = await proposalOf(propose('partner.refresh-access', { branchId: idle.branchId }))
  const [, waited] = await runBehind(
    db,
    (joined) => setPartnerStatus(joined, idle, 'suspended', 'The terms were broken.', house.act()),
    () => approve(refresh),
  )
  assert.deepEqual(waited, { status: 'fulfilled', value: 'outdated' })
  assert.equal((await getPartner(db, String(idle.branchId))).refreshAccess, false)
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  const [, second] = await runBehind(
    db,
    (joined) => setPartnerStatus(joined, partner, 'declined', 'Say more.', house.act()),
    () => approve(id),
  )
  assert.deepEqual(second, { status: 'fulfilled', value: 'outdated' })
  assert.equal(await statusOf(partner), 'declined')
})

test('of an approval and a decline at once one counts, and the partner stands as it says', async () => {
  const third = await makePerson('partner-manager')
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  const [one, other] = await Promise.all([approve(id), decideProposal(db, id, 'decline', third)])
  assert.equal(one, other)
  assert.equal(await statusOf(partner), one === 'applied' ? 'approved' : 'applied')
})

test('when the state has moved on nothing is done, and the proposal has ended', async () => {
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner)))
  await setPartnerStatus(db, partner, 'declined', 'Say more.', house.act())
  assert.equal(await approve(id), 'outdated')
  assert.equal(await statusOf(partner), 'declined')
  assert.equal((await getProposal(db, id)).outcome, 'outdated')
  assert.equal(await approve(id), 'outdated', 'it stays so')
})

test('scopes are widened as proposed, and not when they were changed meanwhile', async () => {
  const client = await house.makeClient({ scope: 'read' })
  const atMost = ['read', 'trade'] as const
  const values = { branchId: client.branchId, clientId: client.id, atMost }
  const stale = await proposalOf(propose('partner.widen-scopes', values))
  await setScopesAtMost(db, client, ['read', 'market'], house.act())
  assert.equal(await approve(stale), 'outdated')
  assert.deepEqual((await getClient(db, client.id)).scopesAtMost, ['read', 'market'])
  assert.equal(await approve(await proposalOf(propose('partner.widen-scopes', values))), 'applied')
  assert.deepEqual((await getClient(db, client.id)).scopesAtMost, ['read', 'trade'])
  const narrower = { ...values, atMost: ['read'] as const }
  assert.equal((await propose('partner.widen-scopes', narrower)).kind, 'done', 'narrower takes one person')
})

test('what a partner asked for takes two people, also where whoever grants it read the client before it was asked', async () => {
  const client = await house.makeClient({ scope: 'read' })
  await askForScopes(db, client, { wider: 'trade', reason: 'Orders.' }, house.act())
  const { id: requestId } = (await findOpenScopeRequest(db, client.id))!
  const values = { branchId: client.branchId, clientId: client.id, atMost: client.scopesAtMost, requestId }
  const id = await proposalOf(propose('partner.widen-scopes', values))
  assert.deepEqual((await getClient(db, client.id)).scopesAtMost, ['read'])
  assert.equal(await approve(id), 'applied')
  assert.deepEqual((await getClient(db, client.id)).scopesAtMost, ['read', 'trade'])
})

test('refresh access is granted by two', async () => {
  const partner = await house.makePartner({ refresh: false })
  const id = await proposalOf(propose('partner.refresh-access', { branchId: partner.branchId }))
  assert.equal((await getPartner(db, String(partner.branchId))).refreshAccess, false)
  assert.equal(await approve(id), 'applied')
  assert.equal((await getPartner(db, String(partner.branchId))).refreshAccess, true)
  assert.equal((await propose('partner.refresh-access', { branchId: partner.branchId })).kind, 'moved on')
})

test('a second factor is reset by two, and not one that was set up after the proposal', async () => {
  const user = await house.makeUser()
  await setUpApp(house, await house.signIn(user))
  const id = await proposalOf(propose('user.reset-two-factor', { userId: user.id }))
  assert.equal(isGuarded(await findSecondFactors(db, user.id)), true)
  await ask(db, `UPDATE totp_factors SET created_at = created_at + interval '1 s' WHERE user_id = $1`, [
    user.id,
  ])
  assert.equal(await approve(id), 'outdated')
  assert.equal(isGuarded(await findSecondFactors(db, user.id)), true)
  assert.equal(
    await approve(await proposalOf(propose('user.reset-two-factor', { userId: user.id }))),
    'applied',
  )
  assert.equal(isGuarded(await findSecondFactors(db, user.id)), false)
})

test('nobody decides about themselves, and about staff only who looks after staff', async () => {
  const boss = await makePerson('administrator')
  const target = await makePerson('administrator')
  await setUpApp(house, await house.signIn(target.user))
  const values = { userId: target.user.id }
  await assert.rejects(propose('user.reset-two-factor', values), /You may not propose this any more/)
  const id = await proposalOf(propose('user.reset-two-factor', values, boss))
  await assert.rejects(approve(id, target), /This is about you/)
  await assert.rejects(approve(id), /You may not decide about this/)
  assert.equal(await approve(id, await makePerson('administrator')), 'applied')
  const viewer = await makePerson('viewer')
  await setUpApp(house, await house.signIn(viewer.user))
  const lesser = await proposalOf(propose('user.reset-two-factor', { userId: viewer.user.id }, boss))
  await assert.rejects(approve(lesser), /You may not decide about this/)
  assert.equal(await approve(lesser, await makePerson('support', 'security-officer')), 'applied')
})

test('the second factor of an administrator is reset by administrators alone: neither proposed nor approved by anybody else', async () => {
  const [boss, target] = [await makePerson('administrator'), await makePerson('administrator')]
  const officer = await makePerson('support', 'security-officer')
  await setUpApp(house, await house.signIn(target.user))
  const values = { userId: target.user.id }
  await assert.rejects(propose('user.reset-two-factor', values, officer), /You may not propose this any more/)
  const id = await proposalOf(propose('user.reset-two-factor', values, boss))
  await assert.rejects(approve(id, officer), /You may not decide about this/)
  assert.equal(isGuarded(await findSecondFactors(db, target.user.id)), true)
})

const removalOf = ({ id, missing }: Import) => ({ importId: id, missing: missing! })

async function endOf({ id, source }: Import): Promise<number> {
  await eventually('it has ended', async () => (await getImport(db, id)).finishedAt !== null)
  return (await readSource(db, source)).holdings!.length
}

test('a removal above the guard is done by two, and by nobody who may not', async () => {
  const held = await holdSnapshot(house)
  await assert.rejects(propose('import.removal', removalOf(held)), /You may not propose this any more/)
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const id = await proposalOf(propose('import.removal', removalOf(held), one))
  assert.equal((await getImport(db, held.id)).state, 'needs approval')
  await assert.rejects(approve(id, one), /You proposed this yourself/)
  await assert.rejects(approve(id), /You may not decide about this/)
  assert.equal(await approve(id, two), 'applied')
  assert.equal(await endOf(held), 1)
  assert.equal(await approve(id, two), 'applied', 'it stays so')
  assert.equal((await propose('import.removal', removalOf(held), one)).kind, 'moved on')
})

test('a removal is not done when it was stopped, overtaken by a newer snapshot, or would take something else than was proposed', async () => {
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const proposeTo = async (change: (held: Import) => Promise<unknown>) => {
    const held = await holdSnapshot(house)
    const id = await proposalOf(propose('import.removal', removalOf(held), one))
    await change(held)
    assert.equal(await approve(id, two), 'outdated')
    assert.equal((await readSource(db, held.source)).holdings!.length, 4)
    assert.equal((await propose('import.removal', removalOf(held), one)).kind, 'moved on')
  }
  await proposeTo((held) => stopImport(db, held.id, house.act()))
  await proposeTo(({ source }) =>
    importLines(house, source, households(source, 4), { mode: 'snapshot', asOf: 1 }),
  )
  const other = await holdSnapshot(house)
  const id = await proposalOf(propose('import.removal', removalOf(other), one))
  const swap = `UPDATE import_missing SET key = 'C0' WHERE import_id = $1 AND kind = 'customer'
    AND key = 'C1'`
  await ask(db, swap, [other.id])
  assert.equal(await approve(id, two), 'outdated')
  assert.equal((await readSource(db, other.source)).holdings!.length, 4)
})

test('whoever approves a removal while it is being stopped waits, and removes nothing', async () => {
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const held = await holdSnapshot(house)
  const id = await proposalOf(propose('import.removal', removalOf(held), one))
  const [, waited] = await runBehind(
    db,
    (joined) => stopImport(joined, held.id, house.act()),
    () => approve(id, two),
  )
  assert.deepEqual(waited, { status: 'fulfilled', value: 'outdated' })
  assert.equal((await readSource(db, held.source)).holdings!.length, 4)
})

const toAdd = (draft: Provider) => ({ providerId: draft.id, ...factsOf(draft) })
const isEnabled = async ({ name }: Provider) => (await findProvider(db, name)) !== undefined

test('a new identity provider is enabled by two: exactly the one that was written down, and its secret stands in no proposal', async () => {
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const draft = await draftUpstream(house, { credential: 'hunter2-of-the-bank' })
  await assert.rejects(propose('provider.add', toAdd(draft)), /You may not propose this any more/)
  const id = await proposalOf(propose('provider.add', toAdd(draft), one))
  assert.equal(await isEnabled(draft), false)
  const [row] = await ask<{ text: string }>(db, 'SELECT p::text AS text FROM proposals p WHERE id = $1', [id])
  assert.ok(row!.text.includes(draft.issuer) && !row!.text.includes('hunter2'))
  await assert.rejects(approve(id, one), /You proposed this yourself/)
  assert.equal(await isEnabled(draft), false)
  assert.equal(await approve(id, two), 'applied')
  assert.equal(await isEnabled(draft), true)
  assert.equal((await propose('provider.add', toAdd(draft), one)).kind, 'moved on')
})

test('a provider is not enabled when it was removed and written down anew, is said to be another than it is, or others have come beside it', async () => {
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const draft = await draftUpstream(house)
  const swapped = await proposalOf(propose('provider.add', toAdd(draft), one))
  await removeProvider(db, draft, house.act())
  const evil = await draftUpstream(house, { name: draft.name, clientId: 'somebody-elses' })
  assert.equal(await approve(swapped, two), 'outdated')
  const lie = { ...toAdd(evil), clientId: draft.clientId }
  assert.equal((await propose('provider.add', lie, one)).kind, 'moved on')
  const overtaken = await proposalOf(propose('provider.add', toAdd(evil), one))
  const name = makeUpWord()
  await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name)
  assert.equal(await approve(overtaken, two), 'outdated')
  assert.equal(await isEnabled(evil), false)
})

test('a provider is not enabled with another credential than the one that it was proposed with', async () => {
  const [one, two] = [await makePerson('administrator'), await makePerson('administrator')]
  const draft = await draftUpstream(house)
  const secret = { proof: draft.proof, credential: 'another one' }
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const given of [secret, { proof: 'private_key_jwt', credential: key } as const]) {
    const id = await proposalOf(propose('provider.add', toAdd(await getProvider(db, draft.name)), one))
    house.clock.advance(second)
    await replaceCredential(db, vault, draft, given, house.act())
    assert.equal(await approve(id, two), 'outdated')
  }
  assert.equal(await isEnabled(draft), false)
  const anew = await proposalOf(propose('provider.add', toAdd(await getProvider(db, draft.name)), one))
  assert.equal(await approve(anew, two), 'applied')
})

test('a proposal ends by itself, and makes room for another', async () => {
  const partner = await makeApplicant()
  const late = await proposalOf(propose('partner.approve', toApprove(partner)))
  house.clock.advance(3 * day)
  const [again, decider] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  assert.equal(await approve(late, decider), 'expired')
  assert.equal(await statusOf(partner), 'applied')
  assert.equal(outcomeOf(await getProposal(db, late), house.clock.now()), 'expired')
  const open = await listOpenProposals(db, ['partner.approve'], house.clock.now(), 1_000)
  assert.ok(!open.some(({ id }) => id === late))
  const next = await proposalOf(propose('partner.approve', toApprove(partner), again))
  assert.notEqual(next, late)
  assert.equal(await approve(next, decider), 'applied')
})

test('a decision takes a sign-in of minutes ago', async () => {
  const [by, decider] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), by))
  house.clock.advance(6 * minute)
  const late = { ...decider, act: { ...decider.act, at: house.clock.now() } }
  await assert.rejects(approve(id, late), /Confirm first that it is you/)
  assert.equal(await statusOf(partner), 'applied')
})

test('whose role was taken between decides nothing, and what they proposed counts no more', async () => {
  const [by, decider] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const third = await makePerson('partner-manager')
  const take = async ({ user }: Person) =>
    takeRole(db, await getStaffMember(db, user.id), 'partner-manager', house.act())
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), by))
  await take(decider)
  await assert.rejects(approve(id, decider), /You may not decide about this/)
  await take(by)
  assert.equal(await approve(id, third), 'outdated')
  assert.equal(await statusOf(partner), 'applied')
})

test('what somebody proposed who is locked out counts no more', async () => {
  const [by, decider] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), by))
  await setUserStatus(db, by.user, 'disabled', house.act())
  assert.equal(await approve(id, decider), 'outdated')
})

test('whose role is being taken while they decide waits, and decides nothing', async () => {
  const [by, decider] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), by))
  const member = await getStaffMember(db, decider.user.id)
  const [, second] = await runBehind(
    db,
    (joined) => takeRole(joined, member, 'partner-manager', house.act()),
    () => approve(id, decider),
  )
  assert.equal(second.status, 'rejected')
  assert.equal(await statusOf(partner), 'applied')
})

test('of one thing one proposal waits: a second click, or a second person, finds it', async () => {
  const [by, other] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const partner = await makeApplicant()
  const made = await Promise.all([
    propose('partner.approve', toApprove(partner), by),
    propose('partner.approve', toApprove(partner), by),
    propose('partner.approve', toApprove(partner), other),
  ])
  assert.equal(new Set(await Promise.all(made.map((each) => proposalOf(each)))).size, 1)
  assert.equal(made.filter((each) => each.kind === 'proposed' && each.isNew).length, 1)
})

test('what was seen and is not so any more is not proposed', async () => {
  const by = await makePerson('partner-manager')
  const partner = await makeApplicant()
  await setPartnerStatus(db, partner, 'declined', 'Say more.', house.act())
  assert.equal((await propose('partner.approve', toApprove(partner), by)).kind, 'moved on')
})

test('whoever proposed it may withdraw it, and nobody else', async () => {
  const [by, other] = [await makePerson('partner-manager'), await makePerson('partner-manager')]
  const partner = await makeApplicant()
  const id = await proposalOf(propose('partner.approve', toApprove(partner), by))
  await assert.rejects(withdrawProposal(db, id, other.act), /Only whoever proposed it/)
  assert.equal(await withdrawProposal(db, id, by.act), 'withdrawn')
  assert.equal(await approve(id, other), 'withdrawn')
  assert.equal(await statusOf(partner), 'applied')
})
