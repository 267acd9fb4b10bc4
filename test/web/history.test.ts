/**
 * Security history: everything that happened to an account and nothing of anybody else's, in plain words,
 * page by page.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditAction } from '../../src/audit/action.ts'
import { gatewayAct, insertEntry } from '../../src/audit/audit.ts'
import { listAuthorizations, revokeAuthorization } from '../../src/oauth/authorization.ts'
import { setPassword } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import type { Browser } from '../support/browser.ts'
import { openHouse, password, type TokenBody } from '../support/gateway.ts'
import { guess } from '../support/web.ts'

const house = await openHouse()

async function titlesOf(browser: Browser, path = '/account/history'): Promise<string[]> {
  const page = await browser.get(path)
  assert.equal(page.status, 200)
  return [...page.text.matchAll(/<li[^>]*>\s*<div><strong>([^<]*)<\/strong>/g)].map((match) => match[1]!)
}

test('sign-ins, applications, tokens, devices and the password are told, newest first', async () => {
  const user = await house.makeUser(undefined, [])
  const client = await house.makeClient()
  await guess(house, user.username)
  const browser = await house.signIn(user)
  const act = async (page: string, action: string, fields = {}) =>
    browser.submit(await browser.get(page), action, fields)
  const code = (await house.approve(client, browser, { scope: 'trade read' })).get('code')!
  const { refresh_token } = (await house.exchange(client, code)).json<TokenBody>()
  await house.refresh(client, refresh_token!)
  await act('/account', '/account/pause')
  await act('/account', '/account/resume')
  await act('/account', '/account/revoke')
  await act('/account/api', '/account/api/tokens', { name: 'notebook', environment: 'live' })
  await act('/account/api', '/account/api/revoke')
  await house.signIn(user)
  await act('/account/devices', '/account/devices/close/others')
  const next = 'a different password'
  await act('/account/password', '/account/password', { current: password, next, again: next })
  assert.deepEqual(await titlesOf(browser), [
    'You changed your password',
    'Signed out everywhere else',
    'Signed in',
    'Revoked an API token',
    'Made the API token “notebook”',
    'Revoked the access of Portfolio Pal',
    'Resumed Portfolio Pal',
    'Paused Portfolio Pal',
    'Allowed Portfolio Pal to use your account',
    'Signed in',
    'A sign-in was refused',
    'The brokerage opened your access',
  ])
  const page = (await browser.get('/account/history')).text
  assert.match(page, /See your account · Trade for you/)
  assert.match(page, /from 127\.0\.0\.1/)
})

test('what the brokerage does to an account is told too', async () => {
  const user = await house.makeUser(undefined, [])
  const client = await house.makeClient()
  const { db, passwords } = house.gateway.context
  await house.approve(client, await house.signIn(user))
  const [connected] = await listAuthorizations(db, { userId: user.id })
  await revokeAuthorization(db, { id: connected!.id, reason: 'asked by telephone' }, house.act())
  await setPassword(db, passwords, user, password, house.act())
  const titles = await titlesOf(await house.signIn(user))
  assert.deepEqual(titles.slice(1, 3), [
    'The brokerage set a new password for you',
    'The brokerage ended the access of Portfolio Pal',
  ])
})

test('nobody sees anything of anybody else', async () => {
  const [one, other] = [await house.makeUser(undefined, []), await house.makeUser(undefined, [])]
  await guess(house, one.username)
  await house.approve(await house.makeClient(), await house.signIn(one))
  assert.deepEqual(await titlesOf(await house.signIn(other)), [
    'Signed in',
    'The brokerage opened your access',
  ])
})

test('a long history is read page by page without a gap or a repetition', async () => {
  const user = await house.makeUser(undefined, [])
  const browser = await house.signIn(user)
  const { db } = house.gateway.context
  for (let place = 0; place < 65; place++) {
    const at = house.clock.now()
    const act = place % 2 === 0 ? { by: { name: `user:${user.id}` }, at } : gatewayAct(at)
    await insertEntry(db, act, 'api_token.created', `user:${user.id}`, { name: `number ${place}` })
  }
  const seen: string[] = []
  let path: string | undefined = '/account/history'
  let pages = 0
  while (path !== undefined) {
    seen.push(...(await titlesOf(browser, path)))
    const older: RegExpExecArray | null = /href="(\/account\/history\?before=\d+)">Older/.exec(
      (await browser.get(path)).text,
    )
    path = older?.[1]
    pages++
  }
  assert.equal(pages, 3)
  assert.deepEqual(seen, [
    ...Array.from({ length: 65 }, (_, place) => `Made the API token “number ${64 - place}”`),
    'Signed in',
    'The brokerage opened your access',
  ])
})

test('a place that cannot be is the first page', async () => {
  const browser = await house.signIn(await house.makeUser(undefined, []))
  for (const before of ['', 'x', '-1', '1e9', '9'.repeat(20), '1; DROP TABLE users']) {
    assert.equal((await titlesOf(browser, `/account/history?before=${encodeURIComponent(before)}`)).length, 2)
  }
  assert.deepEqual(await titlesOf(browser, '/account/history?before=0'), [])
})

test('both halves of the question are answered by an index', async () => {
  const { db } = house.gateway.context
  await db.transaction(async (sql) => {
    await sql.script('SET LOCAL enable_seqscan = off')
    const plan = await ask<{ 'QUERY PLAN': string }>(
      sql,
      `EXPLAIN SELECT * FROM audit_entries
        WHERE coalesce('user:' || (details ->> 'userId'), subject) = 'user:x' AND id < 10
          AND actor NOT LIKE 'user:%' AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated')
        ORDER BY id DESC LIMIT 30`,
    )
    const text = plan.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(text, /audit_entries_about_holder/)
    assert.doesNotMatch(text, /Sort/)
  })
})

test('history speaks of people and partners by name, of staff as the brokerage, and shows no id', async () => {
  const { db } = house.gateway.context
  const [user, colleague] = [await house.makeUser(undefined, []), await house.makeUser(undefined, [])]
  const staff = await house.makeUser(undefined, [])
  await ask(db, "UPDATE users SET name = 'Grace Colleague' WHERE id = $1", [colleague.id])
  await ask(db, "UPDATE users SET role = 'operator', name = 'Olga Operator' WHERE id = $1", [staff.id])
  const { branchId, name } = await house.makePartner()
  const log = (actor: string, action: AuditAction, subject: string, details: Record<string, unknown>) =>
    insertEntry(db, { by: { name: actor }, at: house.clock.now() }, action, subject, details)
  const branch = `branch:${branchId}`
  const change = { userId: colleague.id, role: 'developer', from: 'viewer' }
  await log(`user:${user.id}`, 'partner.role_changed', branch, change)
  await log(`user:${staff.id}`, 'user.role_given', `user:${user.id}`, { role: 'support' })
  await log('operator:olga', 'partner.member_removed', branch, { userId: user.id })
  const [, removed, byStaff, own] = await titlesOf(await house.signIn(user))
  assert.match(own!, new RegExp(`^You changed the role of Grace Colleague at ${name} `))
  assert.match(byStaff!, /^The brokerage /)
  assert.match(removed!, new RegExp(`^The brokerage removed you from ${name}`))
  assert.doesNotMatch(`${own} ${byStaff} ${removed}`, /id-[a-z0-9]{12}|branch|operator|Olga/)
})
