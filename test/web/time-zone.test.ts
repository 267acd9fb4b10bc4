/**
 * A visitor's time zone: lists, charts, filters and forms tell of moments in it and take them in it, and say
 * which it is. What programs read stays in UTC.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'
import { type Browser, hiddenFields } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'

// Its clock begins on 2 March 2026 at 10:00 UTC.
const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const { webhookId } = await deliverOne(own, receiver)
await eventually('an attempt that is counted', async () => {
  await house.gateway.context.attemptCounter.flush()
  return (await own.browser.get(`${own.home}/webhooks/${webhookId}`)).text.includes('class="plot"')
})
const deliveries = `${own.home}/deliveries`
const webhook = `${own.home}/webhooks/${webhookId}`

function inZone(browser: Browser, zone: string): Browser {
  browser.cookies.set('countersign-zone', zone)
  return browser
}

const read = async (path: string, zone: string) => (await inZone(own.browser, zone).get(path)).text
const berlin = 'zone=Europe%2FBerlin'

test('lists, charts and every page tell of moments in the zone of the visitor, and name it', async () => {
  const list = await read(deliveries, 'Europe/Berlin')
  assert.match(
    list,
    /<time datetime="2026-03-02T10:00:00[^"]*Z" title="2026-03-02T10:00:00[^"]*Z" data-short>2026-03-02 11:00:00 UTC\+1<\/time>/,
  )
  assert.match(list, /Times are in Europe\/Berlin, UTC\+1\./)
  assert.match(list, />Created<\/th>/)
  const charted = await read(`${webhook}?period=day`, 'Asia/Kolkata')
  assert.match(charted, /<p class="unit">time, Asia\/Kolkata, UTC\+5:30<\/p>/)
  assert.match(charted, /<span class="reading">2 Mar, 15:30 to 16:30 UTC\+5:30: /)
  assert.match(charted, /2 March 2026, 15:30 UTC\+5:30/)
  assert.doesNotMatch(charted, /\d UTC[<:]/, 'nothing is told in another zone')
  assert.match(await read('/account/devices', 'America/New_York'), /2 March 2026, 05:00 UTC-5/)
  assert.match(await read(deliveries, 'UTC'), /Times are in UTC\./)
})

test('a part that changes by itself is told in the same zone', async () => {
  const { cookieHeader } = inZone(own.browser, 'Europe/Berlin')
  const stop = new AbortController()
  const answer = await fetch(house.baseUrl + deliveries, {
    headers: { accept: 'text/event-stream', cookie: cookieHeader },
    signal: stop.signal,
  })
  for await (const chunk of answer.body!) {
    const text = Buffer.from(chunk).toString()
    if (!text.includes('<time')) continue
    assert.match(text, /2026-03-02 11:00:00 UTC\+1/)
    break
  }
  stop.abort()
})

test('a filter takes moments in the zone that stands beside its fields, whoever opens its address', async () => {
  const form = await read(deliveries, 'Europe/Berlin')
  assert.match(form, /<label for="from">From \(Europe\/Berlin\)<\/label>/)
  assert.equal(form.split('<input type="hidden" name="zone" value="Europe/Berlin">').length, 2, 'once')
  const isFound = (text: string) => text.includes('11:00:00 UTC+1') || text.includes('10:00:00 UTC')
  // Sent at 11:00 in Berlin.
  const found = `${deliveries}?from=2026-03-02T10:59&to=2026-03-02T11:01&${berlin}`
  assert.ok(isFound(await read(found, 'Europe/Berlin')))
  assert.ok(
    !isFound(await read(found.replace(berlin, ''), 'Europe/Berlin')),
    'an address without a zone is in UTC',
  )
  assert.ok(
    isFound(await read(`${deliveries}?from=2026-03-02T09:59:00Z&to=2026-03-02T10:01Z&${berlin}`, 'UTC')),
  )
  // A colleague elsewhere sees the same moments, as the clocks there say them.
  const elsewhere = await read(found, 'America/New_York')
  assert.match(elsewhere, /2026-03-02 05:00:00 UTC-5/)
  assert.match(
    elsewhere,
    /<label for="from">From \(America\/New_York\)<\/label><input type="datetime-local" id="from" name="from" value="2026-03-02T04:59"/,
  )
})

test('an hour that is skipped or comes twice is not guessed, and what was typed stays in the zone it was typed in', async () => {
  const asked = (from: string) => `${deliveries}?from=${from}&${berlin}`
  const skipped = await inZone(own.browser, 'UTC').get(asked('2026-03-29T02:30'))
  assert.equal(skipped.status, 400)
  assert.match(
    skipped.text,
    /It is skipped in Europe\/Berlin, where clocks are put forward: choose a time before or after that hour\./,
  )
  assert.match(
    skipped.text,
    /From \(Europe\/Berlin\)<\/label><input type="datetime-local" id="from" name="from" value="2026-03-29T02:30"/,
  )
  assert.match((await own.browser.get(asked('2026-10-25T02:30'))).text, /It comes twice in Europe\/Berlin/)
  // One that lies in the hour that comes twice is said in UTC.
  const twice = await read(`${deliveries}?from=2026-10-25T00:30&to=2026-10-25T01:30`, 'Europe/Berlin')
  assert.match(
    twice,
    /From \(UTC\)<\/label><input type="datetime-local" id="from" name="from" value="2026-10-25T00:30"/,
  )
  assert.ok(!twice.includes('name="zone"'))
})

test('a form that changes something takes its moment in the zone it was printed in, though the zone has changed since', async () => {
  const page = await read(webhook, 'Asia/Kolkata')
  const action = `${webhook}/secret`
  const hidden = hiddenFields(page, action)
  assert.equal(hidden.zone, 'Asia/Kolkata')
  const sent = { ...hidden, secret: 'a secret of some length', switchAt: '2026-03-03T10:30' }
  const wrong = await inZone(own.browser, 'UTC').post(action, { ...sent, secret: 'x' })
  assert.match(
    wrong.text,
    /Signs from \(Asia\/Kolkata\)<\/label><input type="datetime-local" [^>]*value="2026-03-03T10:30"/,
  )
  const answer = await own.browser.post(action, sent)
  assert.equal(answer.status, 303, answer.text)
  assert.match(await read(webhook, 'UTC'), /A new secret signs from\s+<time [^>]*>2026-03-03 05:00:00 UTC/)
})

test('step two of a recovery means the moment of step one, in whatever zone either is read', async () => {
  const page = await read(`${webhook}/recover?since=2026-03-02T10:30&${berlin}`, 'Asia/Kolkata')
  assert.match(
    page,
    /Trouble since \(Asia\/Kolkata\)<\/label><input type="datetime-local" [^>]*value="2026-03-02T15:00"/,
  )
  assert.match(page, /<input type="hidden" name="since" value="2026-03-02T09:30:00.000Z">/)
})

test('a zone that is none is UTC, in a cookie as in a form', async () => {
  const hostile = ['', 'Mars/Olympus', '%3Cscript%3E', 'x'.repeat(4_000), '../../etc/localtime', '%00', '%']
  for (const zone of hostile) assert.match(await read(deliveries, zone), /Times are in UTC\./, zone)
  const answer = await inZone(own.browser, 'UTC').get(`${deliveries}?from=2026-03-02T10:00&zone=%3Cb%3E`)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /It is in a time zone that is not known: use one such as Europe\/Berlin\./)
  assert.ok(!answer.text.includes('<b>'))
})

test('what programs read stays in UTC', async () => {
  const csv = await read(`${deliveries}?format=csv`, 'Europe/Berlin')
  assert.match(csv, /2026-03-02T10:00:00/)
  assert.doesNotMatch(csv, /11:00/)
  const [webhookRow] = await ask<{ at: Date }>(
    house.gateway.context.db,
    'SELECT created_at AS at FROM webhooks WHERE id = $1',
    [webhookId],
  )
  assert.equal(webhookRow!.at.toISOString().slice(0, 16), '2026-03-02T10:00')
})
