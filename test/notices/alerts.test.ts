/** Alerts at an address of the partner's own: confirmed first, signed, bounded, and told once. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { findDue } from '../../src/alerts/due.ts'
import { hour, minute, second } from '../../src/clock.ts'
import { addMember, getPartner, type Partner, setPartnerStatus } from '../../src/partners/partner.ts'
import type { User } from '../../src/users/user.ts'
import { disableWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { allSent, tellDue } from '../support/alerts.ts'
import { ask } from '../support/ask.ts'
import type { Browser } from '../support/browser.ts'
import { failDeliveries } from '../support/by-hand.ts'
import { entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeReader } from '../support/notices.ts'
import { accept, answer, fail, gate } from '../support/receiver.ts'

const engine = await keepOpen(openEngine())
const { house, receiver } = engine
const { db } = house.gateway.context

interface Place {
  readonly partner: Partner
  readonly user: User
  readonly browser: Browser
  readonly page: string
}

async function openPlace(): Promise<Place> {
  const partner = await house.makePartner()
  await house.makeClient({ partner })
  const user = await house.makeUser()
  await addMember(db, partner, user, house.act())
  return { partner, user, browser: await house.signIn(user), page: `/partner/${partner.branchId}/alerts` }
}

interface Body {
  readonly text: string
  readonly mrkdwn: boolean
  readonly more?: number
  readonly alerts: readonly { id: string; kind: string; code?: string; webhookId?: number; host?: string }[]
}

const bodiesAt = (path: string) => receiver.at(path).map(({ body }) => JSON.parse(body) as Body)
const lastAt = (path: string) => bodiesAt(path).at(-1)!

const everything = ['failing', 'recovered', 'disabled', 'expiring']

async function add({ browser, page }: Place, path: string, wait = '5') {
  const shown = await browser.get(page)
  const made = await browser.submit(shown, `${page}/add`, { url: receiver.url(path), what: everything, wait })
  assert.equal(made.status, 200, made.text)
  const [, secret] = /class="secret">([^<]+)</.exec(made.text)!
  const targetId = await newest()
  await receiver.count(path, 1)
  return { secret: secret!, targetId, code: lastAt(path).alerts[0]!.code! }
}

async function newest(): Promise<number> {
  const [row] = await ask<{ id: number }>(db, 'SELECT max(id) AS id FROM alert_targets', [])
  return row!.id
}

function confirm({ browser, page }: Place, target: number, code: string) {
  return browser
    .get(page)
    .then((shown) => browser.submit(shown, `${page}/confirm`, { target: String(target), code }))
}

async function addConfirmed(place: Place, path: string, wait?: string) {
  const added = await add(place, path, wait)
  assert.equal((await confirm(place, added.targetId, added.code)).status, 303)
  return added
}

async function removeTarget({ browser, page }: Place, target: number): Promise<void> {
  const shown = await browser.get(page)
  const removed = await browser.submit(shown, `${page}/remove`, { target: String(target) })
  assert.equal(removed.status, 303)
}

/** A webhook of the partner that fails since then, and is not tried again by itself. */
async function makeFailing({ partner }: Place, path: string, ago = hour) {
  const webhook = await engine.makeWebhook(path, { branchId: partner.branchId })
  receiver.on(path, fail)
  // Who has the lane in hand would write down again what it knows.
  await engine.idle()
  await setFailing(webhook.id, ago)
  return webhook
}

const setFailing = (webhookId: number, ago: number) =>
  failDeliveries(house, webhookId, {
    ...{ failures: 12, entities: 3 },
    since: new Date(house.clock.now().getTime() - ago),
  })

test('an address is confirmed by the code that was POSTed to it, and told of nothing before', async () => {
  const place = await openPlace()
  const { targetId, code } = await add(place, '/a/unconfirmed')
  const webhook = await makeFailing(place, '/a/down')
  await disableWebhook(db, webhook.id, 'By hand.', house.act())
  await tellDue(house)
  assert.equal(receiver.at('/a/unconfirmed').length, 1, 'the code alone')
  const wrong = await confirm(place, targetId, '00000000')
  assert.match(wrong.text, /is not the last one that was sent/)
  assert.equal((await confirm(place, targetId, `${code.slice(0, 4)} ${code.slice(4)}`)).status, 303)
  assert.match((await place.browser.get(place.page)).text, /<span class="state good">confirmed/)
})

test('a code is guessed at five times, lasts an hour, and is for one address of one partner', async () => {
  const place = await openPlace()
  const { targetId, code } = await add(place, '/b/guessed')
  for (let guess = 0; guess < 5; guess++) await confirm(place, targetId, `1234567${guess}`)
  assert.match((await confirm(place, targetId, code)).text, /was wrong 5 times/)
  const other = await add(place, '/b/other')
  assert.match((await confirm(place, other.targetId, code)).text, /is not the last one/)
  house.clock.advance(hour + second)
  const later = { ...place, browser: await house.signIn(place.user) }
  assert.match((await confirm(later, other.targetId, other.code)).text, /has run out/)
  const stranger = await openPlace()
  await add(stranger, '/b/stranger')
  const shown = await stranger.browser.get(stranger.page)
  const taken = await stranger.browser.submit(shown, `${stranger.page}/confirm`, {
    ...{ target: String(other.targetId), code: other.code },
  })
  assert.equal(taken.status, 404)
  const fresh = await later.browser.get(later.page)
  await later.browser.submit(fresh, `${later.page}/code`, { target: String(targetId) })
  await receiver.count('/b/guessed', 2)
  assert.equal((await confirm(later, targetId, code)).status, 400, 'the code before no longer works')
  assert.equal((await confirm(later, targetId, lastAt('/b/guessed').alerts[0]!.code!)).status, 303)
})

test('an address inside is refused by its field, and nobody but a developer adds one', async () => {
  const place = await openPlace()
  for (const url of [
    'https://169.254.169.254/latest',
    'https://10.0.0.1/',
    'http://hooks.example/',
    'https://a:b@hooks.example/',
  ]) {
    const shown = await place.browser.get(place.page)
    const refused = await place.browser.submit(shown, `${place.page}/add`, {
      url,
      what: everything,
      wait: '5',
    })
    assert.equal(refused.status, 400, url)
  }
  const viewer = await house.makeUser()
  await addMember(db, place.partner, viewer, house.act(), 'viewer')
  const browser = await house.signIn(viewer)
  assert.doesNotMatch((await browser.get(place.page)).text, /alerts\/add/)
})

test('a webhook that fails is told once after the chosen time, signed, without its path or its data, and again when it works', async () => {
  const place = await openPlace()
  await ask(db, `UPDATE partners SET name = $2 WHERE branch_id = $1`, [
    place.partner.branchId,
    'Acme <!channel> & *Sons*',
  ])
  const { secret } = await addConfirmed(place, '/c/told', '5')
  const down = gate()
  receiver.on('/c/down?token=hunter2', fail)
  const webhook = await engine.makeWebhook('/c/down?token=hunter2', { branchId: place.partner.branchId })
  await engine.publish(
    ...entities(2, 'holder-secret').map((draft) => ({ ...draft, branchId: place.partner.branchId })),
  )
  await engine.idle()
  await tellDue(house)
  assert.equal(receiver.at('/c/told').length, 1, 'a short failure is nobody’s business')
  house.clock.advance(5 * minute)
  await tellDue(house)
  await tellDue(house)
  const [, told, ...more] = receiver.at('/c/told')
  assert.deepEqual(more, [], 'once, though two nodes looked')
  const body = JSON.parse(told!.body) as Body
  assert.match(
    body.text,
    /^Webhook \d+ \(127\.0\.0\.1:\d+\) of “Acme &lt;!channel&gt; &amp; \*Sons\*” is failing/,
  )
  assert.equal(body.mrkdwn, false)
  assert.deepEqual([body.alerts[0]!.kind, body.alerts[0]!.webhookId], ['failing', webhook.id])
  assert.doesNotMatch(told!.body, /hunter2|c\/down|holder-secret/)
  const headers = told!.headers
  assert.equal(headers['x-webhook-signature'], createHmac('sha256', secret).update(told!.bytes).digest('hex'))
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${told!.body}`
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const standard = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  assert.ok(headers['webhook-signature']!.split(' ').includes(standard))
  receiver.on('/c/down?token=hunter2', accept)
  down.open()
  await eventually('a receiver that works again', async () => {
    house.clock.advance(minute)
    await engine.wake()
    return (await engine.cursor(webhook)).failing_since === null
  })
  await tellDue(house)
  await tellDue(house)
  assert.deepEqual(
    bodiesAt('/c/told').map(({ alerts }) => alerts[0]!.kind),
    ['confirmation', 'failing', 'recovered'],
  )
})

test('beyond twenty messages an hour to a partner alerts wait, and arrive together', async () => {
  const place = await openPlace()
  const { targetId } = await addConfirmed(place, '/d/flooded', '0')
  // With the code there were nineteen; the others went to an address that has been removed since.
  const other = await add(place, '/d/removed')
  await removeTarget(place, other.targetId)
  await ask(
    db,
    `INSERT INTO alerts (target_id, kind, key, facts, state, due_at, claim_id, claimed_at, attempts, created_at)
     SELECT $1, 'test', 'sent:' || n, '{}', 'sent', $2, gen_random_uuid(), $2, 1, $2 FROM generate_series(1, 17) AS n`,
    [other.targetId, house.clock.now()],
  )
  for (let n = 0; n < 4; n++) await makeFailing(place, `/d/down/${n}`)
  await tellDue(house)
  assert.equal(lastAt('/d/flooded').alerts.length, 4, 'the twentieth, of what failed in one moment')
  for (let n = 4; n < 6; n++) {
    await makeFailing(place, `/d/down/${n}`)
    await findDue(db, house.clock.now())
  }
  const waiting = `SELECT FROM alerts WHERE target_id = $1 AND state = 'waiting' AND attempts = 0`
  assert.equal((await ask(db, waiting, [targetId])).length, 2)
  // Another partner's are not held up.
  const neighbour = await openPlace()
  await addConfirmed(neighbour, '/d/neighbour', '0')
  assert.equal(receiver.at('/d/flooded').length, 2)
  house.clock.advance(hour + second)
  await tellDue(house)
  assert.equal(receiver.at('/d/flooded').length, 3)
  assert.match(lastAt('/d/flooded').text, /^2 alerts:\n• Webhook/)
})

test('an alert that is not taken is tried three times and told on the page, and raises none', async () => {
  const place = await openPlace()
  await addConfirmed(place, '/e/broken', '0')
  receiver.on('/e/broken', answer(302, { location: receiver.url('/e/elsewhere') }))
  await makeFailing(place, '/e/down')
  for (const wait of [0, minute, 10 * minute, hour]) {
    house.clock.advance(wait)
    await tellDue(house)
  }
  assert.equal(receiver.at('/e/broken').length, 1 + 3)
  assert.equal(
    new Set(
      receiver
        .at('/e/broken')
        .slice(1)
        .map(({ id }) => id),
    ).size,
    1,
    'the same message',
  )
  assert.equal(receiver.at('/e/elsewhere').length, 0)
  const { text } = await (await house.signIn(place.user)).get(place.page)
  assert.match(text, /The last alert was not taken: it answered 302\./)
  assert.match(text, /<span class="state bad">not sent<\/span> it answered 302/)
})

test('what a worker had in hand when it died is sent by another when its lease has ended', async () => {
  const place = await openPlace()
  const { targetId } = await addConfirmed(place, '/f/lease', '0')
  await ask(
    db,
    `INSERT INTO alerts (target_id, kind, key, facts, due_at, claim_id, claimed_at, held_until, attempts, created_at)
     VALUES ($1, 'test', 'died', '{}', $3, gen_random_uuid(), $2, $3, 1, $2)`,
    [targetId, house.clock.now(), new Date(house.clock.now().getTime() + minute)],
  )
  house.clock.advance(minute)
  await receiver.count('/f/lease', 2)
  await allSent(house)
  assert.deepEqual([receiver.at('/f/lease').length, lastAt('/f/lease').alerts[0]!.kind], [2, 'test'])
  assert.equal(receiver.at('/f/lease')[1]!.headers['x-webhook-test'], 'true')
})

test('nothing is sent while the partner is suspended, nor to an address that was removed', async () => {
  const place = await openPlace()
  const { targetId } = await addConfirmed(place, '/g/removed', '0')
  await makeFailing(place, '/g/down')
  const suspended = await getPartner(db, String(place.partner.branchId))
  await setPartnerStatus(db, suspended, 'suspended', 'The terms.', house.act())
  await findDue(db, house.clock.now())
  const back = await getPartner(db, String(place.partner.branchId))
  assert.equal(receiver.at('/g/removed').length, 1)
  await setPartnerStatus(db, back, 'approved', undefined, house.act())
  await removeTarget(place, targetId)
  await makeFailing(place, '/g/down-too')
  await tellDue(house)
  assert.equal(receiver.at('/g/removed').length, 1)
  assert.doesNotMatch((await place.browser.get(place.page)).text, /alerts\/remove/)
})

test('members choose of what their mail tells and after how long; who has left is told of nothing', async () => {
  const place = await openPlace()
  const [stays, leaves] = [await makeReader(house), await makeReader(house)]
  for (const user of [stays, leaves]) await addMember(db, place.partner, user, house.act())
  const [mail] = await ask<{ id: number }>(
    db,
    `SELECT id FROM alert_targets WHERE branch_id = $1 AND environment = 'live' AND kind = 'mail'`,
    [place.partner.branchId],
  )
  const shown = await place.browser.get(place.page)
  const choice = { target: String(mail!.id), what: ['failing'], wait: '15' }
  assert.equal((await place.browser.submit(shown, `${place.page}/change`, choice)).status, 303)
  await ask(db, 'DELETE FROM partner_members WHERE user_id = $1', [leaves.id])
  const webhook = await makeFailing(place, '/h/down', 15 * minute)
  await tellDue(house)
  await disableWebhook(db, webhook.id, 'By hand.', house.act())
  await tellDue(house)
  const told = await ask<{ kind: string; userId: string }>(
    db,
    `SELECT kind, user_id AS "userId" FROM notices WHERE (facts ->> 'branchId')::int = $1`,
    [place.partner.branchId],
  )
  assert.deepEqual(told, [{ kind: 'webhook-failing', userId: stays.id }])
})

test('operators are told by mail and at an address of the brokerage, of all partners', async () => {
  const operator = await house.makeOperator()
  const browser = await house.signIn(operator)
  const shown = await browser.get('/console/alerts')
  const fields = { url: receiver.url('/i/ops'), what: ['failing', 'disabled', 'provider'], wait: '0' }
  const made = await browser.submit(shown, '/console/alerts/add', fields)
  assert.equal(made.status, 200, made.text)
  await receiver.count('/i/ops', 1)
  const code = lastAt('/i/ops').alerts[0]!.code!
  const page = await browser.get('/console/alerts')
  const target = String(await newest())
  assert.equal((await browser.submit(page, '/console/alerts/confirm', { target, code })).status, 303)
  const place = await openPlace()
  const webhook = await makeFailing(place, '/i/down', 0)
  await disableWebhook(db, webhook.id, 'It answered 410.', house.act())
  await tellDue(house)
  const about = bodiesAt('/i/ops').flatMap(({ alerts, text }) =>
    alerts.some(({ webhookId }) => webhookId === webhook.id) ? [text] : [],
  )
  assert.match(about.join(), new RegExp(`/console/webhooks/${webhook.id}`))
  const stranger = await openPlace()
  const refused = await stranger.browser.get('/console/alerts')
  assert.equal(refused.status, 404)
})

test('the command line adds an address, which its code confirms, and lists, tests, changes and removes it', async () => {
  const line = await keepOpen(openCommandLineAt(house.settings, house.clock))
  const { partner } = await openPlace()
  const of = ['--partner', String(partner.branchId)]
  const path = '/j/line?token=hunter2'
  const made = await line.read('alert', 'add', ...of, '--url', receiver.url(path), '--wait', '5m')
  assert.match(String(made.secret), /^whsec_/)
  assert.deepEqual([made.state, made.wait_minutes, made.tell], ['unconfirmed', 5, everything])
  const [id, host] = [String(made.id), new URL(receiver.url(path)).host]
  await receiver.count(path, 1)
  assert.match((await line.fail('alert', 'test', id, ...of)).stderr, /Confirm the address first/)
  assert.match((await line.fail('alert', 'confirm', id, ...of, '--code', '1')).stderr, /not the last one/)
  const { code } = lastAt(path).alerts[0]!
  assert.equal((await line.read('alert', 'confirm', id, ...of, '--code', code!)).state, 'confirmed')
  await line.read('alert', 'test', id, ...of)
  await receiver.count(path, 2)
  await allSent(house)
  const changed = await line.read('alert', 'change', id, ...of, '--tell', 'failing, expiring')
  assert.deepEqual([changed.tell, changed.wait_minutes], [['failing', 'expiring'], 5])
  assert.match(
    (await line.fail('alert', 'change', id, ...of, '--tell', 'lag')).stderr,
    /must be some of failing, recovered, disabled, expiring; or none/,
  )
  const listed = await line.read<Record<string, unknown>[]>('alert', 'list', ...of)
  assert.deepEqual(
    listed.map(({ to, last }) => [to, last]),
    [
      ['mail', null],
      [host, 'test, sent'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(listed), /hunter2|whsec_/)
  assert.match((await line.fail('alert', 'remove', id)).stderr, /removed/, 'not the brokerage’s')
  assert.deepEqual(await line.read('alert', 'remove', id, ...of), { removed_alert: Number(id) })
  assert.equal((await line.read<unknown[]>('alert', 'list', ...of)).length, 1)
})
