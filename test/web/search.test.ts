/**
 * One search for operators and one for partners: what somebody copied from a log, a mail or a ticket leads to
 * where it is.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { rateLimits } from '../../src/http/rate-limits.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { findEntry, parseEventName } from '../../src/webhooks/events/event-search.ts'
import { ask } from '../support/ask.ts'
import type { Browser } from '../support/browser.ts'
import { numberEvents } from '../support/by-hand.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
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
const wordsOf = ({ event, deliveryId, webhookId, path, user, partner }: typeof own) => ({
  event,
  'an event without its prefix': event.slice(4),
  delivery: String(deliveryId),
  'a delivery as pages name it': `#${deliveryId}`,
  webhook: String(webhookId),
  address: path.slice(1),
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
      what.includes('delivery') || what.includes('event') ? `deliveries/${own.deliveryId}` : undefined
    const leads = answer.location ?? answer.text
    if (what === 'user name') assert.match(leads, /\/members/)
    else
      assert.ok(leads.includes(`${own.home}/${expected ?? `webhooks/${own.webhookId}`}`), `${what}: ${text}`)
  }
  const entity = await search(own.browser, own.home, 'Transaction:42')
  assert.equal(entity.location, `${own.home}/deliveries?entity=transaction%3A42`)
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
