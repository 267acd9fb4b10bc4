/**
 * Lists: what a question finds is taken as CSV by whoever may see the page, and questions are saved as views
 * of one person's own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendTest, theBrokerage } from '../../src/alerts/target.ts'
import { sendMessage } from '../../src/partners/partner-message.ts'
import { permits, staffRoles } from '../../src/vocabulary/permission.ts'
import { viewedLists } from '../../src/web/frame/saved-views.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { openAdminProgram } from '../support/administration.ts'
import { queueAddress } from '../support/alerts.ts'
import { ask } from '../support/ask.ts'
import type { Browser } from '../support/browser.ts'
import { openConsole, proposeApproval } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { importLines } from '../support/imports.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'
import { draftUpstream } from '../support/upstream.ts'
import { parseCsv, tokenOf } from '../support/web.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const { db } = house.gateway.context
const receiver = await keepOpen(openReceiver())
const admin = await openConsole(house)
const own = await openPartner(house)
const { webhookId, deliveryId } = await deliverOne(own, receiver)
const other = await openPartner(house)

async function fileOf(browser: Browser, address: string): Promise<string[][]> {
  const answer = await browser.get(`${address}${address.includes('?') ? '&' : '?'}format=csv`)
  assert.equal(answer.status, 200, answer.text)
  assert.match(String(answer.headers['content-type']), /^text\/csv/)
  assert.match(
    String(answer.headers['content-disposition']),
    /^attachment; filename="countersign-[a-z]+-\w+\.csv"$/,
  )
  assert.equal(answer.headers['cache-control'], 'no-store')
  return parseCsv(answer.text)
}

/** Where each list is, and what one of its rows says. */
const lists: Record<string, { readonly by: Browser; readonly says: string; readonly path?: string }> = {
  '/console/users': { by: admin.browser, says: own.user.username },
  '/console/partners': { by: admin.browser, says: own.partner.name },
  '/console/webhooks': { by: admin.browser, says: receiver.url('/hooks') },
  '/console/staff': { by: admin.browser, says: admin.user.username },
  '/console/credentials': { by: admin.browser, says: 'Mia Maker' },
  '/console/imports': { by: admin.browser, says: 'nightly, changes, live' },
  [`${own.home}/webhooks`]: { by: own.browser, says: String(webhookId) },
  [`${own.home}/deliveries`]: { by: own.browser, says: String(deliveryId) },
  [`${own.home}/clients`]: { by: own.browser, says: own.client.id },
  [`${own.home}/members`]: { by: own.browser, says: own.user.username },
  [`${own.home}/calls`]: { by: own.browser, says: 'POST /v2/webhooks' },
  [`${own.home}/alerts`]: { by: own.browser, says: 'Test' },
  [`${own.home}/messages`]: { by: own.browser, says: 'Is =this= a formula?' },
  [`/console/partners/${own.partner.branchId}/calls`]: { by: admin.browser, says: own.client.id },
  '/console/alerts': { by: admin.browser, says: 'Test' },
  '/console/proposals': { by: admin.browser, says: 'They passed the review.' },
  '/console/providers': { by: admin.browser, says: 'Example Bank ID' },
}

/** Pages of the console and the portal that stand for themselves and are no list. */
const noLists: Record<string, string> = {
  '/console': 'what is so now; each row leads to its list',
  '/console/search': 'a few of each kind; each kind has its list',
  '/console/settings': 'what is set and how it stands',
  '/console/audit': 'has an export of its own, with evidence',
  '/console/audit/export': 'is that file',
  '/console/audit/chain': 'a check and its outcome',
  '/console/users/new': 'a form',
  '/console/staff/new': 'a form',
  '/console/imports/new': 'a form',
  '/console/providers/new': 'a form',
  '/partner/:branch': 'what is so now; each row leads to its list',
  '/partner/:branch/search': 'a few of each kind; each kind has its list',
  '/partner/:branch/test': 'a form',
  '/partner/:branch/signature': 'a form',
  '/partner/:branch/proofs': 'a form',
  '/partner/:branch/reference': 'a document',
  '/partner/:branch/events': 'a document',
  '/partner/:branch/test-holders': 'a few, with their passwords',
  '/partner/:branch/receiver': 'the last few requests, as they came',
}

const rowOf = (path: string) => path.replace(/^(\/partner|\/console\/partners)\/\d+/, '$1/:branch')

test('every page of the console and the portal that is of no one thing is a list with a file, or has a reason', () => {
  const found = pageRoutes
    .filter(({ method, path }) => method === 'GET' && /^\/(console|partner\/:branch)(\/|$)/.test(path))
    .map(({ path }) => path)
    .filter((path) => !/:(?!branch\b)/.test(path) && path !== '/console/partners/:branch')
  const known = [...Object.keys(lists).map(rowOf), ...Object.keys(noLists)]
  assert.deepEqual(found.sort(), known.sort())
})

/** Something to be seen in each. */
async function fillLists(): Promise<void> {
  await importLines(house, 'nightly', [])
  await house.gateway.context.callLog.flush()
  await sendMessage(db, own.partner, 'partner', 'Is =this= a formula?', house.act())
  for (const owner of [{ branchId: own.partner.branchId, environment: 'live' } as const, theBrokerage]) {
    const { target } = await queueAddress(house, owner, true)
    await sendTest(db, owner, Number(target), house.act())
  }
  await openAdminProgram(house)
  await draftUpstream(house)
  await proposeApproval(house, admin.user)
}

test('every list is a file too, for whoever may see its page', async () => {
  await fillLists()
  for (const [path, { by, says }] of Object.entries(lists)) {
    assert.ok((await by.get(path)).text.includes(`href="${path}?format=csv"`), `${path} offers it`)
    const [head, ...rows] = await fileOf(by, path)
    assert.ok(!head!.includes('Actions'), path)
    assert.ok(
      rows.some((row) => row.includes(says)),
      `${path}: ${JSON.stringify([head, ...rows])}`,
    )
    for (const row of rows) assert.equal(row.length, head!.length, path)
    assert.equal((await other.browser.get(`${path}?format=csv`)).status, 404, path)
  }
})

test('a file has what its question finds, whichever page of it is looked at, and no cell is a formula', async () => {
  const mark = makeUpWord().toLowerCase()
  await db.script(`INSERT INTO users (id, username, name, role, created_at, updated_at)
    SELECT 'id-' || lpad(n::text, 12, '${mark.slice(0, 1)}'), '${mark}-' || lpad(n::text, 5, '0'),
      '=HYPERLINK("https://evil.example")', 'holder', now(), now() FROM generate_series(1, 700) n`)
  const [head, ...rows] = await fileOf(admin.browser, `/console/users?q=${mark}-0&after=${mark}-00500`)
  assert.deepEqual(head, ['Username', 'State', 'Name', 'Role', 'Id', 'Since (UTC)'])
  assert.equal(rows.length, 700)
  assert.equal(rows[0]![0], `${mark}-00001`)
  assert.ok(rows.every(([, , name]) => name === `'=HYPERLINK("https://evil.example")`))
  await db.script(`INSERT INTO partners (name, status, status_reason, created_at, updated_at)
    SELECT '${mark} ' || n, 'declined', 'a test', now(), now() FROM generate_series(1, 10100) n`)
  const all = await fileOf(admin.browser, '/console/partners?state=declined')
  assert.equal(all.length, 1 + 10_000 + 1)
  assert.deepEqual(all.at(-1), ['There is more: this file ends after 10,000 rows. Narrow the search.'])
  assert.equal((await admin.browser.get('/console/webhooks?condition=moon&format=csv')).status, 400)
})

test('a file of people’s data is recorded with what was asked, and no other site may bring that about', async () => {
  const entries = () =>
    ask<{ actor: string; details: object }>(
      db,
      "SELECT actor, subject, details FROM audit_entries WHERE action = 'list.exported' ORDER BY id",
    )
  const before = (await entries()).length
  await fileOf(admin.browser, '/console/users?q=ada')
  await fileOf(own.browser, `${own.home}/members`)
  await fileOf(own.browser, `${own.home}/deliveries`)
  assert.deepEqual((await entries()).slice(before), [
    {
      actor: `user:${admin.user.id}`,
      subject: 'list:users',
      details: { list: 'users', search: { q: 'ada' } },
    },
    {
      actor: `user:${own.user.id}`,
      subject: `branch:${own.partner.branchId}`,
      details: { list: 'members', search: {} },
    },
  ])
  const foreign = { 'sec-fetch-site': 'cross-site' }
  assert.equal((await admin.browser.get('/console/users?format=csv', foreign)).status, 403)
  assert.equal((await entries()).length, before + 2)
})

test('whose roles do not show a list do not get its file', async () => {
  for (const role of staffRoles) {
    const { browser } = await openConsole(house, `Only ${role}`, [role])
    for (const path of Object.keys(lists).filter((each) => each.startsWith('/console/'))) {
      const { permission } = pageRoutes.find((route) => route.path === rowOf(path))!.gate
      const file = await browser.get(`${path}?format=csv`)
      assert.equal(file.status, permits([role], permission!) ? 200 : 403, `${role} ${path}`)
    }
  }
})

const save = (browser: Browser, list: string, query: string, fields: Record<string, string>) =>
  browser.get(`${list}?${query}`).then((page) => browser.submit(page, '/account/views/save', fields))

test('a question is saved under a name, used, replaced and removed, by its own person alone', async () => {
  const list = `${own.home}/deliveries`
  const plain = await own.browser.get(list)
  assert.doesNotMatch(plain.text, /Save this view/, 'what asks nothing is no view')
  const saved = await save(own.browser, list, 'state=exhausted&before=9', { name: ' Failed for good ' })
  assert.equal(saved.location, `${list}?state=exhausted`)
  const shown = (await own.browser.get(saved.location!)).text
  assert.match(shown, /Saved as “Failed for good”/)
  assert.ok(shown.includes(`<a href="${list}?state=exhausted" aria-current="page">Failed for good</a>`))
  assert.match(shown, /Remove this view/)
  await save(own.browser, list, 'state=waiting', { name: 'Failed for good' })
  const replaced = (await own.browser.get(list)).text
  assert.ok(replaced.includes(`<a href="${list}?state=waiting">Failed for good</a>`))
  assert.doesNotMatch(replaced, /state=exhausted/)
  assert.match((await own.browser.get('/account/views')).text, /Failed for good[\s\S]*Deliveries of branch/)

  const colleague = await house.makeUser()
  await ask(db, "INSERT INTO partner_members VALUES ($1, $2, 'owner', now())", [
    own.partner.branchId,
    colleague.id,
  ])
  const beside = await house.signIn(colleague)
  assert.doesNotMatch((await beside.get(list)).text, /Failed for good/)
  assert.doesNotMatch((await (await house.signIn(own.user, 'sandbox')).get(list)).text, /Failed for good/)
  const csrf = await tokenOf(beside)
  await beside.post('/account/views/remove', { csrf, list, name: 'Failed for good' })

  const page = await own.browser.get(`${list}?state=waiting`)
  const removed = await own.browser.submit(page, '/account/views/remove', {})
  assert.equal(removed.location, `${list}?state=waiting`)
  const told = await own.browser.get(removed.location!)
  assert.match(told.text, /“Failed for good” is removed\./)
  assert.doesNotMatch(told.text, /class="views"/)
  const again = await own.browser.submit(told, '/account/views/save', {})
  assert.equal(again.status, 303, 'undone')
  assert.match((await own.browser.get(list)).text, /class="views"[\s\S]*Failed for good/)
})

test('a view is of a list that there is, and leads nowhere else', async () => {
  const csrf = await tokenOf(own.browser)
  const sandbox = await house.signIn(own.user, 'sandbox')
  const inSandbox = await tokenOf(sandbox)
  for (const list of [
    'https://evil.example/console/users',
    '//evil.example/console/users',
    '/console/users/../../account',
    '/console/users?q=1',
    '/console',
    '/account',
    '/partner/x/deliveries',
    '/partner/1/deliveries/2',
    'constructor',
  ]) {
    const answer = await own.browser.post('/account/views/save', { csrf, list, query: 'q=a', name: 'evil' })
    assert.equal(answer.status, 400, list)
  }
  const fields = { csrf: inSandbox, list: '/console/users', query: 'q=a', name: 'evil' }
  assert.equal((await sandbox.post('/account/views/save', fields)).status, 400, 'the sandbox has no console')
  const query = 'q=<script>&x=#frag\nset-cookie: a=b'
  const odd = await own.browser.post('/account/views/save', {
    csrf,
    list: '/console/users',
    query,
    name: '<i>',
  })
  assert.equal(odd.location, `/console/users?${new URLSearchParams(query)}`)
  const page = (await own.browser.get('/account/views')).text
  assert.doesNotMatch(page, /<i>|<script>q/)
  for (const name of ['', ' ', 'x'.repeat(61), 'a\nb'])
    assert.equal(
      (await own.browser.post('/account/views/save', { csrf, list: '/console/users', query: 'q=a', name }))
        .status,
      400,
      JSON.stringify(name),
    )
})

test('twenty views of a list are kept, however many are saved at once, and go with their person', async () => {
  const { browser, user } = await openConsole(house, 'Vera Views')
  const csrf = await tokenOf(browser)
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      browser.post('/account/views/save', {
        csrf,
        list: '/console/users',
        query: `q=${n}`,
        name: `view ${n}`,
      }),
    ),
  )
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  assert.deepEqual([count(303), count(409)], [20, 10])
  const one = { csrf, list: '/console/partners', query: 'q=a', name: 'view' }
  assert.equal(
    (await browser.post('/account/views/save', one)).status,
    303,
    'another list has its own twenty',
  )

  await importLines(house, 'nightly', [
    { kind: 'customer', externalId: 'V-1', version: 1, username: 'vera', name: 'Vera Customer' },
  ])
  const [customer] = await ask<{ id: string }>(db, "SELECT id FROM users WHERE username = 'vera'")
  await ask(
    db,
    `INSERT INTO saved_views VALUES ($1, 'live', '/partner/1/deliveries', 1, 'mine', 'state=waiting')`,
    [customer!.id],
  )
  await importLines(house, 'nightly', [{ kind: 'customer', externalId: 'V-1', version: 2, op: 'remove' }])
  const left = await ask(db, 'SELECT FROM saved_views WHERE user_id = ANY ($1)', [[customer!.id, user.id]])
  assert.equal(left.length, 21, 'the operator’s own')
})

test('the lists of which views are saved are pages of the table', () => {
  for (const path of viewedLists.keys())
    assert.ok(
      pageRoutes.some((route) => route.method === 'GET' && route.path === path),
      path,
    )
})
