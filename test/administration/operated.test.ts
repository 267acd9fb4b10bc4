/** Users, authorizations, proposals, imports, settings and the audit log, as programs look at them and act on them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whileStanding } from '../../src/administration/standing.ts'
import { findEntries } from '../../src/audit/audit.ts'
import { listAuthorizations } from '../../src/oauth/authorization.ts'
import { getProposal } from '../../src/proposals/proposal.ts'
import { getImport } from '../../src/provisioning/import.ts'
import { revokeCredential } from '../../src/users/admin-credential.ts'
import { listSessions } from '../../src/users/session.ts'
import { getUserById, setStatusOfOther, type User } from '../../src/users/user.ts'
import { type AdminProgram, openAdminProgram } from '../support/administration.ts'
import { send } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse, type TokenBody } from '../support/gateway.ts'
import { holdSnapshot } from '../support/imports.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const support = await openAdminProgram(house, { role: 'support' })
const why = '?reason=Ticket+12'

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

async function read<Body>(path: string, by: AdminProgram = program): Promise<Body> {
  const answer = await by.call('GET', `/admin/v1/${path}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Body>()
}

/** Every item, a page of three after the other. */
async function readAll<Item>(path: string): Promise<Item[]> {
  const items: Item[] = []
  let next: string | null = null
  do {
    const cursor = next === null ? '' : `&cursor=${encodeURIComponent(next)}`
    const page: Page<Item> = await read(`${path}limit=3${cursor}`)
    assert.ok(page.items.length <= 3)
    items.push(...page.items)
    next = page.next
  } while (next !== null)
  return items
}

const statusOf = async (by: AdminProgram, method: 'POST' | 'DELETE', path: string) =>
  (await by.call(method, `/admin/v1/${path}`)).status

async function connect(user: User) {
  const client = await house.makeClient()
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const [approval] = await listAuthorizations(db, { userId: user.id })
  const headers = { authorization: `Bearer ${access_token}` }
  const use = async () => (await send(`${house.baseUrl}/v1/user/profile`, { headers })).status
  return { id: approval!.id, client, use }
}

test('users are found, page by page, and read by their id', async () => {
  const word = `zz${makeUpWord()}`
  const users = await Promise.all([1, 2, 3, 4, 5].map((n) => house.makeUser(`${word}.${n}`)))
  const found = await readAll<{ id: string; username: string }>(`users?q=${word}&`)
  assert.deepEqual(
    found.map(({ username }) => username),
    users.map(({ username }) => username),
  )
  const one = await read<Record<string, unknown>>(`users/${users[0]!.id}`)
  assert.deepEqual([one.username, one.role, one.lockedBy], [users[0]!.username, 'holder', null])
  assert.equal((await program.call('GET', '/admin/v1/users/id-aaaaaaaaaaaa')).status, 404)
})

test('whom a program locks out is out with the next request, which says why; twice changes nothing', async () => {
  const user = await house.makeUser()
  const { use } = await connect(user)
  assert.equal(await use(), 200)
  assert.equal(await statusOf(support, 'POST', `users/${user.id}/lock`), 400, 'a reason is demanded')
  assert.equal(await statusOf(support, 'POST', `users/${user.id}/lock${why}`), 200)
  assert.equal(await use(), 401)
  assert.equal(await statusOf(support, 'POST', `users/${user.id}/lock${why}`), 200)
  const entries = await findEntries(db, { subject: `user:${user.id}`, action: 'user.disabled' })
  assert.deepEqual(
    entries.map(({ actor, details }) => [actor, details.reason]),
    [[`credential:${support.credentialId}`, 'Ticket 12']],
  )
  const locked = await read<Page<{ id: string }>>('users?lockedBy=operator&limit=100')
  assert.ok(locked.items.some(({ id }) => id === user.id))
})

test('a program that helps people does nothing to staff, nor does anybody lock out themselves by one', async () => {
  const viewer = await house.makeOperator('Vic Viewer', ['viewer'])
  const boss = await house.makeOperator('Bo Boss')
  const officer = await openAdminProgram(house, { role: 'security-officer' })
  for (const target of [viewer, boss])
    for (const path of [`users/${target.id}/lock`, `users/${target.id}/sessions`])
      assert.equal(await statusOf(support, path.endsWith('lock') ? 'POST' : 'DELETE', path + why), 403)
  assert.equal(await statusOf(officer, 'POST', `users/${viewer.id}/lock${why}`), 403, 'it helps nobody')
  assert.equal(await statusOf(program, 'POST', `users/${program.maker.id}/lock${why}`), 409)
  assert.equal(await statusOf(program, 'POST', `users/${boss.id}/lock${why}`), 200)
  assert.equal((await getUserById(db, boss.id)).status, 'disabled')
})

test('an act that waits while its credential is revoked is not done', async () => {
  const user = await house.makeUser()
  const late = await openAdminProgram(house, { role: 'support' })
  const credential = { id: late.credentialId, userId: late.maker.id, readers: [], role: 'support' } as const
  const act = { by: { name: `credential:${credential.id}`, credential }, at: house.clock.now() }
  await revokeCredential(db, credential.id, house.act())
  await assert.rejects(
    whileStanding(db, 'users.manage', act, (sql) => setStatusOfOther(sql, user, 'disabled', act)),
    /may not do this any more/,
  )
  assert.equal((await getUserById(db, user.id)).status, 'active')
})

test('sessions are listed and ended, one or all', async () => {
  const user = await house.makeUser()
  const browsers = [await house.signIn(user), await house.signIn(user), await house.signIn(user)]
  const path = `users/${user.id}/sessions`
  const { items } = await read<Page<{ id: number; environment: string }>>(path)
  assert.equal(items.length, 3)
  assert.equal(await statusOf(support, 'DELETE', `${path}/${items[0]!.id}`), 400)
  assert.equal(await statusOf(support, 'DELETE', `${path}/${items[0]!.id}${why}`), 200)
  assert.equal(await statusOf(support, 'DELETE', `${path}/${items[0]!.id}${why}`), 404)
  const other = await house.makeUser()
  assert.equal(await statusOf(support, 'DELETE', `users/${other.id}/sessions/${items[1]!.id}${why}`), 404)
  const answer = await support.call('DELETE', `/admin/v1/${path}${why}`)
  assert.deepEqual(answer.json(), { ended: 2 })
  assert.deepEqual(await listSessions(db, user.id, house.clock.now()), [])
  for (const browser of browsers) assert.equal((await browser.get('/account')).status, 303)
})

test('authorizations are listed of a user or a client, paused so that their owner resumes them, and revoked', async () => {
  const user = await house.makeUser()
  const { id, client, use } = await connect(user)
  assert.equal((await program.call('GET', '/admin/v1/authorizations')).status, 400)
  for (const question of [`user=${user.id}`, `client=${client.id}`, `user=${user.id}&client=${client.id}`]) {
    const [found] = await readAll<Record<string, unknown>>(`authorizations?${question}&`)
    assert.deepEqual([found?.id, found?.user, found?.client, found?.pausedAt], [id, user.id, client.id, null])
  }
  assert.equal(await statusOf(support, 'POST', `authorizations/${id}/pause`), 400)
  assert.equal(await statusOf(support, 'POST', `authorizations/${id}/pause${why}`), 200)
  assert.equal(await use(), 401)
  assert.equal(await statusOf(support, 'POST', `authorizations/${id}/pause${why}`), 200)
  assert.equal(
    (await findEntries(db, { action: 'authorization.paused', subject: `client:${client.id}` })).length,
    1,
  )
  const holder = await house.signIn(user)
  await holder.submit(await holder.get('/account'), '/account/resume', { authorization: String(id) })
  assert.equal(await use(), 200, 'nothing was lost')
  assert.equal(await statusOf(support, 'DELETE', `authorizations/${id}${why}`), 200)
  assert.equal(await use(), 401)
  assert.equal(await statusOf(support, 'DELETE', `authorizations/${id}${why}`), 404)
  assert.deepEqual((await read<Page<unknown>>(`authorizations?user=${user.id}`)).items, [])
})

test('authorizations of the other site are not there', async () => {
  const user = await house.makeUser()
  const { id } = await connect(user)
  const box = await openAdminProgram(house, { environment: 'sandbox' })
  assert.equal(await statusOf(box, 'DELETE', `authorizations/${id}${why}`), 404)
  assert.deepEqual((await read<Page<unknown>>(`authorizations?user=${user.id}`, box)).items, [])
})

test('people, proposals, settings and the audit log are administered from the live site alone', async () => {
  const box = await openAdminProgram(house, { environment: 'sandbox' })
  for (const path of ['users', `users/${box.maker.id}`, 'proposals', 'settings', 'audit'])
    assert.equal((await box.call('GET', `/admin/v1/${path}`)).status, 403, path)
  assert.equal(await statusOf(box, 'POST', `users/${(await house.makeUser()).id}/lock${why}`), 403)
})

test('a credential sees the proposals that its role may see, withdraws its own, and no other', async () => {
  const manager = await openAdminProgram(house, { role: 'partner-manager' })
  const same = await openAdminProgram(house, { role: 'partner-manager', maker: manager.maker })
  const propose = async (by: AdminProgram) => {
    const name = `p-${makeUpWord()}`
    const spec = { displayName: name, state: 'approved' }
    const answer = await by.call('PUT', `/admin/v1/partners/${name}${why}`, { spec })
    return answer.json<{ proposals: [{ id: number }] }>().proposals[0].id
  }
  const [first, second] = [await propose(manager), await propose(same)]
  const found = await read<Record<string, unknown>>(`proposals/${first}`, manager)
  assert.deepEqual(
    [found.state, found.kind, found.reason, found.proposedBy, found.credential],
    ['open', 'partner.approve', 'Ticket 12', manager.maker.id, manager.credentialId],
  )
  assert.equal((await manager.call('DELETE', `/admin/v1/proposals/${second}${why}`)).status, 403)
  assert.equal((await manager.call('DELETE', `/admin/v1/proposals/${first}`)).status, 400)
  assert.equal((await manager.call('DELETE', `/admin/v1/proposals/${first}${why}`)).status, 200)
  assert.equal((await getProposal(db, first)).outcome, 'withdrawn')
  const ids = async (path: string) => (await readAll<{ id: number }>(path)).map(({ id }) => id)
  assert.ok((await ids('proposals?open=true&')).includes(second))
  assert.ok(!(await ids('proposals?open=true&')).includes(first))
  assert.ok((await ids('proposals?open=false&')).includes(first))
  const all = await ids('proposals?')
  assert.deepEqual(
    all,
    [...all].sort((one, other) => other - one),
  )
})

test('what a snapshot would remove is proposed by a program and done by another person; imports are stopped', async () => {
  const decider = await openConsole(house, 'Dora Decider')
  const { id } = await holdSnapshot(house)
  const path = `imports/${id}`
  assert.equal((await read<{ state: string }>(path)).state, 'needs approval')
  assert.equal(await statusOf(program, 'POST', `${path}/removal`), 400)
  const answer = await program.call('POST', `/admin/v1/${path}/removal${why}`)
  assert.equal(answer.status, 202, answer.text)
  const again = await program.call('POST', `/admin/v1/${path}/removal${why}`)
  const { id: proposal } = answer.json<{ id: number }>()
  assert.deepEqual(again.json(), { ...answer.json<object>(), isNew: false })
  assert.equal((await getImport(db, id)).state, 'needs approval')
  const page = await decider.browser.get(`/console/proposals/${proposal}`)
  await decider.browser.submit(page, `/console/proposals/${proposal}/approve`, {})
  assert.equal((await getProposal(db, proposal)).outcome, 'applied')

  const other = await holdSnapshot(house)
  assert.equal(await statusOf(program, 'POST', `imports/${other.id}/stop`), 400)
  assert.equal(await statusOf(program, 'POST', `imports/${other.id}/stop${why}`), 200)
  assert.equal(await statusOf(program, 'POST', `imports/${other.id}/stop${why}`), 409)
  assert.equal(await statusOf(program, 'POST', `imports/${other.id}/removal${why}`), 409)
  const listed = await readAll<{ id: number }>('imports?')
  assert.ok(listed.some((each) => each.id === id) && listed.some((each) => each.id === other.id))
  const box = await openAdminProgram(house, { environment: 'sandbox' })
  assert.equal((await box.call('GET', `/admin/v1/${path}`)).status, 404)
})

test('settings are shown with where they are from, and what is secret is not', async () => {
  const { items } = await read<Page<Record<string, unknown>>>('settings')
  const named = (name: string) => items.find((each) => each.name === name)!
  assert.equal(named('FOUR_EYES').source, 'default')
  assert.equal(named('SECRET_KEY').secret, true)
  const shown = JSON.stringify(items)
  assert.ok(!shown.includes(String(house.settings.SECRET_KEY)))
})

test('the audit log is searched by who, what, whom and when, page by page, by numbers that fall', async () => {
  const user = await house.makeUser()
  for (const _ of [1, 2, 3, 4]) await house.signIn(user)
  const entries = await readAll<{ id: number; subject: string; action: string; at: number }>(
    `audit?subject=user:${user.id}&action=session&`,
  )
  assert.ok(entries.length >= 4)
  assert.ok(
    entries.every(({ subject, action }) => subject === `user:${user.id}` && /^session\./.test(action)),
  )
  const ids = entries.map(({ id }) => id)
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((one, other) => other - one),
  )
  const { at } = entries[0]!
  const later = await read<Page<unknown>>(`audit?subject=user:${user.id}&from=${at + 60_000 * 5}`)
  assert.deepEqual(later.items, [])
  assert.equal((await program.call('GET', `/admin/v1/audit?from=5&to=5`)).status, 400)
  assert.equal((await program.call('GET', '/admin/v1/audit?actor=%00')).status, 400)
})
