/**
 * The sandbox's built-in receiver: one click to a verified webhook, for whoever has no server; and no way
 * through it to anywhere else.
 */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { day } from '../../../src/clock.ts'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { addMember, applyWithDetails } from '../../../src/partners/partner.ts'
import { openSender } from '../../../src/webhooks/outbound/attempt.ts'
import {
  ensureReceiver,
  findReceiver,
  listReceipts,
  openBuiltIn,
} from '../../../src/webhooks/subscriptions/built-in-receiver.ts'
import { getWebhook, updateWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../../support/ask.ts'
import { callJson } from '../../support/branch.ts'
import { send } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { openPartner, suspend } from '../../support/portal.ts'

/** Without leave to dial this machine: whatever arrives here was not dialled. */
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'false' })
const { db, clock, vault, guard: policy, signingSecrets: secrets } = house.gateway.context

let applicants = 0

/** Somebody who applied a moment ago, in the sandbox. */
async function enter() {
  const user = await house.makeUser()
  const details = { website: 'https://a.example', contact: 'a@a.example', purpose: 'To try it.' }
  const act = { by: { name: `user:${user.id}` }, at: clock.now() }
  const partner = await applyWithDetails(db, user, { name: `Receiver ${++applicants}`, ...details }, act)
  const home = `/partner/${partner.branchId}`
  return { user, partner, home, browser: await house.signIn(user, 'sandbox') }
}

type Visitor = Awaited<ReturnType<typeof enter>>

async function press({ browser, home }: Visitor, page = `${home}/receiver`) {
  return browser.submit(await browser.get(page), `${home}/receiver/try`, {})
}

async function tryIt(visitor: Visitor, page?: string) {
  const answer = await press(visitor, page)
  assert.equal(answer.location, `${visitor.home}/receiver`, answer.text)
}

const received = (branchId: number, count: number) =>
  eventually(`${count} receipts`, async () => (await listReceipts(db, branchId)).length === count)

/** With what it received first. */
async function openTried() {
  const visitor = await enter()
  await tryIt(visitor)
  await received(visitor.partner.branchId, 1)
  return { ...visitor, receiver: (await findReceiver(db, visitor.partner.branchId))! }
}

const countOf = async (table: string, branchId: number) => {
  const counting = `SELECT count(*) AS rows FROM ${table} WHERE branch_id = $1`
  return Number((await ask<{ rows: number }>(db, counting, [branchId]))[0]!.rows)
}

test('one click makes a webhook and sends an event, which is signed, delivered and verified; a second click sends another to the same', async () => {
  const visitor = await enter()
  const { browser, home, partner } = visitor
  await tryIt(visitor, home)
  await received(partner.branchId, 1)
  const page = await browser.get(`${home}/receiver`)
  assert.match(page.text, /<span class="state good">signature verified<\/span>/)
  assert.match(page.text, /x-webhook-signature: [0-9a-f]{64}/)
  assert.match(page.text, /x-webhook-test: true/)
  assert.ok(page.text.includes(`&quot;branchId&quot;:${partner.branchId}`))
  const first = (await findReceiver(db, partner.branchId))!
  await tryIt(visitor)
  await received(partner.branchId, 2)
  assert.equal((await findReceiver(db, partner.branchId))!.webhookId, first.webhookId)
  assert.ok((await browser.get(`${home}/webhooks`)).text.includes(first.url))
  const written = `SELECT actor FROM audit_entries WHERE action = 'webhook.created' AND subject = $1`
  const [entry] = await ask<{ actor: string }>(db, written, [`webhook:${first.webhookId}`])
  assert.equal(entry!.actor, `user:${visitor.user.id}`, 'the log knows who made it')
})

test('two clicks at once make one webhook and send two events to it', async () => {
  const visitor = await enter()
  const { branchId } = visitor.partner
  const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
  const clicks = await db.transaction(async (sql) => {
    await ask(sql, 'SELECT FROM partners WHERE branch_id = $1 FOR NO KEY UPDATE', [branchId])
    const both = [tryIt(visitor), tryIt(visitor)]
    await eventually('both wait for the partner', async () => (await ask(db, waiting)).length >= 2)
    return { both }
  })
  await Promise.all(clicks.both)
  await received(branchId, 2)
  assert.equal(await countOf('webhooks', visitor.partner.branchId), 1)
})

test('deleted, it is made anew by the next click; paused, it says what to do; led elsewhere, it is a webhook like any other', async () => {
  const { receiver, ...visitor } = await openTried()
  const { browser, home, partner } = visitor
  const at = `${home}/webhooks/${receiver.webhookId}`
  await browser.submit(await browser.get(at), `${at}/pause`, {})
  const refused = await press(visitor)
  assert.equal(refused.status, 409)
  assert.match(refused.text, new RegExp(`Webhook ${receiver.webhookId} is paused\\. Resume it`))
  await browser.submit(await browser.get(at), `${at}/delete`, { confirmed: 'yes' })
  await tryIt(visitor)
  const second = (await findReceiver(db, partner.branchId))!
  assert.notEqual(second.webhookId, receiver.webhookId)
  const branch = { branchId: partner.branchId, environment: 'sandbox' } as const
  const webhook = await getWebhook(db, branch, second.webhookId)
  await updateWebhook({ db, vault, policy }, webhook, { url: 'https://a.example/hooks' }, house.act())
  assert.equal(await findReceiver(db, partner.branchId), undefined)
  await tryIt(visitor)
  assert.notEqual((await findReceiver(db, partner.branchId))!.webhookId, second.webhookId)
})

test('it signs with the secret of the client where there is one, and its webhook can be changed without leaving it', async () => {
  const visitor = await enter()
  const { browser, home, partner } = visitor
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  await tryIt(visitor)
  await received(partner.branchId, 1)
  const { head, body } = (await listReceipts(db, partner.branchId))[0]!
  const expected = createHmac('sha256', client.secret).update(body).digest('hex')
  assert.ok(head.includes(`x-webhook-signature: ${expected}`))
  const { url, webhookId } = (await findReceiver(db, partner.branchId))!
  const at = `${home}/webhooks/${webhookId}`
  const page = await browser.get(at)
  const kept = await browser.submit(page, `${at}/update`, { url, kind: 'TRANSACTION' })
  assert.equal(kept.status, 303, kept.text)
  const moved = await browser.submit(page, `${at}/update`, { url: `${url}x`, kind: 'TRANSACTION' })
  assert.equal(moved.status, 400, 'to no other address of this machine')
})

test('what a partner chose to send with its deliveries is not written down by it', async () => {
  const { receiver, ...visitor } = await openTried()
  const branch = { branchId: visitor.partner.branchId, environment: 'sandbox' } as const
  const webhook = await getWebhook(db, branch, receiver.webhookId)
  const headers = { authorization: 'Bearer their-own-credential' }
  await updateWebhook({ db, vault, policy }, webhook, { headers }, house.act())
  await tryIt(visitor)
  await received(branch.branchId, 2)
  const [last] = await listReceipts(db, branch.branchId)
  assert.equal(last!.verified, true)
  assert.match(last!.head, /^authorization: \(not shown\)$/m)
  assert.ok(!(await visitor.browser.get(`${visitor.home}/receiver`)).text.includes('their-own-credential'))
})

test('nothing is dialled at its address, nobody else delivers to it, and no other address of this machine becomes one', async () => {
  const { receiver, partner } = await openTried()
  const { url, webhookId } = receiver
  assert.equal((await send(url, { method: 'POST', body: '{}' })).status, 404, 'nothing listens there')
  const other = await house.makeClient({ environment: 'sandbox' })
  const register = (to: string) =>
    callJson(`${house.sandboxUrl}/v2/webhooks`, 'POST', { url: to }, basic(other))
  for (const to of [url, `${house.sandboxUrl}/receiver/${'a'.repeat(43)}`, `${house.baseUrl}/login`])
    assert.equal((await register(to)).status, 400, to)
  const builtIn = openBuiltIn({ db, clock, secrets })
  const guarded = { allowLoopback: false, ports: [443] }
  const sender = openSender({ policy: guarded, dnsServers: [], certificateAuthority: undefined, builtIn })
  const post = async (to: string, from: number | undefined) =>
    (await sender.post({ url: to, headers: {}, body: '{}', ...(from !== undefined && { webhookId: from }) }))
      .outcome
  const forbidden = { kind: 'unreachable', why: 'forbidden-address' }
  assert.deepEqual(await post(url, webhookId + 1_000), forbidden, 'of another webhook')
  assert.deepEqual(await post(url, undefined), forbidden, 'of none')
  assert.deepEqual(await post(`${url}x`, webhookId), forbidden)
  assert.deepEqual(await post(url.replace('/receiver/', '/x/receiver/'), webhookId), forbidden)
  assert.equal(await countOf('built_in_receipts', partner.branchId), 1, 'and nothing of that was kept')
  assert.equal((await post(url, webhookId)).kind, 'refused', 'unsigned, it is refused')
  assert.equal((await listReceipts(db, partner.branchId))[0]!.verified, false)
  await ask(db, `UPDATE webhooks SET environment = 'live' WHERE id = $1`, [webhookId])
  assert.deepEqual(await post(url, webhookId), forbidden, 'never for what is live')
  await sender.close()
})

test('it keeps the last twenty, cut to a size, at most sixty a minute, and none for longer than a week', async () => {
  const { receiver, partner } = await openTried()
  const { url, webhookId } = receiver
  const builtIn = openBuiltIn({ db, clock, secrets })
  for (let count = 0; count < 70; count++)
    await builtIn.take({ url, webhookId, headers: { 'webhook-id': `e${count}` }, body: 'x'.repeat(50_000) })
  const kept = await listReceipts(db, partner.branchId)
  assert.equal(kept.length, 20)
  assert.equal(kept[0]!.eventUid, 'e59')
  assert.ok(kept.every(({ body }) => body.length <= 16_000))
  assert.equal(await countOf('built_in_receipts', partner.branchId), 20)
  house.clock.advance(8 * day)
  assert.ok((await removeDead(house.gateway.context)).receipts >= 20)
  assert.deepEqual(await listReceipts(db, partner.branchId), [])
})

test('it is in the sandbox alone, and for members of its own partner while that may act', async () => {
  const { browser, home, partner } = await openPartner(house)
  const page = await browser.get(`${home}/receiver`)
  assert.equal(page.status, 404)
  assert.match(page.text, /This is in the sandbox alone/)
  assert.ok(page.text.includes(`${house.sandboxUrl}${home}/receiver`))
  const live = { branchId: partner.branchId, environment: 'live' } as const
  const making = ensureReceiver({ db, vault, policy }, live, house.baseUrl, house.act())
  await assert.rejects(making, /in the sandbox alone/)

  const tried = await openTried()
  const stranger = await enter()
  assert.equal((await stranger.browser.get(`${tried.home}/receiver`)).status, 404)
  const own = await stranger.browser.get(`${stranger.home}/receiver`)
  assert.ok(!own.text.includes('signature verified'), 'what others received is theirs')
  const withoutMark = await stranger.browser.post(`${stranger.home}/receiver/try`, {})
  assert.equal(withoutMark.status, 403)
  await addMember(db, partner, tried.user, house.act())
  await suspend(house, tried.partner, 'The terms were broken.')
  assert.equal((await tried.browser.get(`${tried.home}/receiver`)).status, 403)
  assert.equal(await findReceiver(db, stranger.partner.branchId), undefined)
})
