/** The delivery log in the portal: filters, pages, one delivery with its signature, live. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import { removeMember } from '../../../src/partners/partner.ts'
import { searchDeliveries } from '../../../src/webhooks/deliveries/delivery-search.ts'
import { partOf } from '../../../src/webhooks/events/part.ts'
import { getWebhook, type Webhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../../support/ask.ts'
import { transaction } from '../../support/branch.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { watch } from '../../support/live-page.ts'
import { lookInside } from '../../support/look-inside.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { addOwner, deliverOne, openPartner } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const delivered = await deliverOne(own, receiver)

const idsIn = (text: string) =>
  [...text.matchAll(/deliveries\/(\d+-\d+)">\1<\/a>/g)].map((match) => match[1]!)
const seqOf = (id: string) => Number(id.split('-')[1])

let filled = 0

/**
 * So many deliveries of a new webhook, a second apart, without sending them; those of `unfinished` wait. Each
 * time an hour later: numbers grow with time.
 */
async function fill(
  count: number,
  { exhausted = [], unfinished = [] }: { exhausted?: readonly string[]; unfinished?: readonly string[] } = {},
): Promise<Webhook> {
  const { db } = house.gateway.context
  const webhookId = await own.program.register(receiver.url(`/filled-${makeUpWord()}`))
  const hours = 10 + ++filled
  await db.transaction(async (sql) => {
    await ask(
      sql,
      `INSERT INTO outbox (part, feed, simulated, webhook_id, created_at, kind, action, entity, body)
         SELECT part_of($1), feed_of($1, 'live'), true, $2, $3::timestamptz + n * interval '1 s',
           'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}'
         FROM generate_series(1, $4::int) n ORDER BY n`,
      [own.partner.branchId, webhookId, `2026-03-02 ${hours}:00Z`, count],
    )
    for (let left = count; left > 0; left -= 1_000)
      await lookInside(db, sql, partOf(own.partner.branchId), house.clock.now())
    await ask(
      sql,
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
          outcome)
         SELECT part, $1, seq, 0, 1, day, created_at, 5, 200, CASE WHEN entity = ANY ($2)
           THEN 'exhausted' ELSE 'delivered' END,
           CASE WHEN entity = ANY ($2) THEN 'refused' ELSE 'accepted' END
         FROM log WHERE webhook_id = $1 AND entity <> ALL ($3)`,
      [webhookId, exhausted, unfinished],
    )
    await ask(
      sql,
      `INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
         SELECT part, $1, entity, seq, day, 1, '2030-01-01Z', $3 FROM log
           WHERE webhook_id = $1 AND entity = ANY ($2)`,
      [webhookId, unfinished, house.clock.now()],
    )
    await ask(
      sql,
      'UPDATE cursors SET position = feed_head(part, feed), epoch = epoch + 1 WHERE webhook_id = $1',
      [webhookId],
    )
  })
  return getWebhook(db, { branchId: own.partner.branchId, environment: 'live' }, webhookId)
}

test('pages lead from the newest delivery to the oldest without a gap or a double', async () => {
  const { id: webhookId } = await fill(120)
  const seen: number[] = []
  let path: string | undefined = `${own.home}/deliveries?webhook=${webhookId}`
  for (let pages = 0; path !== undefined; pages++) {
    assert.ok(pages < 4)
    const { text } = await own.browser.get(path)
    seen.push(...idsIn(text).map(seqOf))
    path = /<a href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.equal(seen.length, 120)
  assert.deepEqual(
    seen,
    [...new Set(seen)].sort((left, right) => right - left),
  )
})

test('several webhooks are merged by age, also where one has many more than another', async () => {
  const { db } = house.gateway.context
  const [many, few] = [await fill(300), await fill(7)]
  const seen: number[] = []
  let before: string | undefined
  do {
    const page = await searchDeliveries(db, [many, few], {}, before, 50)
    seen.push(...page.deliveries.map((each) => each.seq))
    before = page.next
  } while (before !== undefined)
  assert.equal(seen.length, 307)
  assert.deepEqual(
    seen,
    [...new Set(seen)].sort((left, right) => right - left),
  )
})

test('deliveries are found by state, kind, entity and time', async () => {
  const unfinished = ['transaction:8', 'transaction:9']
  const { id: webhookId } = await fill(60, { exhausted: ['transaction:7'], unfinished })
  const find = async (query: string) =>
    idsIn((await own.browser.get(`${own.home}/deliveries?webhook=${webhookId}&${query}`)).text).length
  assert.equal(await find('state=exhausted'), 1)
  assert.equal(await find('state=waiting'), 2)
  assert.equal(await find('state=blocked'), 0)
  assert.equal(await find('kind=TRANSACTION&state=delivered'), 50)
  assert.equal(await find('kind=APPLICATION'), 0)
  assert.equal(await find('entity=transaction%3A42'), 1)
  const hour = `2026-03-02T${10 + filled}`
  assert.equal(await find(`from=${hour}:00:11&to=${hour}:00:21`), 10)
  assert.equal(await find(`from=${hour}:30`), 0)
  assert.equal(await find(`to=${hour}:00`), 0)
})

test('a search for something rare looks at a part and says that there is more', async () => {
  const others = Array.from({ length: 1_499 }, (_, index) => `transaction:${index + 2}`)
  const { id: webhookId } = await fill(1_500, { exhausted: others })
  const list = `${own.home}/deliveries?webhook=${webhookId}`
  const first = await own.browser.get(`${list}&state=delivered`)
  assert.match(first.text, /There are no deliveries here\./)
  const [, next] = /<a href="([^"]*)" rel="next">Look further back/.exec(first.text)!
  assert.equal(idsIn((await own.browser.get(next!.replaceAll('&amp;', '&'))).text).length, 1)
  const byEntity = await own.browser.get(`${list}&entity=transaction%3A1`)
  assert.equal(idsIn(byEntity.text).length, 1, 'an entity is found at once')
})

test('a moment, a state or a kind that cannot be is told beside its field', async () => {
  const page = await own.browser.get(`${own.home}/deliveries?state=lost&kind=X&from=yesterday`)
  assert.equal(page.status, 400)
  for (const name of ['state', 'kind', 'from']) assert.match(page.text, new RegExp(`id="${name}-problem"`))
  assert.equal(
    (await own.browser.get(`${own.home}/deliveries?webhook=x&before=y`)).status,
    200,
    'finds nothing',
  )
})

test('a delivery shows its attempts, what was sent, and how it is signed, but never the secret', async () => {
  receiver.on('/hooks', answer(200, {}, 'thank <you>'))
  const { text } = await own.browser.get(`${own.home}/deliveries/${delivered.deliveryId}`)
  const [sent] = receiver.at('/hooks')
  const signature = createHmac('sha256', own.client.secret).update(sent!.body).digest('hex')
  assert.equal(sent!.headers['x-webhook-signature'], signature)
  for (const name of [
    'x-webhook-signature',
    'webhook-signature',
    'webhook-timestamp',
    'webhook-id',
    'user-agent',
  ]) {
    assert.ok(text.includes(`${name}: ${sent!.headers[name]}`), name)
  }
  assert.match(text, /HTTP 200/)
  assert.equal(text.includes(own.client.secret), false)
  assert.ok(text.includes(`••••••••${own.client.secret.slice(-4)}`))
})

test('with a secret of whsec_ the page tells how each of its two signatures comes about, and the form says which secret to take', async () => {
  const other = await openPartner(house)
  const key = Buffer.alloc(32, 'key')
  const secret = `whsec_${key.toString('base64')}`
  const id = await other.program.register(receiver.url('/standard'), { secret })
  const fired = await other.program.fire(transaction())
  const page = await other.browser.get(`${other.home}/deliveries/${fired.deliveries[0]!.id}`)
  const [sent] = receiver.at('/standard')
  const { 'webhook-id': eventId, 'webhook-timestamp': at, 'webhook-signature': signatures } = sent!.headers
  for (const by of [secret, key]) {
    const signature = `v1,${createHmac('sha256', by).update(`${eventId}.${at}.${sent!.body}`).digest('base64')}`
    assert.ok(String(signatures).split(' ').includes(signature))
    assert.ok(page.text.includes(`<code>${signature}</code>`))
  }
  assert.equal(page.text.includes(secret), false)
  for (const path of ['/webhooks', `/webhooks/${id}`])
    assert.match((await other.browser.get(other.home + path)).text, /whsec_ followed by base64/)
})

test('a delivery is sent again from its page, and what came back is text', async () => {
  const page = `${own.home}/deliveries/${delivered.deliveryId}`
  const count = receiver.at('/hooks').length
  receiver.on('/hooks', answer(200, {}, '<script src=//evil.example></script>'))
  const sent = await own.browser.submit(await own.browser.get(page), `${page}/redeliver`, {})
  const repeat = sent.location!
  assert.match(repeat, new RegExp(`^${own.home}/deliveries/\\d+-\\d+-\\d+$`))
  assert.notEqual(repeat, page)
  await receiver.count('/hooks', count + 1)
  receiver.on('/hooks', answer(200))
  await receiver.until(() => receiver.underWay('/hooks') === 0, 'the answer')
  const text = await eventually('the attempt is shown', async () => {
    const shown = (await own.browser.get(repeat)).text
    return shown.includes('attempt 1') && shown
  })
  assert.ok(text.includes(`<a href="${page}">`), 'it says which one it repeats')
  assert.doesNotMatch((await own.browser.get(page)).text, /evil|attempt 2/, 'what has ended stays as it is')
  assert.doesNotMatch(text, /<script src=\/\/evil/)
  assert.match(text, /&lt;script src=\/\/evil/)
})

test('the list tells by itself of what is new', async () => {
  const stream = await watch(own.browser, `${own.home}/deliveries?webhook=${delivered.webhookId}`)
  assert.equal(stream.status, 200)
  await stream.until(/data: /)
  const fired = await own.program.fire(transaction())
  const { id } = fired.deliveries.find((each) => each.webhookId === delivered.webhookId)!
  await stream.until(new RegExp(`deliveries/${id}`))
  stream.stop()
})

test('a live page ends for whoever is a member no more, and does not keep a session alive', async () => {
  const { db } = house.gateway.context
  const leaver = await openPartner(house)
  const stream = await watch(leaver.browser, `${leaver.home}/deliveries`)
  await stream.until(/data: /)
  await addOwner(house, leaver.partner)
  await removeMember(db, leaver.partner, leaver.user, house.act())
  await stream.until(/event: over/)

  const idler = await openPartner(house)
  const open = await watch(idler.browser, `${idler.home}/deliveries`)
  await open.until(/data: /)
  house.clock.advance(31 * minute)
  await open.until(/event: over/)
})

test('a partner has twenty live pages open at most', async () => {
  const partner = await openPartner(house)
  const open = () => watch(partner.browser, `${partner.home}/deliveries`)
  const streams = await Promise.all(Array.from({ length: 20 }, open))
  assert.ok(streams.every(({ status }) => status === 200))
  const beyond = await open()
  assert.equal(beyond.status, 429)
  for (const { stop } of streams) stop()
})

test('a live page of what is not there, or is somebody else’s, is refused', async () => {
  const [partner, stranger] = [await openPartner(house), await openPartner(house)]
  assert.equal((await watch(partner.browser, `${partner.home}/deliveries/1-999999`)).status, 404)
  assert.equal(
    (await watch(partner.browser, `${partner.home}/deliveries/${delivered.deliveryId}`)).status,
    404,
  )
  assert.equal((await watch(stranger.browser, `${partner.home}/deliveries`)).status, 404)
})
