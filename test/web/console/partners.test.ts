/** Partners in the console: found, read and decided about, and what they feel of it at once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { applyAsPartner, applyWithDetails, getPartner, type Partner } from '../../../src/partners/partner.ts'
import { askForRefresh, findRefreshRequest } from '../../../src/partners/refresh-request.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import type { Answer } from '../../support/browser.ts'
import { failCalls } from '../../support/calls.ts'
import { openConsole, press, turnPages } from '../../support/console.ts'
import { openHouse, type TokenBody } from '../../support/gateway.ts'
import { openPartner, suspend } from '../../support/portal.ts'

const house = await openHouse()
const admin = await openConsole(house)

const home = ({ branchId }: Partner) => `/console/partners/${branchId}`
const again = ({ branchId }: Partner) => getPartner(house.gateway.context.db, String(branchId))

async function apply(name: string, purpose = 'Portfolios for everybody') {
  const { db } = house.gateway.context
  const user = await house.makeUser()
  const draft = { name, website: 'https://app.example.com', contact: 'dev@app.example.com', purpose }
  const act = { by: { name: `user:${user.id}` }, at: house.clock.now() }
  const partner = await applyWithDetails(db, user, draft, act)
  return { partner, user, browser: await house.signIn(user) }
}

/** The names in the table, not those that wait above it. */
function namesIn({ text }: Answer): string[] {
  const table = text.slice(text.indexOf('<tbody'))
  return [...table.matchAll(/<td[^>]*><a href="\/console\/partners\/\d+">([^<]*)</g)].map(
    (match) => match[1]!,
  )
}

test('an operator reads an application that waits and approves it, and its member may enter', async () => {
  const { partner, user, browser } = await apply('Waiting & Sons')
  const list = await admin.browser.get('/console/partners')
  assert.match(list.text, /Applications <span class="state wait">/)
  assert.match(list.text, /<strong>Waiting &amp; Sons<\/strong>/)
  const page = await admin.browser.get(home(partner))
  for (const words of [
    'https://app.example.com',
    'dev@app.example.com',
    'Portfolios for everybody',
    user.username,
  ])
    assert.ok(page.text.includes(words), words)
  assert.ok(page.text.includes(`href="/console/audit?subject=branch:${partner.branchId}"`))
  const done = await press(admin.browser, home(partner), '/approve')
  assert.match((await assertAnswered(admin.browser, done)).text, /^The partner is approved/)
  assert.equal((await browser.get(`/partner/${partner.branchId}/webhooks`)).status, 200)
  const subject = `branch:${partner.branchId}`
  const [entry] = await findEntries(house.gateway.context.db, { subject, action: 'partner.approved' })
  assert.deepEqual([entry!.actor, entry!.address], [`user:${admin.user.id}`, '127.0.0.1'])
  assert.equal(entry!.requestId, done.headers['x-request-id'])
})

test('what a stranger wrote in an application is text on the page, and nothing else', async () => {
  const { partner } = await apply('<img src=x>', '"><script>alert(1)</script>')
  for (const address of ['/console/partners', home(partner)]) {
    const page = await admin.browser.get(address)
    assert.match(page.text, /&lt;img src=x&gt;/)
    assert.doesNotMatch(page.text, /<img src=x>|<script>/)
  }
  const told = await admin.browser.get(`${home(partner)}?done=<b>paid</b>`)
  assert.doesNotMatch(told.text, /paid/)
})

test('a suspension needs a reason, which the partner reads; tokens are refused with the next request and come back', async () => {
  const { partner, browser, client } = await openPartner(house)
  const code = await house.makeCode(client)
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const refused = await press(admin.browser, home(partner), '/suspend', { reason: '  ' })
  assert.equal(refused.status, 400)
  assert.match(
    refused.text,
    /name="reason"[^>]*aria-invalid="true" aria-describedby="reason-problem reason-hint"/,
  )
  assert.equal((await again(partner)).status, 'approved')
  assert.equal((await house.profile(access_token)).status, 200)

  await press(admin.browser, home(partner), '/suspend', { reason: 'Complaints of holders' })
  assert.equal((await house.profile(access_token)).status, 401)
  assert.match((await browser.get(`/partner/${partner.branchId}`)).text, /Reason: Complaints of holders/)
  assert.match((await admin.browser.get(home(partner))).text, /Suspended\. Reason: Complaints of holders/)

  await press(admin.browser, home(partner), '/approve')
  assert.equal((await house.profile(access_token)).status, 200)
  assert.equal((await again(partner)).statusReason, null)
})

test('nobody undoes what they have not seen: a page from before the suspension approves nothing', async () => {
  const { db } = house.gateway.context
  const { partner } = await apply('Stale Ltd')
  const old = await admin.browser.get(home(partner))
  await suspend(house, partner, 'Fraud')
  const late = await admin.browser.submit(old, `${home(partner)}/approve`, {})
  assert.match((await admin.browser.get(late.location!)).text, /somebody else has decided meanwhile/)
  assert.deepEqual(
    [(await again(partner)).status, (await again(partner)).statusReason],
    ['suspended', 'Fraud'],
  )
  const forged = await admin.browser.submit(old, `${home(partner)}/approve`, { seen: 'whatever' })
  assert.equal(forged.status, 400)
  const approvals = await findEntries(db, {
    subject: `branch:${partner.branchId}`,
    action: 'partner.approved',
  })
  assert.equal(approvals.length, 0)
})

test('a decision that is sent three times at once is one decision', async () => {
  const { partner } = await apply('Thrice Ltd')
  const page = await admin.browser.get(home(partner))
  const sent = await Promise.all(
    [1, 2, 3].map(() => admin.browser.submit(page, `${home(partner)}/approve`, {})),
  )
  assert.deepEqual(
    sent.map(({ location }) => location),
    Array(3).fill(home(partner)),
  )
  const subject = `branch:${partner.branchId}`
  const { db } = house.gateway.context
  assert.equal((await findEntries(db, { subject, action: 'partner.approved' })).length, 1)
})

test('a request for refresh access waits at the top until it is granted; withdrawn, refresh tokens are refused at once', async () => {
  const { db } = house.gateway.context
  const partner = await house.makePartner({ refresh: false })
  const client = await house.makeClient({ partner })
  await askForRefresh(db, partner, 'Long evenings', house.act())
  assert.match((await admin.browser.get('/console/partners')).text, /“Long evenings”/)
  assert.match((await admin.browser.get(home(partner))).text, /“Long evenings”/)
  await press(admin.browser, home(partner), '/refresh/grant')
  assert.equal((await findRefreshRequest(db, partner))!.granted, true)
  assert.doesNotMatch((await admin.browser.get('/console/partners')).text, /“Long evenings”/)
  const { refresh_token } = (await house.exchange(client, await house.makeCode(client))).json<TokenBody>()
  assert.equal((await house.refresh(client, refresh_token!)).status, 200)
  await press(admin.browser, home(partner), '/refresh/withdraw')
  assert.equal((await house.refresh(client, refresh_token!)).status, 400)
})

test('a request for refresh access can be declined, and the partner sees the answer', async () => {
  const { db } = house.gateway.context
  const { partner, browser } = await openPartner(house)
  await press(admin.browser, home(partner), '/refresh/withdraw')
  await askForRefresh(db, partner, 'Please', house.act())
  await press(admin.browser, home(partner), '/refresh/withdraw')
  assert.equal((await findRefreshRequest(db, partner))!.granted, false)
  assert.match((await browser.get(`/partner/${partner.branchId}/clients`)).text, /was declined on/)
})

test("a client's tokens are refused with the request after its suspension, and only its own partner's page does that", async () => {
  const client = await house.makeClient()
  const stranger = await house.makePartner()
  const { access_token } = (await house.exchange(client, await house.makeCode(client))).json<TokenBody>()
  assert.equal((await house.profile(access_token)).status, 200)
  const at = `/console/partners/${client.branchId}`
  const page = await admin.browser.get(at)
  const fields = { csrf: /name="csrf" value="([^"]+)"/.exec(page.text)![1]!, reason: 'Complaints' }
  const elsewhere = await admin.browser.post(`${home(stranger)}/clients/${client.id}/suspend`, fields)
  assert.equal(elsewhere.status, 404)
  assert.equal((await house.profile(access_token)).status, 200)
  await press(admin.browser, at, `/clients/${client.id}/suspend`)
  assert.equal((await house.profile(access_token)).status, 401)
  await press(admin.browser, at, `/clients/${client.id}/activate`)
  assert.equal((await house.profile(access_token)).status, 200)
})

test('of a secret the page shows how it ends, when it was used and when it dies, and never the secret', async () => {
  const client = await house.makeClient()
  await house.exchange(client, await house.makeCode(client))
  await house.gateway.context.lastUse.flush()
  const { text } = await admin.browser.get(`/console/partners/${client.branchId}`)
  assert.ok(text.includes(`Secret ending in <code>${client.secret.slice(-4)}</code>`), text)
  assert.match(text, /last used <time/)
  assert.equal(text.includes(client.secret), false)
})

test('partners are found by the words of their name and by their branch, in a state or in any', async () => {
  const { partner } = await apply('Zürich-Capital.io (Holding)')
  await apply('Other Zebra')
  const find = async (query: string) => namesIn(await admin.browser.get(`/console/partners?${query}`))
  for (const words of ['zürich', 'capital', 'CAP zür', 'hold', 'capital.io', partner.branchId])
    assert.deepEqual(
      await find(`q=${encodeURIComponent(words)}`),
      ['Zürich-Capital.io (Holding)'],
      String(words),
    )
  assert.deepEqual(await find('q=zebra&state=applied'), ['Other Zebra'])
  assert.deepEqual(await find('q=zebra&state=approved'), [])
  assert.deepEqual(await find('q=nobody'), [])
  assert.equal((await admin.browser.get('/console/partners?state=lost')).status, 400)
})

test('whatever is typed into the search is looked for, and asks the database nothing else', async () => {
  for (const typed of [
    "'",
    "' & '",
    ':*',
    '!a',
    'a:*|b',
    '\\',
    '%',
    '\0',
    '&&',
    '9'.repeat(30),
    '2147483648',
    '<->',
  ]) {
    for (const place of ['partners', 'users']) {
      const { status, text } = await admin.browser.get(`/console/${place}?q=${encodeURIComponent(typed)}`)
      assert.equal(status, 200, `${place} ${typed}: ${text}`)
    }
  }
  for (const query of ['before=x', 'before=99999999999', 'before=-1', 'q=a&q=b'])
    assert.equal((await admin.browser.get(`/console/partners?${query}`)).status, 200, query)
})

test('every partner is on one page and on one only', async () => {
  const { db } = house.gateway.context
  for (let number = 0; number < 110; number++) await applyAsPartner(db, `Paged ${number}x`, house.act())
  for (const query of ['', 'state=applied', 'q=paged']) {
    const seen = (await turnPages(admin.browser, `/console/partners?${query}`)).flatMap(namesIn)
    assert.equal(new Set(seen).size, seen.length, query)
    const counted = { '': 'true', 'state=applied': "status = 'applied'", 'q=paged': "name LIKE 'Paged%'" }[
      query
    ]
    const [all] = await ask<{ count: number }>(db, `SELECT count(*) FROM partners WHERE ${counted}`)
    assert.equal(seen.length, all!.count, query)
  }
  const { text } = await admin.browser.get('/console/partners')
  assert.match(text, /more than 10 need your decision/)
  assert.match(text, /href="\/console\/partners\?state=applied"/)
})

test('a partner that is not there is not there, whatever its address', async () => {
  const { partner } = await apply('By Name Ltd')
  for (const branch of ['0', '999999', 'x', encodeURIComponent(partner.name), '%00', '1.5'])
    assert.equal((await admin.browser.get(`/console/partners/${branch}`)).status, 404, branch)
})

test('a partner’s page shows its webhooks, its failed API calls and its connections; a member’s page the first two', async () => {
  const own = await openPartner(house)
  const webhook = await own.program.register('https://around.example/hooks')
  await failCalls(house, own.partner.branchId, 1)
  const holder = await house.makeUser()
  await house.approve(own.client, await house.signIn(holder))
  const { text } = await admin.browser.get(home(own.partner))
  const sectionOf = (page: string, title: string) =>
    new RegExp(`>${title}</h[23]>[\\s\\S]*?(?=<h[23]>|$)`).exec(page)?.[0] ?? ''
  assert.match(
    sectionOf(text, 'Webhooks'),
    new RegExp(`href="/console/webhooks/${webhook}">https://around\\.example/hooks<`),
  )
  assert.match(
    sectionOf(text, 'Failed API calls'),
    /<strong>GET \/v1\/user\/profile<\/strong>[\s\S]*unknown, expired or revoked\./,
  )
  assert.match(sectionOf(text, 'Connections'), new RegExp(`/console/users/${holder.id}"`))
  const person = (await admin.browser.get(`/console/users/${own.user.id}`)).text
  assert.match(sectionOf(person, 'Webhooks'), new RegExp(`href="/console/webhooks/${webhook}"`))
  assert.match(sectionOf(person, 'Failed API calls'), /<strong>GET \/v1\/user\/profile<\/strong>/)
})
