/**
 * The operation side of the console: what an operator sees of the gateway, and what somebody who plays with
 * its addresses gets.
 */

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { openAnchorWriter } from '../../../src/audit/anchor.ts'
import { type AuditEntry, recordAct } from '../../../src/audit/audit.ts'
import { sealAll } from '../../../src/audit/chain.ts'
import { openChainCheck } from '../../../src/audit/chain-check.ts'
import { entryColumns } from '../../../src/audit/entries.sql.ts'
import { checkEvidence } from '../../../src/audit/evidence-check.ts'
import { after, hour, second } from '../../../src/clock.ts'
import { applyAsPartner } from '../../../src/partners/partner.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { insertEvents } from '../../../src/webhooks/events/event.ts'
import { deleteWebhook, disableWebhook, getWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../../support/ask.ts'
import { transaction } from '../../support/branch.ts'
import { numberEvents } from '../../support/by-hand.ts'
import { openConsole } from '../../support/console.ts'
import { eventually } from '../../support/eventually.ts'
import { followByHand } from '../../support/follow.ts'
import { openHouse } from '../../support/gateway.ts'
import { holdLanes } from '../../support/held-lane.ts'
import { holdReplays } from '../../support/held-replays.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { watch } from '../../support/live-page.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { deliverOne, openPartner } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'
import { parseCsv } from '../../support/web.ts'

const hunter = 'hunter2'

const house = await openHouse({
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://ada:${hunter}@127.0.0.1:9/v1?key=${hunter}`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${hunter}`,
  OTEL_TRACES_SAMPLER: 'always_off',
})
const db = house.gateway.context.db
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const olga = await openConsole(house)
const holder = await house.signIn(await house.makeUser())

async function show(path: string, status = 200): Promise<string> {
  const page = await olga.browser.get(path)
  assert.equal(page.status, status, page.text)
  return page.text
}

/** A worker writes down how a lane is when it lets go of it. */
function showUntil(path: string, pattern: RegExp): Promise<string> {
  return eventually(`${path} shows ${pattern}`, async () => {
    const page = await show(path)
    return pattern.test(page) && page
  })
}

/** Sends a form of a page. */
async function act(page: string, action: string, fields: Record<string, string> = {}) {
  return olga.browser.submit(await olga.browser.get(page), action, fields)
}

/**
 * A webhook whose receiver refuses, with so many failures in a row; of a partner of its own, whose other
 * hooks need not wait for it.
 */
async function makeFailing(path: string, failures = 1) {
  receiver.on(path, answer(500, {}, 'it is out of order'))
  const { program, partner } = await openPartner(house)
  const id = await program.register(receiver.url(path), { secret: `${hunter}-signs` })
  for (let n = 0; n < failures; n++) await program.fire()
  return { id, partner, program }
}

const newestEntries = `SELECT ${entryColumns} FROM audit_entries WHERE subject = $1 ORDER BY id`
const entriesAbout = (subject: string) => ask<AuditEntry>(db, newestEntries, [subject])

const urlsIn = (text: string) =>
  [...text.matchAll(/console\/webhooks\/(\d+)">/g)].map((match) => Number(match[1]))

test('the overview names who waits for an operator, and leads to them', async () => {
  const { branchId } = await applyAsPartner(db, 'Tax <Wizards>', house.act())
  await askForRefresh(db, own.partner, 'long evenings', house.act())
  const page = await show('/console')
  assert.match(page, new RegExp(`<a href="/console/partners/${branchId}">Tax &lt;Wizards&gt;</a>`))
  assert.match(
    page,
    new RegExp(`<a href="/console/partners/${own.partner.branchId}">${own.partner.name}</a>`),
  )
})

test('the overview counts attempts and how soon deliveries were, and says what it counts', async () => {
  await deliverOne(own, receiver)
  // A worker counts an attempt when it has heard that it is written down.
  const page = await eventually('an attempt that is counted', async () => {
    await house.gateway.context.attemptCounter.flush()
    const looked = await show('/console?period=day')
    return /<strong>\d+<\/strong> attempts?, 100\.0 % accepted/.test(looked) && looked
  })
  assert.match(page, /<strong>\d+ m?s<\/strong> from published to delivered, for 95 of 100/)
  assert.match(page, /Attempts are counted by when they were made, a few seconds later/)
  assert.match(await show('/console?period=%3Cscript%3E'), /aria-current="page">Last hour/)
})

test('the overview tells by itself of a new application and of a webhook that fails', async () => {
  const stream = await watch(olga.browser, '/console')
  assert.equal(stream.status, 200)
  await stream.until(/data: /)
  await applyAsPartner(db, 'Late Comer', house.act())
  await stream.until(/Late Comer/)
  const { id } = await makeFailing('/live-failing')
  await stream.until(new RegExp(`console/webhooks/${id}`))
  stream.stop()
})

test('the live overview is not for others, and ends when the operator signs out', async () => {
  const refused = await watch(holder, '/console')
  assert.equal(refused.status, 404)
  refused.stop()
  const second = await openConsole(house, 'Otto Operator')
  const stream = await watch(second.browser, '/console')
  await stream.until(/data: /)
  await second.browser.submit(await second.browser.get('/account'), '/logout', {})
  await stream.until(/event: over/)
  stream.stop()
})

test('webhooks are listed worst first, each with its partner, and can be filtered', async () => {
  const { id: open } = await makeFailing('/breaker', 10)
  const { webhookId: well } = await deliverOne(own, receiver, '/well')
  const disabled = await own.program.register(receiver.url('/gone'))
  await disableWebhook(db, disabled, 'It said <410>.', house.act())
  await showUntil(`/console/webhooks/${open}`, />failing: one retry a minute</)
  const all = urlsIn(await show('/console/webhooks'))
  assert.ok(all.indexOf(open) < all.indexOf(disabled), 'an open breaker before what is switched off')
  assert.ok(all.indexOf(disabled) < all.indexOf(well), 'what is well comes last')
  assert.match(await show('/console/webhooks'), /It said &lt;410&gt;\./)
  assert.deepEqual(urlsIn(await show('/console/webhooks?condition=disabled')), [disabled])
  const unwell = urlsIn(await show('/console/webhooks?condition=needs+attention'))
  assert.ok(unwell.includes(open) && unwell.includes(disabled) && !unwell.includes(well))
  assert.ok(urlsIn(await show(`/console/webhooks?partner=${own.partner.branchId}`)).includes(well))
  const part = encodeURIComponent(own.partner.name.slice(2).toUpperCase())
  assert.ok(urlsIn(await show(`/console/webhooks?partner=${part}`)).includes(well))
  assert.deepEqual(urlsIn(await show('/console/webhooks?site=sandbox')), [])
})

test('a webhook whose receiver is well but that nobody serves is late', async (t) => {
  const { program, partner } = await openPartner(house)
  const late = await program.register(receiver.url('/late'))
  const soon = await program.register(receiver.url('/soon'))
  const { branchId } = partner
  const now = house.clock.now()
  await holdLanes(t, house, [late, soon])
  for (const [webhookId, agoMs] of [[late, 2 * hour] as const, [soon, 59 * second] as const]) {
    const draft = { branchId, environment: 'live', kind: 'TRANSACTION', action: 'SUBMITTED' } as const
    const event = { ...draft, entity: 'transaction:1:test', body: '{}', simulated: true, webhookId }
    await insertEvents(db, [event], after(now, -agoMs))
  }
  await numberEvents(house)
  const page = await show(`/console/webhooks?partner=${branchId}`)
  assert.match(page, /<td[^>]*>2 h<\/td>/)
  assert.deepEqual(urlsIn(await show(`/console/webhooks?partner=${branchId}&condition=late`)), [late])
  assert.deepEqual(urlsIn(await show(`/console/webhooks?partner=${branchId}&condition=not+tried`)), [soon])
  assert.match(await show('/console'), />late · 1</)
})

test('filters of webhooks take any text for what it is', async () => {
  for (const partner of [
    "' OR 1=1 --",
    '%',
    '_',
    '1e9',
    '99999999999999999999',
    '0',
    '2147483648',
    '%00',
    '<b>',
  ]) {
    const page = await show(`/console/webhooks?partner=${encodeURIComponent(partner)}`)
    assert.deepEqual(urlsIn(page), [], partner)
    assert.doesNotMatch(page, /<b>/)
  }
  for (const page of ['1', '2000', '999999999999999'])
    assert.equal((await olga.browser.get(`/console/webhooks?page=${page}`)).status, 200, page)
  for (const wrong of [
    'page=0',
    'page=-1',
    'page=1e3',
    'condition=%3Cscript%3E',
    'site=moon',
    'page=9999999999999999',
  ])
    assert.doesNotMatch(await show(`/console/webhooks?${wrong}`, 400), /<script>/)
  assert.match(await show('/console/webhooks?site=moon', 400), /It must be live or sandbox\./)
  await show('/console/webhooks?condition=healthy&condition=paused')
})

test('pages of webhooks lead on without a double', async () => {
  const { branchId } = await house.makePartner()
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
    SELECT ${branchId}, 'sandbox', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], now(), now()
      FROM generate_series(1, 120) AS n;
    ${followByHand}`)
  const seen: number[] = []
  let path: string | undefined = `/console/webhooks?partner=${branchId}`
  while (path !== undefined) {
    const page: string = await show(path)
    seen.push(...urlsIn(page))
    path = /<a href="([^"]*)" rel="next"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.equal(seen.length, 120)
  assert.equal(new Set(seen).size, 120)
})

test('a webhook shows why it fails and holds no secret', async () => {
  const { id, partner } = await makeFailing('/shown')
  const page = await showUntil(`/console/webhooks/${id}?period=day`, />failing</)
  assert.match(page, />500 after /)
  assert.match(page, new RegExp(`/console/partners/${partner.branchId}`))
  assert.match(page, new RegExp(`/console/audit\\?subject=webhook%3A${id}`))
  assert.match(page, /HTTP 500, .*it is out of order/s)
  assert.ok(!page.includes(hunter), 'the secret')
  for (const absent of ['0', 'x', '1e9', '1000000000', '999999999999999', '%27'])
    await show(`/console/webhooks/${absent}`, 404)
})

test('a webhook shows what its partner chose for it, but for the values of headers, and behind which a delivery waits', async () => {
  receiver.on('/chosen', answer(500))
  const { program } = await openPartner(house)
  const id = await program.register(receiver.url('/chosen'), {
    ...{ kinds: ['TRANSACTION'], actions: { TRANSACTION: ['COMPLETED'] }, rateLimit: 7 },
    ...{ description: 'for <accounting>', headers: { 'x-team': `${hunter}-inside` } },
  })
  const page = await show(`/console/webhooks/${id}`)
  assert.match(page, /<dt>Events to send<\/dt><dd>TRANSACTION \(only COMPLETED\)<\/dd>/)
  assert.match(page, /<dt>Rate limit<\/dt><dd>7 attempts a second<\/dd>/)
  assert.match(page, /<dt>Headers<\/dt><dd>x-team<\/dd>/)
  assert.match(page, /<dt>Description<\/dt><dd>for &lt;accounting&gt;<\/dd>/)
  assert.ok(!page.includes(hunter), 'the value of a header')
  const { id: failing, program: again } = await makeFailing('/in-line')
  const [first] = (await again.fire(transaction({ transactionId: 71 }))).deliveries
  await again.fire(transaction({ transactionId: 71 }), 1)
  assert.match(await show(`/console/webhooks/${failing}`), new RegExp(`>queued behind #${first!.id}<`))
})

test('an operator pauses and resumes a webhook, once however often the form is sent', async () => {
  const single = await openPartner(house)
  const { webhookId: id } = await deliverOne(single, receiver, '/held')
  const home = `/console/webhooks/${id}`
  const opened = await olga.browser.get(home)
  for (let n = 0; n < 2; n++) {
    const answered = await olga.browser.submit(opened, `${home}/pause`, { reason: 'It floods them.' })
    assert.equal(answered.status, 303)
    assert.equal(answered.location, home)
  }
  assert.match(await show(home), /The webhook is paused\./)
  const resumed = await act(home, `${home}/resume`)
  assert.equal(resumed.location, home)
  const acts = (await entriesAbout(`webhook:${id}`)).map(({ action, actor }) => [action, actor])
  assert.deepEqual(acts.slice(-2), [
    ['webhook.paused', `user:${olga.user.id}`],
    ['webhook.resumed', `user:${olga.user.id}`],
  ])
  const branch = { branchId: single.partner.branchId, environment: 'live' } as const
  await deleteWebhook(db, await getWebhook(db, branch, id), house.act())
  await show(home, 404)
  const csrf = /name="csrf" value="([^"]+)"/.exec(await show('/console'))![1]!
  assert.equal(
    (await olga.browser.post(`${home}/resume`, { csrf })).status,
    404,
    'what was deleted stays deleted',
  )
})

const idsIn = (page: string) => [...page.matchAll(/>entry (\d+)</g)].map((match) => Number(match[1]))

test('a recovery that would be refused is not offered: while one runs, or while the webhook is paused', async (t) => {
  const offered = async (at: string) => [
    />Recover…</.test(await show(`${at}/incident`)),
    /recover\/start"/.test(await show(`${at}/recover`)),
  ]
  const { id: recovered } = await makeFailing('/recovering')
  const { id: paused } = await makeFailing('/recovering-later')
  const [running, waiting] = [`/console/webhooks/${recovered}`, `/console/webhooks/${paused}`]
  for (const at of [running, waiting]) assert.deepEqual(await offered(at), [true, true])
  await holdReplays(t, house, recovered, { since: 1 })
  assert.deepEqual(await offered(running), [false, false])
  assert.match(await show(`${running}/recover`), /This webhook is being recovered already\./)
  await db.script(`UPDATE webhooks SET state = 'paused' WHERE id = ${paused}; ${followByHand}`)
  assert.deepEqual(await offered(waiting), [false, false])
})

test('the audit log is searched, and each value leads to what else it is in', async () => {
  const act = { by: { name: 'operator:<i>', address: '192.0.2.9' }, at: house.clock.now() }
  await recordAct(db, act, 'keys.pruned', 'keys:all', { note: '<script>alert(1)</script>' })
  const page = await show('/console/audit?action=keys')
  assert.equal(idsIn(page).length, 1)
  assert.match(page, /&lt;script&gt;alert\(1\)/)
  assert.doesNotMatch(page, /<script>|<i>/)
  assert.match(page, /\/console\/audit\?actor=operator%3A%3Ci%3E/)
  for (const query of ['action=keys.', 'action=keys.pruned', 'address=192.0.2.9', 'subject=keys%3Aall'])
    assert.equal(idsIn(await show(`/console/audit?${query}`)).length, 1, query)
  for (const query of [
    'action=%25',
    'action=no such act',
    'actor=%27%20OR%201=1--',
    'address=%25',
    'subject=%00',
  ])
    assert.deepEqual(
      idsIn(await show(`/console/audit?${query}`)).filter((id) => query !== 'subject=%00' && id),
      [],
      query,
    )
})

test('a wrong filter of the audit log is told beside its field, and an absurd page is none', async () => {
  for (const query of [
    'from=yesterday',
    'to=2026-13-01T00:00',
    'environment=moon',
    'from=2026-03-03T00:00&to=2026-03-02T00:00',
  ])
    assert.match(await show(`/console/audit?${query}`, 400), /class="problem"/, query)
  for (const before of ['-1', '1e9', 'x', '0', '9'.repeat(16)])
    await show(`/console/audit?before=${before}`, 400)
  assert.match(await show('/console/audit?before=1'), /Nothing was found\./)
  assert.ok(idsIn(await show('/console/audit?before=999999999999999')).length > 0)
})

test('pages of the audit log lead to its first entry without a gap or a double', async () => {
  const mark = `client:${makeUpWord()}`
  for (let n = 0; n < 120; n++) await recordAct(db, house.act(), 'client.updated', mark, { n })
  const seen: number[] = []
  let path: string | undefined = `/console/audit?subject=${encodeURIComponent(mark)}`
  while (path !== undefined) {
    const page: string = await show(path)
    seen.push(...idsIn(page))
    path = /<a href="([^"]*)" rel="next"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  }
  const about = (await entriesAbout(mark)).map(({ id }) => id)
  assert.deepEqual(seen, about.toReversed())
})

test('an export holds all that the search finds, as CSV and as JSON, and is recorded', async () => {
  const mark = `client:${makeUpWord()}`
  await db.script(`
    INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT '2026-03-02T10:00:00Z', '=cmd|''/c calc''!A0', 'client.updated', '${mark}',
      json_build_object('say', 'a "b", c', 'n', n)
    FROM generate_series(1, 2500) AS n`)
  const query = `subject=${encodeURIComponent(mark)}`
  const csv = await olga.browser.get(`/console/audit/export?format=csv&${query}`)
  assert.equal(csv.status, 200)
  assert.match(String(csv.headers['content-type']), /^text\/csv; charset=utf-8/)
  assert.equal(
    csv.headers['content-disposition'],
    'attachment; filename="countersign-audit-20260302T100000Z.csv"',
  )
  assert.equal(csv.headers['cache-control'], 'no-store')
  const [head, ...rows] = parseCsv(csv.text)
  assert.deepEqual(head, [
    'id',
    'at',
    'actor',
    'action',
    'subject',
    'environment',
    'address',
    'request_id',
    'details',
  ])
  const about = (await entriesAbout(mark)).toReversed()
  assert.deepEqual(
    rows.map(([id]) => Number(id)),
    about.map(({ id }) => id),
  )
  assert.ok(
    rows.every((row) => row[2] === `'=cmd|'/c calc'!A0`),
    'no formula begins a cell',
  )
  assert.deepEqual(JSON.parse(rows[0]![8]!), about[0]!.details)
  const json = await olga.browser.get(`/console/audit/export?format=json&${query}`)
  assert.deepEqual(
    json.json<{ id: number; actor: string }[]>().map(({ id }) => id),
    about.map(({ id }) => id),
  )
  assert.deepEqual(Object.keys(json.json<object[]>()[0]!), head, 'by the same names')
  const [first, second] = (await entriesAbout('audit:log')).filter(
    ({ action }) => action === 'audit.exported',
  )
  assert.equal(first!.actor, `user:${olga.user.id}`)
  assert.deepEqual(first!.details, { format: 'csv', search: { subject: mark } })
  assert.equal(second!.details.format, 'json')
})

/** What a file of evidence proves, by itself. */
async function proofOf(text: string) {
  const lines = Readable.from(text.trimEnd().split('\n'))
  const { proven, problems } = await checkEvidence(lines)
  assert.deepEqual(problems, [])
  return proven.map(({ entry }) => entry.id)
}

test('evidence holds what was ticked, or all that the search finds, with a proof that needs nothing but the file', async () => {
  const mark = `client:${makeUpWord()}`
  for (let n = 0; n < 5; n++) await recordAct(db, house.act(), 'client.updated', mark, { n })
  const ids = (await entriesAbout(mark)).map(({ id }) => id)
  const found = await olga.browser.get(
    `/console/audit/export?format=evidence&subject=${encodeURIComponent(mark)}`,
  )
  assert.equal(found.status, 200, found.text)
  assert.match(
    String(found.headers['content-disposition']),
    /filename="countersign-audit-\w+\.evidence\.jsonl"/,
  )
  assert.deepEqual(await proofOf(found.text), ids)
  const ticked = `/console/audit/export?format=evidence&of=ticked&entry=${ids[1]}&entry=${ids[3]}&entry=${ids[3]}&entry=999999999`
  assert.deepEqual(await proofOf((await olga.browser.get(ticked)).text), [ids[1], ids[3]])
  const [newest] = (await entriesAbout('audit:log')).toReversed()
  assert.deepEqual(newest!.details, {
    format: 'evidence',
    search: { entries: [ids[1], ids[3], 999_999_999] },
  })
  for (const wrong of ['of=ticked', 'entry=x', 'entry=0', 'entry=-1', 'subject=a&from=x'])
    assert.equal(
      (await olga.browser.get(`/console/audit/export?format=evidence&${wrong}`)).status,
      400,
      wrong,
    )
  assert.deepEqual(
    await proofOf((await olga.browser.get('/console/audit/export?format=evidence&subject=nobody')).text),
    [],
  )
  const page = await show(`/console/audit?subject=${encodeURIComponent(mark)}`)
  assert.match(page, new RegExp(`type="checkbox" name="entry" value="${ids[0]}" form="evidence"`))
  assert.match(
    await show('/console/audit/chain'),
    /the public key of this log, which you publish: <code>[\w-]{43}<\/code>/,
  )
})

test('a log that was changed gives no evidence, and the operator reads why', async () => {
  const mark = `client:${makeUpWord()}`
  await recordAct(db, house.act(), 'client.updated', mark)
  await sealAll(db, house.clock.now(), 'wait')
  const set = (actor: string) =>
    db.transaction(async (sql) => {
      await sql.script(
        `SET LOCAL session_replication_role = replica; UPDATE audit_entries SET actor = '${actor}'
          WHERE subject = '${mark}'`,
      )
    })
  const [entry] = await entriesAbout(mark)
  await set('gateway')
  const refused = await olga.browser.get(
    `/console/audit/export?format=evidence&subject=${encodeURIComponent(mark)}`,
  )
  assert.equal(refused.status, 409)
  assert.match(refused.text, /The audit log is not as it was written\. Verify the chain/)
  await set(entry!.actor)
})

test('an export that finds nothing is empty, and a wrong one is refused as a page would be', async () => {
  const nothing = 'subject=nobody'
  assert.deepEqual((await olga.browser.get(`/console/audit/export?format=json&${nothing}`)).json(), [])
  assert.equal(
    parseCsv((await olga.browser.get(`/console/audit/export?format=csv&${nothing}`)).text).length,
    1,
  )
  for (const wrong of ['format=xml', 'from=x', 'environment=moon'])
    assert.equal((await olga.browser.get(`/console/audit/export?${wrong}`)).status, 400, wrong)
  assert.equal((await holder.get('/console/audit/export?format=csv')).status, 404)
})

test('an export that nobody reads on gives its place back', async () => {
  await db.script(`
    INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT '2026-03-02T10:00:00Z', 'gateway', 'client.updated', 'client:long',
      json_build_object('long', repeat('x', 3000)) FROM generate_series(1, 4000)`)
  for (let n = 0; n < 25; n++) {
    const stream = await watch(olga.browser, '/console/audit/export?format=json&subject=client%3Along')
    assert.equal(stream.status, 200, `export ${n}`)
    stream.stop()
    await stream.closed()
  }
})

test('a verification tells how far it is and what it found, and its head is an anchor for the next', async () => {
  const home = '/console/audit/chain'
  const stream = await watch(olga.browser, home)
  await stream.until(/None has run here/)
  const began = await act(home, `${home}/verify`)
  assert.equal(began.status, 303)
  assert.equal(began.location, home)
  const heard = await stream.until(/The chain is intact\./)
  const [, head] = /<code>(\d+:[0-9a-f]{64})<\/code>/.exec(heard)!
  await act(home, `${home}/verify`, { anchor: head! })
  await stream.until(/The chain goes through the anchor/)
  await act(home, `${home}/verify`, { anchor: `1:${'0'.repeat(64)}` })
  await stream.until(/The chain does not contain the anchor/)
  stream.stop()
  const recorded = (await entriesAbout('audit:log')).filter(({ action }) => action === 'audit.verified')
  assert.equal(recorded.length, 3)
  assert.equal(recorded[0]!.details.head, head)
  assert.equal(recorded[0]!.actor, `user:${olga.user.id}`)
  assert.deepEqual(recorded[2]!.details.missingAnchors, [`1:${'0'.repeat(64)}`])
})

test('an anchor that cannot be read is told beside its field, and nothing is begun', async () => {
  const home = '/console/audit/chain'
  const count = async () => (await entriesAbout('audit:log')).length
  const before = await count()
  for (const anchor of ['x', '1:abc', `-1:${'0'.repeat(64)}`, `1:${'0'.repeat(65)}`, "' OR 1=1", '<b>']) {
    const refused = await act(home, `${home}/verify`, { anchor })
    assert.equal(refused.status, 400, anchor)
    assert.match(refused.text, /id="anchor-problem"/)
    assert.doesNotMatch(refused.text, /<b>/)
  }
  assert.equal(await count(), before)
})

test('whoever asks while a verification runs joins it, and both anchors are answered', async () => {
  const { clock, log, vault } = house.gateway.context
  const check = openChainCheck({ db, vault, clock, log, file: undefined })
  const anchor = (digit: string) => ({ position: 1, hash: Buffer.from(digit.repeat(64), 'hex') })
  assert.equal(check.start(house.act(), anchor('1')), true)
  assert.equal(check.start(house.act(), anchor('2')), false)
  assert.equal(check.state().kind, 'running')
  for (let n = 0; n < 18; n++) check.start(house.act(), { position: n + 10, hash: Buffer.alloc(32) })
  assert.throws(() => check.start(house.act(), anchor('3')), /Too many anchors/)
  await eventually('the chain is verified', () => check.state().kind !== 'running')
  const state = check.state()
  assert.ok(state.kind === 'intact')
  assert.equal(state.anchors.length, 20)
  assert.ok(state.anchors.every(({ contained }) => !contained))

  assert.equal(check.start(house.act(), undefined), true, 'the next one begins anew')
  await check.close()
  assert.equal(check.state().kind, 'failed', 'one that was stopped has found nothing')
  assert.throws(() => check.start(house.act(), undefined), /closing/)
})

test('a log that lost its newest block is shown as cut, though its chain is intact', async () => {
  const home = '/console/audit/chain'
  const { vault, clock, log, config } = house.gateway.context
  const writer = openAnchorWriter({ db, vault, clock, log, file: config.auditAnchorFile })
  await sealAll(db, clock.now(), 'wait')
  await recordAct(db, house.act(), 'client.updated', 'client:to-be-lost')
  await sealAll(db, clock.now(), 'wait')
  await writer.write()
  await db.transaction(async (sql) => {
    await sql.script(`SET LOCAL session_replication_role = replica;
      DELETE FROM audit_entries WHERE subject = 'client:to-be-lost';
      DELETE FROM audit_blocks WHERE position = (SELECT max(position) FROM audit_blocks)`)
  })
  await act(home, `${home}/verify`)
  const stream = await watch(olga.browser, home)
  const heard = await stream.until(/The log ends with block \d+, but had block \d+ at /)
  stream.stop()
  assert.doesNotMatch(heard, /The chain is intact\./)
  assert.match(await show(home), /class="state bad">cut or rewritten/)
  rmSync(config.auditAnchorFile!)
})

test('a broken chain is shown as broken', async () => {
  const home = '/console/audit/chain'
  await recordAct(db, house.act(), 'client.updated', 'client:to-be-forged')
  await sealAll(db, house.clock.now(), 'wait')
  await act(home, `${home}/verify`)
  const stream = await watch(olga.browser, home)
  await stream.until(/The chain is intact\./)
  await db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    await sql.script(`UPDATE audit_entries SET actor = 'gateway' WHERE subject = 'client:to-be-forged'`)
  })
  await act(home, `${home}/verify`)
  await stream.until(/The chain is broken at block/)
  stream.stop()
  assert.match(await show(home), /class="state bad">broken/)
})

test('settings show what is in force and where it comes from, and nothing secret', async () => {
  const page = await show('/console/settings')
  assert.ok(!page.includes(hunter))
  assert.ok(!page.includes(house.settings.SECRET_KEY!))
  assert.match(page, /<code>SECRET_KEY<\/code>[\s\S]*?set, not shown/)
  assert.match(
    page,
    /<code>LOG_LEVEL<\/code><\/th>\s*<td[^>]* class="url"><code>silent<\/code><\/td>\s*<td[^>]*>environment<\/td>/,
  )
  assert.match(
    page,
    /<code>BODY_LIMIT_BYTES<\/code><\/th>\s*<td[^>]* class="url"><code>65536<\/code><\/td>\s*<td[^>]*>default<\/td>/,
  )
  assert.ok(page.includes(house.baseUrl))
  assert.match(page, /<dt>Schema<\/dt><dd>version \d+, as this release wants it/)
  assert.match(page, new RegExp(`<dt>Node.js</dt><dd>${process.version}`))
  assert.match(page, /<dt>PostgreSQL<\/dt><dd>\d+/)
})
