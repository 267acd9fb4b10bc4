/** Identity providers and their role maps as programs declare them: what people are let in by is decided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { findProvider, getProvider } from '../../src/identity/provider.ts'
import { staffRoles } from '../../src/vocabulary/permission.ts'
import { approveProposal, fetchItem, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const decider = await openConsole(house, 'Dora Decider')
const pathOf = (name: string) => `/admin/v1/providers/${name}`
const mapOf = (name: string) => `/admin/v1/role-maps/${name}`
const why = '?reason=A+new+bank'
const draftOf = (name: string, type = 'holder') => ({
  ...{ type, label: `Bank ${name}`, issuer: `https://${name}.example`, clientId: 'countersign' },
})
const giveCredential = (name: string, credential = 'a secret of the bank') =>
  program.call('POST', `${pathOf(name)}/credential`, { credential })

async function makeEnabled(name: string, spec: object = {}, type = 'holder') {
  outcomeOf(await program.call('PUT', pathOf(name), { spec: { ...draftOf(name, type), ...spec } }), 201)
  assert.equal((await giveCredential(name)).status, 200)
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec: { enabled: true } }), 202)
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
}

test('a provider is written down, waits for its credential, then for another person, and then lets people in', async () => {
  const name = `bank-${makeUpWord()}`
  const spec = { ...draftOf(name), label: ` Bank ${name} `, enabled: true }
  const made = outcomeOf(await program.call('PUT', pathOf(name), { spec, owner: 'platform' }), 202)
  assert.deepEqual([made.outcome, made.proposals], ['created', []])
  const waiting = { field: 'spec.enabled', before: false, after: true, proposed: true }
  assert.deepEqual(made.changes.at(-1), waiting)
  const again = outcomeOf(await program.call('PUT', pathOf(name), { spec }), 202)
  assert.deepEqual([again.outcome, again.changes], ['proposed', [waiting]])
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual(item.spec, {
    ...{ ...draftOf(name), proof: 'client_secret_basic', scopes: ['openid'], linkClaim: null },
    ...{ linkSource: 'core', strongAcr: [], strongAmr: [], ownSecondStep: true },
    ...{ logoutEnds: 'session', enabled: false },
  })
  assert.deepEqual([item.status.hasCredential, item.status.credentialAt], [false, null])
  assert.equal((await giveCredential(name)).status, 200)
  assert.equal((await program.call('PUT', pathOf(name), { spec })).status, 400, 'no reason')
  const proposed = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec }), 202)
  assert.equal(proposed.proposals[0]!.kind, 'provider.add')
  assert.equal(await findProvider(db, name), undefined)
  assert.equal(await approveProposal(house, decider, proposed.proposals[0]!.id), 'applied')
  assert.ok((await findProvider(db, name))?.enabledAt)
  assert.equal(outcomeOf(await program.call('PUT', pathOf(name), { spec }), 200).outcome, 'unchanged')
  const entries = await findEntries(db, { subject: `provider:${name}` })
  const actions = entries.map(({ action }) => action)
  for (const action of ['provider.drafted', 'object.labelled', 'proposal.made', 'provider.added'])
    assert.ok(actions.includes(action as (typeof actions)[number]), action)
})

test('of one that is enabled, what lets nobody in is changed at once, and what is believed is proposed', async () => {
  const name = `believed-${makeUpWord()}`
  await makeEnabled(name)
  const spec = { label: 'Renamed', strongAmr: ['mfa'], ownSecondStep: false }
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec }), 202)
  assert.equal(made.outcome, 'changed')
  const now = (await fetchItem(program, pathOf(name))).spec
  assert.deepEqual([now.label, now.strongAmr, now.ownSecondStep], ['Renamed', [], true])
  const again = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec }), 202)
  assert.deepEqual([again.outcome, again.proposals], ['proposed', [{ ...made.proposals[0], isNew: false }]])
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const after = (await fetchItem(program, pathOf(name))).spec
  assert.deepEqual([after.strongAmr, after.ownSecondStep], [['mfa'], false])
  assert.equal((await program.call('PUT', pathOf(name) + why, { spec: { enabled: false } })).status, 409)
})

test('a credential that comes after the proposal makes it out of date', async () => {
  const name = `late-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(name), { spec: draftOf(name) }), 201)
  assert.equal((await giveCredential(name)).status, 200)
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec: { enabled: true } }), 202)
  const page = await decider.browser.get(`/console/proposals/${made.proposals[0]!.id}`)
  house.clock.advance(1_000)
  assert.equal((await giveCredential(name, 'another secret')).status, 200)
  await decider.browser.submit(page, `/console/proposals/${made.proposals[0]!.id}/approve`, {})
  assert.equal((await getProvider(db, name)).enabledAt, null)
})

test('DELETE removes it, and its name is free; its role map goes with it', async () => {
  const name = `gone-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(name), { spec: draftOf(name, 'staff') }), 201)
  assert.equal((await program.call('GET', mapOf(name))).status, 200)
  assert.equal((await program.call('DELETE', pathOf(name))).status, 400)
  const ended = outcomeOf(await program.call('DELETE', pathOf(name) + why), 200)
  assert.deepEqual([ended.outcome, ended.etag], ['removed', null])
  for (const path of [pathOf(name), mapOf(name)]) assert.equal((await program.call('GET', path)).status, 404)
  outcomeOf(await program.call('PUT', pathOf(name), { spec: draftOf(name) }), 201)
  assert.equal((await program.call('GET', mapOf(name))).status, 404, 'it is of holders')
})

test('a dry run writes nothing down, and of two who make the same one wins', async () => {
  const name = `dry-${makeUpWord()}`
  const dry = outcomeOf(
    await program.call('PUT', `${pathOf(name)}?dryRun=true`, { spec: draftOf(name) }),
    200,
  )
  assert.equal(dry.outcome, 'created')
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const both = await Promise.all([1, 2].map(() => program.call('PUT', pathOf(name), { spec: draftOf(name) })))
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 201])
  const { etag } = await fetchItem(program, pathOf(name))
  const put = (label: string) => program.call('PUT', pathOf(name), { spec: { label } }, { 'if-match': etag })
  const answers = await Promise.all([put('One'), put('Two')])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
  const lost = answers.find(({ status }) => status === 412)!
  assert.deepEqual(lost.json<{ moved: unknown }>().moved, ['spec.label'])
})

test('what is wrong is told by the name of its field', async () => {
  const name = `odd-${makeUpWord()}`
  const good = draftOf(name)
  outcomeOf(await program.call('PUT', pathOf(name), { spec: good }), 201)
  const faults: [string, object, string][] = [
    ['new', good, 'name'],
    [`${name}-2`, { type: 'holder' }, 'spec.label'],
    [`${name}-2`, { ...good, issuer: 'http://bank.example' }, 'spec.issuer'],
    [`${name}-2`, good, 'spec.issuer'],
    [`${name}-2`, { ...good, scopes: ['email'] }, 'spec.scopes'],
    [`${name}-2`, { ...good, linkClaim: 'email' }, 'spec.linkClaim'],
    [`${name}-2`, { ...good, ownSecondStep: false }, 'spec.strongAcr'],
    [`${name}-2`, { ...good, credential: 'x' }, 'spec.credential'],
    [name, { type: 'staff' }, 'spec.type'],
    [name, { issuer: 'https://other.example' }, 'spec.issuer'],
    [name, { proof: 'private_key_jwt' }, 'spec.proof'],
  ]
  for (const [of, spec, field] of faults) {
    const answer = await program.call('PUT', pathOf(of), { spec })
    assert.equal(answer.status, 400, `${field}: ${answer.text}`)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
})

test('its credential is shown by nothing, and a key that is none is refused by the name of the field', async () => {
  const name = `key-${makeUpWord()}`
  const spec = { ...draftOf(name), proof: 'private_key_jwt' }
  outcomeOf(await program.call('PUT', pathOf(name), { spec }), 201)
  const refused = await giveCredential(name, 'no key at all')
  assert.equal(refused.status, 400)
  assert.equal(refused.json<{ fields: { field: string }[] }>().fields[0]!.field, 'credential')
  assert.ok(!refused.text.includes('no key at all'))
  const other = `secret-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(other), { spec: draftOf(other) }), 201)
  const key = { 'idempotency-key': other }
  const post = (credential: string) =>
    program.call('POST', `${pathOf(other)}/credential`, { credential }, key)
  const first = await post('hush hush')
  assert.equal(first.status, 200, first.text)
  assert.equal((await post('hush hush')).text, first.text)
  assert.equal((await post('another')).status, 409)
  const texts = await ask<{ text: string }>(
    db,
    `SELECT p::text AS text FROM identity_providers p UNION ALL SELECT a::text FROM admin_answers a
     UNION ALL SELECT e::text FROM audit_entries e`,
  )
  for (const { text } of texts) assert.ok(!text.includes('hush hush'))
  assert.ok(!(await program.call('GET', pathOf(other))).text.includes('hush'))
})

test('a role is taken from a map at once and given by another person; DELETE takes every role that it gave', async () => {
  const name = `staff-${makeUpWord()}`
  const none = await program.call('PUT', mapOf(name), { spec: { rolesClaim: 'groups' } })
  assert.deepEqual(
    [none.status, none.json<{ fields: { field: string }[] }>().fields[0]!.field],
    [400, 'name'],
  )
  await makeEnabled(name, {}, 'staff')
  assert.deepEqual((await fetchItem(program, mapOf(name))).spec, { rolesClaim: null, roles: {} })
  const spec = { rolesClaim: 'groups', roles: { a: 'support', b: 'viewer' } }
  const made = outcomeOf(await program.call('PUT', mapOf(name) + why, { spec, owner: 'iam' }), 202)
  assert.deepEqual([made.outcome, made.proposals[0]!.kind], ['changed', 'provider.add'])
  assert.deepEqual((await fetchItem(program, mapOf(name))).spec, { rolesClaim: null, roles: {} })
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const same = outcomeOf(await program.call('PUT', mapOf(name), { spec }), 200)
  assert.equal(same.outcome, 'unchanged')
  const swapped = { roles: { b: 'viewer', c: 'auditor' } }
  const moved = outcomeOf(await program.call('PUT', mapOf(name) + why, { spec: swapped }), 202)
  assert.equal(moved.outcome, 'changed')
  assert.deepEqual((await fetchItem(program, mapOf(name))).spec.roles, { b: 'viewer' })
  assert.equal(await approveProposal(house, decider, moved.proposals[0]!.id), 'applied')
  assert.deepEqual((await fetchItem(program, mapOf(name))).spec.roles, swapped.roles)
  assert.equal((await program.call('DELETE', mapOf(name))).status, 400)
  const ended = outcomeOf(await program.call('DELETE', mapOf(name) + why), 200)
  assert.deepEqual(ended.changes.map(({ field }) => field).sort(), ['owner', 'spec.roles', 'spec.rolesClaim'])
  assert.deepEqual((await getProvider(db, name)).roleMap, {})
  assert.equal((await findProvider(db, name))?.rolesClaim, null)
})

test('nobody maps a role that their credential does not carry, and it takes whoever manages providers', async () => {
  const name = `carry-${makeUpWord()}`
  await makeEnabled(name, {}, 'staff')
  const officer = await openAdminProgram(house, { role: 'security-officer' })
  const spec = { rolesClaim: 'groups', roles: { a: 'administrator' } }
  assert.equal((await officer.call('PUT', mapOf(name) + why, { spec })).status, 403)
  const viewer = await openAdminProgram(house, { role: 'viewer' })
  for (const path of [mapOf(name), pathOf(name)]) {
    assert.equal((await viewer.call('GET', path)).status, 403)
    assert.equal((await viewer.call('PUT', path, { spec: {} })).status, 403)
  }
  const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
  assert.equal((await sandbox.call('GET', mapOf(name))).status, 200)
  for (const path of [mapOf(name), pathOf(name)])
    assert.equal((await sandbox.call('PUT', path, { spec: {} })).status, 403)
  assert.equal((await sandbox.call('POST', `${pathOf(name)}/credential`, { credential: 'x' })).status, 403)
})

test('roles are looked at, by whoever sees the staff', async () => {
  const answer = await program.call('GET', '/admin/v1/roles')
  const { items, next } = answer.json<{ items: { name: string }[]; next: null }>()
  assert.deepEqual([items.map(({ name }) => name), next], [[...staffRoles].sort(), null])
  const support = await fetchItem(program, '/admin/v1/roles/support')
  assert.ok((support.spec.permissions as string[]).includes('users.manage'))
  assert.equal((await program.call('GET', '/admin/v1/roles/king')).status, 404)
  assert.equal((await program.call('PUT', '/admin/v1/roles/support', { spec: {} })).status, 405)
  const helper = await openAdminProgram(house, { role: 'support' })
  assert.equal((await helper.call('GET', '/admin/v1/roles')).status, 403)
})
