/**
 * Each role at each row of the console's table: what it may, what it is refused, and that nothing is offered
 * which would be refused.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../../src/api/routes.ts'
import { findEntries } from '../../../src/audit/audit.ts'
import { setUserStatus } from '../../../src/users/user.ts'
import {
  type Permission,
  permissions,
  permissionsOf,
  permits,
  rolesWith,
  type StaffRole,
  staffRoles,
} from '../../../src/vocabulary/permission.ts'
import { pageRoutes } from '../../../src/web/routes.ts'
import { type ConsoleSession, openConsole } from '../../support/console.ts'
import { crawl, formsOf, makeEverything, rowOf } from '../../support/forms-of-pages.ts'
import { openHouse } from '../../support/gateway.ts'
import { holdSnapshot } from '../../support/imports.ts'
import { setUpApp } from '../../support/second-factor.ts'
import { assertGuarded, tokenOf } from '../../support/web.ts'
import { pages } from './rows.ts'

const house = await openHouse()
const { db } = house.gateway.context
const ofConsole = pageRoutes.filter(({ path }) => /^\/console\b/.test(path))

const sessions = new Map<StaffRole, ConsoleSession>()
for (const role of staffRoles) sessions.set(role, await openConsole(house, `Our ${role}`, [role]))
const everything = await makeEverything(house)
const guarded = await house.makeUser()
await setUpApp(house, await house.signIn(guarded))
const lockedStaff = await house.makeOperator('Left Longago', ['viewer'])
await setUserStatus(db, lockedStaff, 'disabled', house.act())

const held = await holdSnapshot(house)

/** Of somebody else, so that only the role is missing. */
const waiting = (await pages['/console/proposals/:id']!(house, lockedStaff)).address.replace('/console', '')

/** What each page of the console shows, made once: to look changes nothing. */
const addresses = new Map<string, string>()
for (const path of Object.keys(pages)) addresses.set(path, (await pages[path]!(house, lockedStaff)).address)

function permissionOf(method: 'GET' | 'POST', address: string): Permission | undefined {
  const path = rowOf(method, address)
  const route = ofConsole.find((each) => each.method === method && each.path === path)
  assert.ok(route, `${method} ${address} is in the table`)
  return route.gate.permission
}

test('every row of the console names the permission that it takes, and no role lacks what it needs to be let in at all', () => {
  for (const { method, path, gate } of ofConsole) assert.ok(gate.permission, `${method} ${path}`)
  for (const { method, path, gate } of pageRoutes)
    assert.equal(gate.permission !== undefined, /^\/console\b/.test(path), `${method} ${path}`)
  // What only looks changes nothing.
  for (const { path, gate } of ofConsole.filter(({ method }) => method === 'POST'))
    assert.equal(gate.permission!.endsWith('.see'), path === '/console/audit/chain/verify', path)
})

/** What looking takes, and what changing, by the beginning of the address: the first that fits. */
const byAddress: readonly (readonly [RegExp, look: Permission, change: Permission])[] = [
  [/^\/console(\/search)?$/, 'overview.see', 'overview.see'],
  [/^\/console\/webhooks\/:id\/recover$/, 'webhooks.operate', 'webhooks.operate'],
  [/^\/console\/alerts/, 'webhooks.see', 'webhooks.operate'],
  [/^\/console\/webhooks/, 'webhooks.see', 'webhooks.operate'],
  [/^\/console\/partners/, 'partners.see', 'partners.manage'],
  [/^\/console\/users\/new$/, 'users.manage', 'users.manage'],
  [/^\/console\/users/, 'users.see', 'users.manage'],
  [/^\/console\/providers/, 'providers.manage', 'providers.manage'],
  [/^\/console\/imports/, 'imports.manage', 'imports.manage'],
  [/^\/console\/brand/, 'brand.manage', 'brand.manage'],
  [/^\/console\/proposals/, 'overview.see', 'proposals.decide'],
  [/^\/console\/audit\/export$/, 'audit.export', 'audit.export'],
  [/^\/console\/audit/, 'audit.see', 'audit.see'],
  [/^\/console\/settings/, 'settings.see', 'settings.see'],
  [/^\/console\/credentials/, 'staff.see', 'staff.manage'],
  [/^\/console\/staff\/new$/, 'staff.manage', 'staff.manage'],
  [/^\/console\/staff/, 'staff.see', 'staff.manage'],
]

test('an address says what it takes, to look and to change something', () => {
  for (const { method, path, gate } of ofConsole) {
    const [, look, change] = byAddress.find(([pattern]) => pattern.test(path)) ?? []
    assert.equal(gate.permission, method === 'GET' ? look : change, `${method} ${path}`)
  }
})

test('viewers and auditors change nothing, and only who watches over staff gives out roles', () => {
  for (const role of ['viewer', 'auditor'] as const)
    assert.deepEqual(
      permissionsOf[role].filter((permission) => !/\.(see|export)$/.test(permission)),
      [],
    )
  assert.deepEqual(rolesWith('staff.manage'), ['security-officer', 'administrator'])
  assert.deepEqual(rolesWith('administrators.manage'), ['administrator'])
  assert.deepEqual(rolesWith('partners.manage'), ['partner-manager', 'administrator'])
  assert.deepEqual(rolesWith('users.manage'), ['support', 'administrator'])
  assert.deepEqual(rolesWith('audit.export'), ['auditor', 'administrator'])
})

/** Whatever changes something leaves an entry; what the house does by itself leaves none of theirs. */
const actsOf = ({ user }: ConsoleSession) => findEntries(db, { actor: `user:${user.id}`, limit: 1_000 })

for (const [role, staffSession] of sessions) {
  const { browser } = staffSession

  test(`a ${role} sees the pages that the role may see, and is told which roles open the others`, async () => {
    for (const { path, gate } of ofConsole.filter(({ method }) => method === 'GET')) {
      const address = addresses.get(path)!
      const answer = await browser.get(address)
      const isOpen = permits([role], gate.permission!)
      assert.equal(answer.status, isOpen ? 200 : 403, `${path}: ${answer.text}`)
      if (isOpen) continue
      assertGuarded(answer, path)
      assert.match(answer.text, /This needs another role[\s\S]*Administrator/, path)
      assert.equal((await browser.get(address, { accept: 'text/event-stream' })).status, 403, path)
    }
  })

  test(`a ${role} changes nothing by a form that the role may not send`, async () => {
    const csrf = await tokenOf(browser)
    const before = await actsOf(staffSession)
    for (const { path, gate } of ofConsole.filter(({ method }) => method === 'POST')) {
      if (permits([role], gate.permission!)) continue
      const address = path
        .replace(':branch', String(everything.own.partner.branchId))
        .replace(':client', everything.own.client.id)
        .replace('/users/:id', `/users/${guarded.id}`)
        .replace('/staff/:id', `/staff/${lockedStaff.id}`)
        .replace('/proposals/:id', waiting)
        .replace('/imports/:id', `/imports/${held.id}`)
        .replaceAll(/:\w+/g, '1')
      const answer = await browser.post(address, { csrf, reason: 'x', seen: 'approved', role: 'viewer' })
      assert.equal(answer.status, 403, path)
    }
    assert.deepEqual(await actsOf(staffSession), before)
  })

  test(`nothing is offered to a ${role} that would be refused: links, forms, the menu, the queue, the search`, async () => {
    const own = everything.own.partner.branchId
    const starts = [
      ...['/console', `/console/partners/${own}`, '/console/search?q=a', '/console/search?q=Our'],
      ...['/console/search?q=Applicant', '/console/webhooks'],
      ...(permits([role], 'users.see')
        ? [guarded, lockedStaff, everything.user].map(({ id }) => `/console/users/${id}`)
        : []),
    ]
    const seen = await crawl(browser, starts)
    assert.ok(seen.size > 8, `${seen.size} pages`)
    let offered = 0
    for (const [page, answer] of seen) {
      if (!page.startsWith('/console')) continue
      const links = [...answer.text.matchAll(/(?:href|formaction)="(\/console[^"#]*)/g)].map(
        ([, href]) => href!,
      )
      const forms = formsOf(page, answer).filter(({ action }) => action.startsWith('/console'))
      for (const link of links)
        assert.ok(
          permits([role], permissionOf('GET', link.replaceAll('&amp;', '&'))!),
          `${page} leads to ${link}`,
        )
      for (const { action } of forms)
        assert.ok(permits([role], permissionOf('POST', action)!), `${page} has the form ${action}`)
      offered += forms.length
    }
    assert.equal(offered > 0, role !== 'viewer', `${offered} forms`)
  })
}

test('every permission opens something, and somebody beside administrators has it', () => {
  // Rows that are not here yet; and what an act on an administrator takes beside its row's.
  const elsewhere: readonly Permission[] = ['keys.manage', 'administrators.manage']
  const ofPrograms = apiRoutes.map(({ permission }) => permission)
  const named = new Set([...ofConsole.map(({ gate }) => gate.permission), ...ofPrograms])
  for (const permission of permissions.filter((each) => !elsewhere.includes(each)))
    assert.ok(named.has(permission), permission)
})

test('a role that is taken counts no more with the next click, and one that is given does', async () => {
  const { user, browser } = await openConsole(house, 'Stan Staff', ['viewer'])
  const boss = await openConsole(house)
  const page = `/console/staff/${user.id}`
  assert.equal((await browser.get('/console/audit')).status, 403)
  const give = await boss.browser.submit(await boss.browser.get(page), `${page}/give`, {
    role: 'auditor',
    reason: 'The yearly audit.',
  })
  assert.equal(give.status, 303, give.text)
  assert.equal((await browser.get('/console/audit')).status, 200)
  const told = await boss.browser.get(page)
  assert.match(told.text, /The role is given\./)
  assert.equal(
    (await boss.browser.submit(told, `${page}/take`, { role: 'auditor', reason: 'x' })).status,
    303,
  )
  assert.equal((await browser.get('/console/audit')).status, 403)
})

test('whoever only helps people changes nothing about staff, and is offered nothing of it', async () => {
  const support = sessions.get('support')!
  const { user } = await openConsole(house, 'Olga Administrator')
  const page = await support.browser.get(`/console/users/${user.id}`)
  assert.deepEqual(
    formsOf('', page).filter(({ action }) => action.startsWith('/console')),
    [],
  )
  const csrf = await tokenOf(support.browser)
  const before = await actsOf(support)
  for (const { path } of ofConsole.filter(
    ({ method, path }) => method === 'POST' && path.startsWith('/console/users/'),
  )) {
    const address = path.replace(':id', user.id)
    const fields = { csrf, reason: 'x', session: '1', token: '1', authorization: '1' }
    assert.equal((await support.browser.post(address, fields)).status, 403, path)
  }
  assert.deepEqual(await actsOf(support), before)
})

test('whoever looks after staff and helps people changes nothing about an administrator, and is offered nothing of it', async () => {
  const officer = await openConsole(house, 'Otto Officer', ['support', 'security-officer'])
  const { user } = await openConsole(house, 'Olga Administrator')
  const page = await officer.browser.get(`/console/users/${user.id}`)
  const offered = formsOf('', page).filter(({ action }) => action.startsWith('/console'))
  assert.deepEqual(offered, [])
  const csrf = await tokenOf(officer.browser)
  const before = await actsOf(officer)
  const acts = ofConsole.filter(
    ({ method, path }) => method === 'POST' && path.startsWith('/console/users/:id/'),
  )
  assert.ok(acts.length > 8)
  for (const { path } of acts) {
    const fields = {
      csrf,
      reason: 'x',
      session: '1',
      token: '1',
      authorization: '1',
      email: 'new@broker.example',
    }
    const answer = await officer.browser.post(path.replace(':id', user.id), fields)
    assert.equal(answer.status, 403, path)
    assert.match(answer.text, /Only another administrator may do this/, path)
  }
  assert.deepEqual(await actsOf(officer), before)
})

test('staff without a role are told so, and by whom they get one', async () => {
  const { browser } = await openConsole(house, 'Nora New', [])
  const answer = await browser.get('/console')
  assert.equal(answer.status, 403)
  assert.match(
    answer.text,
    /You have no role yet\.[\s\S]*An administrator or a security officer can give you one\./,
  )
})
