/**
 * One search for operators and one for partners: what somebody copied from a log, a mail or a ticket leads to
 * where it is.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordAct } from '../../src/audit/audit.ts'
import { day, minute } from '../../src/clock.ts'
import { rateLimits } from '../../src/http/rate-limits.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { type Permission, permits, staffRoles } from '../../src/vocabulary/permission.ts'
import { consoleKinds } from '../../src/web/console/search/search-kinds.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { findEntry, parseEventName } from '../../src/webhooks/events/event-search.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { type Browser, send } from '../support/browser.ts'
import { numberEvents } from '../support/by-hand.ts'
import { openConsole } from '../support/console.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { deliverOne, openPartner, type PartnerHouse } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const { db } = house.gateway.context
const receiver = await keepOpen(openReceiver())
const admin = await openConsole(house)
const own = await furnish()
const other = await furnish()

/** A partner with all that can be sought, each by words that nobody else has. */
async function furnish() {
  const made = await openPartner(house)
  const path = `/${makeUpWord()}`
  const { webhookId, deliveryId } = await deliverOne(made, receiver, path)
  const [event] = await ask<{ uid: string }>(
    db,
    'SELECT uid FROM log WHERE feed = feed_of($1, $2) AND seq = $3',
    [made.partner.branchId, 'live', Number(deliveryId.split('-')[1])],
  )
  return { ...made, path, webhookId, deliveryId, event: printEventId(event!.uid) }
}

const search = (browser: Browser, home: string, text: string) =>
  browser.get(`${home}/search?${new URLSearchParams({ q: text })}`)

/** What belongs to a partner, as it may be typed. */
const wordsOf = ({ event, deliveryId, webhookId, path, user, partner, client }: typeof own) => ({
  event,
  'an event without its prefix': event.slice(4),
  delivery: String(deliveryId),
  'a delivery as pages name it': `#${deliveryId}`,
  webhook: String(webhookId),
  address: path.slice(1),
  'client id': client.id,
  'user name': user.username,
  'partner name': partner.name,
})

test('operators find events, deliveries, people, partners and receivers of everybody', async () => {
  for (const [what, text] of Object.entries(wordsOf(own))) {
    const answer = await search(admin.browser, '/console', text)
    const leads = answer.location ?? answer.text
    const expected = {
      'user name': `/console/users/${own.user.id}`,
      'partner name': `/console/partners/${own.partner.branchId}`,
      'client id': `/console/partners/${own.partner.branchId}#client-${own.client.id}`,
    }[what]
    assert.ok(
      leads.includes(expected ?? `/console/webhooks/${own.webhookId}`),
      `${what}: ${text} ${answer.status}`,
    )
  }
  const host = await search(admin.browser, '/console', `${receiver.url(own.path)}`)
  assert.equal(host.location, `/console/webhooks/${own.webhookId}`, 'a whole address, as it was copied')
})

test('members find what is their partner’s own; what is alone is led to at once', async () => {
  for (const [what, text] of Object.entries(wordsOf(own))) {
    if (what === 'partner name') continue
    const answer = await search(own.browser, own.home, text)
    const expected =
      what.includes('delivery') || what.includes('event')
        ? `deliveries/${own.deliveryId}`
        : what === 'client id'
          ? `clients/${own.client.id}`
          : undefined
    const leads = answer.location ?? answer.text
    if (what === 'user name') assert.match(leads, /\/members/)
    else
      assert.ok(leads.includes(`${own.home}/${expected ?? `webhooks/${own.webhookId}`}`), `${what}: ${text}`)
  }
  const entity = await search(own.browser, own.home, 'Transaction:42')
  assert.equal(entity.location, `${own.home}/deliveries?entity=transaction%3A42`)
})

/** One of the partner's own program. */
async function makeCall() {
  const requestId = `call-${makeUpWord()}`
  const headers = { ...basic(own.client), 'x-request-id': requestId }
  assert.equal((await send(`${house.baseUrl}/v2/webhooks`, { headers })).status, 200)
  await house.gateway.context.callLog.flush()
  const [call] = await ask<{ id: number }>(db, 'SELECT id FROM calls WHERE request_id = $1', [requestId])
  return { requestId, id: call!.id }
}

test('members find the line of their own call by its request id, and no other partner does', async () => {
  const { requestId, id } = await makeCall()
  assert.equal((await search(own.browser, own.home, requestId)).location, `${own.home}/calls/${id}`)
  assert.match((await search(other.browser, other.home, requestId)).text, /Nothing was found/)
  const sandbox = await house.signIn(own.user, 'sandbox')
  assert.match((await search(sandbox, own.home, requestId)).text, /Nothing was found/)
})

/** What each kind finds, by words that find nothing else, and what that leads to. */
async function findable() {
  const address = `${makeUpWord().toLowerCase()}@example.com`
  await ask(db, 'UPDATE users SET email = $2 WHERE id = $1', [own.user.id, address])
  const requestId = `ticket-${makeUpWord()}`
  const path = `/console/partners/${own.partner.branchId}`
  const by = { ...house.act().by, name: `user:${own.user.id}`, requestId }
  await recordAct(db, { ...house.act(), by }, 'client.updated', `client:${own.client.id}`)
  const entity = `transaction:${makeUpWord().toLowerCase()}`
  await ask(db, 'UPDATE log SET entity = $2 WHERE uid = $1', [parseEventName(own.event), entity])
  const call = await makeCall()
  const found = (text: string, leads: string) => ({ text, leads })
  return {
    'webhooks.see': [
      found(own.event, `/console/webhooks/${own.webhookId}`),
      found(String(own.deliveryId), `/console/webhooks/${own.webhookId}`),
      found(own.path.slice(1), `/console/webhooks/${own.webhookId}`),
      found(entity, `/console/search?q=${own.event}`),
      found(entity.toUpperCase(), `/console/search?q=${own.event}`),
    ],
    'partners.see': [
      found(call.requestId, `${path}/calls/${call.id}`),
      found(own.partner.name, path),
      found(own.client.id, `${path}#client-${own.client.id}`),
    ],
    'users.see': [
      found(own.user.username, `/console/users/${own.user.id}`),
      found(own.user.id, `/console/users/${own.user.id}`),
      found(address.toUpperCase(), `/console/users/${own.user.id}`),
    ],
    'audit.see': [found(requestId, `/console/audit?request=${requestId}`)],
  }
}

test('an entity is found however many others had events since, and of each partner by its newest', async () => {
  const entity = `transaction:${makeUpWord().toLowerCase()}`
  const at = house.clock.now()
  const old = new Date(at.getTime() - 30 * day)
  const { branchId } = await house.makePartner()
  const part = partOf(branchId)
  await ask(db, 'SELECT open_day(day_of($1))', [old])
  const write = `INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
    SELECT $1, feed_of($2, 'live'), s, day_of($3), false, $3, gen_random_uuid(), 'TRANSACTION', 'COMPLETED', $4, '{}'
    FROM generate_series(1, 2) s`
  await ask(db, write, [part, branchId, old, entity])
  // Since then, as much as others make in a month.
  const others = `INSERT INTO feed_days (part, feed, first, day)
    SELECT $1::smallint, f, 1, day_of($3) FROM generate_series(2000001, 2001500) f
    UNION ALL SELECT $1::smallint, feed_of($2, 'live'), 1, day_of($4)`
  await ask(db, others, [part, branchId, at, old])
  const answer = await search(admin.browser, '/console', entity)
  const [newest] = await ask<{ uid: string }>(db, 'SELECT uid FROM log WHERE entity = $1 AND seq = $2', [
    entity,
    2,
  ])
  assert.equal(answer.location, `/console/search?q=${printEventId(newest!.uid)}`)
  await ask(db, 'DELETE FROM feed_days WHERE feed > 2000000')
})

test('each role finds what it may see, and is told the same of the rest as of what never was', async () => {
  const all = Object.entries(await findable()) as [Permission, { text: string; leads: string }[]][]
  assert.deepEqual(
    new Set(all.map(([permission]) => permission)),
    new Set(consoleKinds.map(({ permission }) => permission)),
    'every permission of the table is tried',
  )
  for (const role of staffRoles) {
    const { browser } = await openConsole(house, `Only ${role}`, [role])
    for (const [permission, sought] of all)
      for (const { text, leads } of sought) {
        const answer = await search(browser, '/console', text)
        const what = `${role} seeks ${text}`
        if (permits([role], permission))
          assert.ok((answer.location ?? answer.text).includes(leads), `${what}: ${answer.text}`)
        else {
          assert.match(answer.text, /Nothing was found/, what)
          assert.ok(!answer.text.includes(leads), what)
        }
      }
  }
})

test('the entries of a request are read together, and the audit log is asked by names and in words', async () => {
  const entry = async (query: Record<string, string>) => {
    const page = await admin.browser.get(`/console/audit?${new URLSearchParams(query)}`)
    assert.equal(page.status, 200, page.text)
    return page.text
  }
  const locked = await house.makeUser()
  const requestId = `ticket-${makeUpWord()}`
  const by = { name: `user:${admin.user.id}`, requestId }
  await setUserStatus(db, locked, 'disabled', { ...house.act(), by, reason: 'Asked for.' })
  assert.match(await entry({ request: requestId }), new RegExp(`locked[\\s\\S]*${locked.id}`))
  const inWords = { actor: admin.user.username, action: 'locked', subject: locked.username }
  assert.match(await entry(inWords), new RegExp(`subject=user%3A${locked.id}`))
  assert.match(await entry({ ...inWords, action: 'unlocked' }), /Nothing was found/)
  assert.match(await entry({ ...inWords, action: 'user' }), new RegExp(locked.id))
  assert.match(await entry({ ...inWords, action: 'user.disabled' }), new RegExp(locked.id))
  assert.match(await entry({ actor: 'nobody of this name' }), /Nothing was found/)

  const twins = await Promise.all([house.makeUser(), house.makeUser()])
  const ids = twins.map(({ id }) => id)
  await ask(db, "UPDATE users SET name = 'Twin Sister' WHERE id = ANY ($1)", [ids])
  const asked = await entry({ actor: 'twin sister', action: 'user' })
  assert.match(asked, /Who is meant by “twin sister”\?/)
  for (const id of ids) assert.ok(asked.includes(`/console/audit?actor=user%3A${id}&amp;action=user`), id)
  const file = await admin.browser.get('/console/audit/export?format=csv&actor=twin+sister')
  assert.equal(file.status, 400)
})

const nothing = (text: string) => text.replaceAll(/<h1>.*?<\/h1>|value="[^"]*"/g, '')

/** What a page tells apart from the words that were typed, and what belongs to one printing of it. */
async function tellingOf(of: PartnerHouse, home: string, text: string): Promise<string> {
  const answer = await search(of.browser, home, text)
  assert.equal(answer.status, 200, `${text}: ${answer.location}`)
  return nothing(answer.text)
}

test('a member who seeks what is another partner’s is told the same as for what never was', async () => {
  const never = await tellingOf(own, own.home, `evt_${'0'.repeat(32)}`)
  assert.match(never, /Nothing was found/)
  for (const [what, text] of Object.entries(wordsOf(other)))
    assert.equal(await tellingOf(own, own.home, text), never, what)
  for (const text of ['%', '_', "'", '"><script>', '\\', ':*', '!', '&', 'https://', '9'.repeat(300), '*'])
    assert.doesNotMatch(await tellingOf(own, own.home, text), new RegExp(other.path), text)
  assert.equal((await own.browser.get(`${other.home}/search?q=${other.deliveryId}`)).status, 404)
})

test('the sandbox finds nothing of the live site', async () => {
  const sandbox = await house.signIn(own.user, 'sandbox')
  for (const [what, text] of Object.entries(wordsOf(own))) {
    if (what === 'partner name' || what === 'user name') continue
    const answer = await search(sandbox, own.home, text)
    assert.match(answer.text, /Nothing was found/, what)
  }
})

test('whatever is typed is a question, and never an error', async () => {
  const typed = [
    '',
    ' ',
    '\0',
    '\ud800',
    '%00',
    "' OR 1=1 --",
    ':*',
    '& | !',
    '<->',
    `"${'x'.repeat(400)}`,
    '-1',
    '0',
    '1e9',
  ]
  for (const text of [
    ...typed,
    '9223372036854775808',
    `evt_${'f'.repeat(32)}`,
    `evt_${'f'.repeat(12)}7${'f'.repeat(19)}`,
  ]) {
    for (const [browser, home] of [
      [admin.browser, '/console'],
      [own.browser, own.home],
    ] as const) {
      const { status } = await search(browser, home, text)
      assert.ok(status === 200 || status === 303, `${home}: ${JSON.stringify(text)} ${status}`)
    }
  }
  const twice = await admin.browser.get('/console/search?q=a&q=b')
  assert.equal(twice.status, 200)
})

test('an event is found by the moment in its name, also one that SQL published, and one whose name tells none', async () => {
  const { branchId } = own.partner
  const branch = { branchId, environment: 'live' } as const
  const body = { type: 'ACH_PROFILE', action: 'SUBMITTED', branchId, profileId: 77, clearingAccount: '1' }
  const [published] = await ask<{ uid: string }>(
    db,
    `SELECT publish_event('live', $1, 'ACH_PROFILE', 'SUBMITTED', '77', $2) AS uid`,
    [branchId, JSON.stringify(body)],
  )
  const name = parseEventName(published!.uid)!
  assert.equal(name[12], '7')
  await numberEvents(house)
  assert.equal((await findEntry(db, branch, name))?.entity, 'ach_profile:77')
  const old = 'a3f0c2d4-1111-4222-8333-444455556666'
  await ask(db, 'UPDATE log SET uid = $2 WHERE uid = $1', [published!.uid, old])
  assert.equal((await findEntry(db, branch, parseEventName(old)!))?.entity, 'ach_profile:77')
  assert.equal(await findEntry(db, branch, name), undefined)
})

test('a partner looks for so many events a minute; another is not held up by it, nor is any other question', async () => {
  const busy = await openPartner(house)
  const ask = (text: string) => search(busy.browser, busy.home, text)
  for (let n = 0; n < rateLimits.eventSearches.most; n++) assert.equal((await ask(own.event)).status, 200)
  const refused = await ask(own.event)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.equal((await ask('example.com')).status, 200)
  assert.equal((await search(other.browser, other.home, own.event)).status, 200)
  house.clock.advance(minute)
  assert.equal((await ask(own.event)).status, 200)
})
