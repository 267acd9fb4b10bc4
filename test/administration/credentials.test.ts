/** Credentials for administration: what ends them, what they may, and what they never do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { findEntries } from '../../src/audit/audit.ts'
import { day } from '../../src/clock.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { decideProposal, getProposal } from '../../src/proposals/proposal.ts'
import { createCredential, revokeCredential } from '../../src/users/admin-credential.ts'
import { getStaffMember, giveRole, takeRole } from '../../src/users/staff-role.ts'
import { setUserStatus } from '../../src/users/user.ts'
import type { staffRoles } from '../../src/vocabulary/permission.ts'
import { type AdminMethod, openAdminProgram } from '../support/administration.ts'
import { send } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const rows = apiRoutes.filter(({ path }) => path.startsWith('/admin/'))
const list = '/admin/v1/partners'

test('no row under /admin lets in anybody without a credential, or with another secret', async () => {
  const client = await house.makeClient()
  const user = await house.makeOperator()
  const others = [
    {},
    { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    { authorization: `Bearer ${await house.makeToken(user)}` },
    { authorization: `Bearer ${issueToken('administration', 'live').text}` },
    { authorization: `Bearer ${issueToken('serviceSecret', 'live').text}` },
    { authorization: 'Bearer' },
  ]
  for (const { method, path } of rows)
    for (const headers of others) {
      const answer = await send(house.at(path.replaceAll(/:\w+/g, '0')), {
        method: method as AdminMethod,
        headers,
      })
      assert.equal(answer.status, 401, `${method} ${path}`)
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
    }
})

test('a credential ends with the next request: revoked, on its last day, with the role or the account of its person', async () => {
  const second = await keepOpen(openTestGateway({ ...house.settings, DATABASE_URL: house.databaseUrl }))
  const isIn = async (program: Awaited<ReturnType<typeof openAdminProgram>>) => {
    const answers = [
      await program.call('GET', list),
      await send(second.internalUrl + list, { headers: program.headers }),
    ]
    const [here, there] = answers.map(({ status }) => status)
    assert.equal(here, there)
    return here === 200
  }
  const revoked = await openAdminProgram(house)
  assert.ok(await isIn(revoked))
  await revokeCredential(db, revoked.credentialId, house.act())
  assert.ok(!(await isIn(revoked)))

  const locked = await openAdminProgram(house)
  assert.ok(await isIn(locked))
  await setUserStatus(db, locked.maker, 'disabled', house.act())
  assert.ok(!(await isIn(locked)))
  await setUserStatus(db, locked.maker, 'active', house.act())
  assert.ok(await isIn(locked), 'it is derived: nothing was written')

  const demoted = await openAdminProgram(house, { role: 'partner-manager' })
  assert.ok(await isIn(demoted))
  const member = await getStaffMember(db, demoted.maker.id)
  await giveRole(db, member, 'viewer', house.act())
  await takeRole(db, member, 'partner-manager', house.act())
  assert.ok(!(await isIn(demoted)), 'a viewer is less than the credential')
})

test('it has a last day', async () => {
  const own = await keepOpen(openTestGateway())
  const program = await openAdminProgram(own, { days: 1 })
  assert.equal((await program.call('GET', list)).status, 200)
  own.clock.advance(day)
  assert.equal((await program.call('GET', list)).status, 401)
})

test('nobody makes one that may do more than the person it is for, or than they may themselves', async () => {
  const officer = await house.makeOperator('Sean Security', ['security-officer'])
  const boss = await house.makeOperator('Bo Boss')
  const act = { by: { name: `user:${officer.id}` }, at: house.clock.now() }
  const draft = { name: 'x', environment: 'live', readers: [], days: 1 } as const
  const make = (userId: string, role: (typeof staffRoles)[number], by: typeof act | undefined) =>
    createCredential(db, { ...draft, userId, role }, by ?? house.act())
  await assert.rejects(make(officer.id, 'administrator', undefined), /more than the person/)
  await assert.rejects(make(boss.id, 'administrator', act), /more than you/)
  await assert.rejects(make(officer.id, 'partner-manager', act), /more than you/)
  const { credential } = await make(officer.id, 'viewer', act)
  assert.equal(credential.role, 'viewer')
  const manager = await house.makeOperator('Pam Partner', ['partner-manager'])
  const byManager = { by: { name: `user:${manager.id}` }, at: house.clock.now() }
  await assert.rejects(make(manager.id, 'partner-manager', byManager), /gives out roles/)
  const [entry] = await findEntries(db, { subject: `credential:${credential.id}` })
  assert.equal(entry!.action, 'credential.created')
})

test('a credential of the sandbox changes nothing that both share', async () => {
  const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
  assert.equal((await sandbox.call('GET', list)).status, 200)
  const name = `box-${makeUpWord()}`
  const answer = await sandbox.call('PUT', `${list}/${name}`, { spec: { displayName: name } })
  assert.equal(answer.status, 403)
})

test('no proposal of a credential outlives its role, and whoever can read it is nobody else', async () => {
  const manager = await house.makeOperator('Pia Partner', ['partner-manager'])
  const decider = await openConsole(house, 'Dora Decider')
  const program = await openAdminProgram(house, { role: 'partner-manager', maker: manager })
  const propose = async () => {
    const name = `gone-${makeUpWord()}`
    const answer = await program.call('PUT', `${list}/${name}?reason=Now`, {
      spec: { displayName: name, state: 'approved' },
    })
    return answer.json<{ proposals: { id: number }[] }>().proposals[0]!.id
  }
  const [first, second] = [await propose(), await propose()]
  const approve = async (id: number) => {
    const page = await decider.browser.get(`/console/proposals/${id}`)
    await decider.browser.submit(page, `/console/proposals/${id}/approve`, {})
    return (await getProposal(db, id)).outcome
  }
  assert.equal(await approve(first), 'applied')
  await revokeCredential(db, program.credentialId, house.act())
  assert.equal(await approve(second), 'outdated')
})

test('a credential decides nothing, whoever calls for it', async () => {
  const program = await openAdminProgram(house)
  const credential = {
    id: program.credentialId,
    userId: program.maker.id,
    readers: [],
    role: 'administrator',
  } as const
  const act = { by: { name: `credential:${program.credentialId}`, credential }, at: house.clock.now() }
  const other = await openAdminProgram(house)
  const name = `undecided-${makeUpWord()}`
  const proposed = await other.call('PUT', `${list}/${name}?reason=Now`, {
    spec: { displayName: name, state: 'approved' },
  })
  const [{ id }] = proposed.json<{ proposals: [{ id: number }] }>().proposals
  const session = { user: program.maker } as Parameters<typeof decideProposal>[3]['session']
  await assert.rejects(decideProposal(db, id, 'approve', { session, act }), /decides nothing/)
})

test('nobody administers their own partner by a program, nor by one that they can read', async () => {
  const partner = await house.makePartner({ refresh: true })
  const [maker, reader] = [await house.makeOperator('Own One'), await house.makeOperator('Own Two')]
  const find = async (program: Awaited<ReturnType<typeof openAdminProgram>>) =>
    (await program.call('GET', `${list}?limit=100`))
      .json<{ items: { name: string; status: { branchId: number } }[] }>()
      .items.find(({ status }) => status.branchId === partner.branchId)!.name
  const withReader = await openAdminProgram(house, { readers: [reader] })
  const byMember = await openAdminProgram(house, { maker })
  const name = await find(byMember)
  await addMember(db, partner, maker, house.act())
  await addMember(db, partner, reader, house.act())
  for (const program of [withReader, byMember]) {
    const answer = await program.call('PUT', `${list}/${name}?reason=x`, { spec: { refreshAccess: false } })
    assert.equal(answer.status, 403, answer.text)
  }
  assert.equal((await getPartner(db, String(partner.branchId))).refreshAccess, true)
})
