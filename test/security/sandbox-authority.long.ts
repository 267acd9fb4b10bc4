/**
 * Whoever has a session of the sandbox, an operator's or a member's even, has nothing of the live site with
 * it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listAuthorizations, setAuthorizationPaused } from '../../src/oauth/authorization.ts'
import { listApiTokens } from '../../src/users/api-token.ts'
import type { User } from '../../src/users/user.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { Browser, send } from '../support/browser.ts'
import { makeAdministrator, openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { openPartner } from '../support/portal.ts'
import { assertGuarded, markTables, tokenOf } from '../support/web.ts'

const house = await openHouse()
const partner = await openPartner(house)
await makeAdministrator(house, partner.user)
/** A member of the partner who is an operator too, signed in to the sandbox. */
const browser = await house.signIn(partner.user, 'sandbox')
const csrf = await tokenOf(browser)

const ofLiveSite = pageRoutes.filter(({ sites }) => !sites.includes('sandbox'))

const fill = (path: string, user: User = partner.user) =>
  path
    .replace('/users/:id', `/users/${user.id}`)
    .replace(':branch', String(partner.partner.branchId))
    .replaceAll(/:\w+/g, '1')

test('the console, the security of a person and what concerns a partner as a whole are on the live site alone, the built-in receiver, test holders and who comes from the live site in the sandbox', () => {
  const alone =
    /^\/console\b|^\/login\/(reset\/|sandbox$)|^\/\.well-known\/change-password$|^\/account\/(security|password|devices|history)\b|\/members\b|\/messages\b|^\/partner\/(apply|accept|decline)$|^\/partner\/invitation\/|^\/partner\/:branch\/apply$|\/clients\/refresh$/
  const inSandbox = /^\/partner\/:branch\/(receiver|test-holders)\b|^\/login\/live\b/
  const sitesOf = (path: string) =>
    alone.test(path) ? ['live'] : inSandbox.test(path) ? ['sandbox'] : ['live', 'sandbox']
  for (const { path, sites } of pageRoutes) assert.deepEqual([...sites], sitesOf(path), path)
})

for (const { method, path } of ofLiveSite) {
  test(`${method} ${path} is not in the sandbox, which says where it is`, async () => {
    const { db } = house.gateway.context
    const before = await markTables(db)
    const address = fill(path)
    const answer =
      method === 'GET'
        ? await browser.get(address)
        : await browser.post(address, { csrf, seen: 'approved', reason: 'x' })
    assert.equal(answer.status, 404)
    assertGuarded(answer, path)
    assert.ok(
      answer.text.includes(`<a href="${house.baseUrl}${method === 'GET' ? address : '/account'}">`),
      answer.text,
    )
    assert.deepEqual(await markTables(db), before)
    const other = await send(house.sandboxUrl + address, { method: 'PUT', headers: { accept: 'text/html' } })
    assert.equal(other.status, 404, 'whatever the method')
  })
}

test('who asks for JSON is told in JSON', async () => {
  const answer = await send(`${house.sandboxUrl}/console`, { headers: { accept: 'application/json' } })
  assert.equal(answer.status, 404)
  assert.match(
    answer.json<{ error_description: string }>().error_description,
    new RegExp(`live site.*${house.baseUrl}/console`),
  )
})

test('a sandbox session makes no live token, sees none and revokes none', async () => {
  const user = await house.makeUser()
  const live = await house.makeToken(user)
  const play = await house.signIn(user, 'sandbox')
  const page = await play.get('/account/api')
  assert.match(page.text, /You have no tokens\./)
  const made = await play.submit(page, '/account/api/tokens', { name: 'mine', environment: 'live' })
  assert.equal(made.status, 400)
  const { db } = house.gateway.context
  const [token, ...others] = await listApiTokens(db, user.id)
  assert.deepEqual(others, [])
  assert.equal(
    (await play.post('/account/api/revoke', { csrf: await tokenOf(play), token: String(token!.id) })).status,
    303,
  )
  assert.equal((await house.profile(live)).status, 200)
  const own = await play.submit(page, '/account/api/tokens', { name: 'mine' })
  assert.match(own.text, /Sandbox token created/)
})

test('a sandbox session neither pauses, resumes nor revokes a live application', async () => {
  const user = await house.makeUser()
  await house.approve(partner.client, await house.signIn(user))
  const { db } = house.gateway.context
  const [approved] = await listAuthorizations(db, { userId: user.id })
  const play = await house.signIn(user, 'sandbox')
  const fields = { csrf: await tokenOf(play), authorization: String(approved!.id) }
  const stateOf = async () =>
    (await listAuthorizations(db, { userId: user.id })).map(({ pausedAt }) => pausedAt)
  for (const act of ['pause', 'revoke'])
    assert.equal((await play.post(`/account/${act}`, fields)).status, 303)
  assert.deepEqual(await stateOf(), [null])
  const paused = { id: approved!.id, ownerId: user.id, paused: true }
  await setAuthorizationPaused(db, paused, house.act())
  const before = await stateOf()
  await play.post('/account/resume', fields)
  assert.deepEqual(await stateOf(), before)
  assert.notEqual(before[0], null)
})

test('an operator’s sandbox session changes no partner, and is no session of the live console', async () => {
  const admin = await openConsole(house)
  const play = await house.signIn(admin.user, 'sandbox')
  const target = await house.makePartner()
  const action = `/console/partners/${target.branchId}/suspend`
  const fields = { csrf: await tokenOf(play), seen: 'approved', reason: 'Because I can.' }
  assert.equal((await play.post(action, fields)).status, 404)
  const carried = new Browser(house.baseUrl)
  carried.cookies.set('countersign-live-session', play.cookies.get('countersign-sandbox-session')!)
  assert.match((await carried.post(action, fields)).location!, /^\/login\?/)
  assert.match((await admin.browser.get(`/console/partners/${target.branchId}`)).text, /approved<\/span>/)
})

test('no page of the sandbox leads to what is not there', async () => {
  const { home } = partner
  const pages = [
    '/account',
    '/account/api',
    '/partner',
    home,
    ...['webhooks', 'clients', 'test', 'calls', 'reference', 'deliveries', 'receiver'].map(
      (each) => `${home}/${each}`,
    ),
  ]
  const forms = pageRoutes.filter(({ method, sites }) => method === 'POST' && sites.includes('sandbox'))
  const patterns = forms.map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`))
  for (const address of pages) {
    const page = await browser.get(address)
    assert.ok(page.status === 200 || page.status === 303, `${address}: ${page.status}`)
    for (const [, href] of page.text.matchAll(/<a [^>]*href="(\/[^"]*)"/g))
      assert.notEqual((await browser.get(href!.replaceAll('&amp;', '&'))).status, 404, `${address} → ${href}`)
    for (const [, action] of page.text.matchAll(/<form [^>]*method="post"[^>]* action="([^"]*)"/g))
      assert.ok(
        patterns.some((pattern) => pattern.test(action!)),
        `${address} → ${action}`,
      )
  }
})
