/**
 * Why first: from every home a failing webhook's reason is one click away, and the page it leads to says what
 * to do.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import { addMember, type Partner } from '../../../src/partners/partner.ts'
import type { Environment } from '../../../src/vocabulary/environment.ts'
import { type MemberRole, memberRoles } from '../../../src/vocabulary/member-role.ts'
import { disableWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { type BranchProgram, openBranch } from '../../support/branch.ts'
import type { Browser } from '../../support/browser.ts'
import { numberEvents } from '../../support/by-hand.ts'
import { openConsole, press } from '../../support/console.ts'
import { untilDisabled } from '../../support/disabled.ts'
import { eventOf } from '../../support/engine.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { accept, answer, openReceiver } from '../../support/receiver.ts'

const house = await openHouse()
const { db } = house.gateway.context
const receiver = await keepOpen(openReceiver())
const admin = await openConsole(house)

interface Failing {
  readonly own: PartnerHouse
  readonly id: number
  readonly page: string
  /** Where the receiver listens. */
  readonly path: string
}

let receivers = 0
const proxied = answer(
  403,
  { server: 'cloudflare', 'content-type': 'text/html' },
  '<html><b>No bots & no tools</b></html>',
)

/**
 * A partner's webhook that a proxy refuses, with a delivery that waits, in front of another of the same
 * entity.
 */
async function makeFailing(behaviour = proxied): Promise<Failing> {
  const own = await openPartner(house)
  const path = `/failing-${++receivers}`
  receiver.on(path, behaviour)
  const id = await own.program.register(receiver.url(path))
  await publish(own, 'transaction:7')
  await receiver.count(path, 1)
  await publish(own, 'transaction:7')
  await numberEvents(house)
  const failing = { own, id, path, page: `${own.home}/webhooks/${id}/incident` }
  await eventually('a failure that is written down', async () =>
    /Likely cause/.test((await own.browser.get(failing.page)).text),
  )
  return failing
}

/** What happened, as the brokerage tells it. */
async function publish({ partner }: PartnerHouse, entity: string): Promise<void> {
  const { publisher, clock } = house.gateway.context
  await publisher.publish([eventOf(partner.branchId, { entity })], clock.now())
}

/** How many links are followed from a page until a text stands there; at most two. */
async function countClicks(browser: Browser, home: string, sought: RegExp, link: RegExp): Promise<number> {
  let page = await browser.get(home)
  for (let clicks = 0; clicks <= 2; clicks++) {
    if (sought.test(page.text)) return clicks
    const found = [...page.text.matchAll(/<a[^>]* href="([^"]*)"/g)]
      .map(([, href]) => href!)
      .find((href) => link.test(href))
    if (!found) break
    page = await browser.get(found)
  }
  return Number.POSITIVE_INFINITY
}

test('how to fix a failing webhook is one click from the partner’s home, the list, the webhook, the console and its list', async () => {
  const { own, id } = await makeFailing()
  const fix = /How to fix it: Let POST requests to this path through/
  for (const home of [own.home, `${own.home}/webhooks`, `${own.home}/webhooks/${id}`])
    assert.equal(await countClicks(own.browser, home, fix, new RegExp(`/webhooks/${id}/incident$`)), 1, home)
  for (const home of [
    '/console',
    `/console/webhooks?partner=${own.partner.branchId}`,
    `/console/webhooks/${id}`,
  ])
    assert.equal(
      await countClicks(admin.browser, home, fix, new RegExp(`/webhooks/${id}/incident$`)),
      1,
      home,
    )
})

/** Somebody who is a member of all of them, signed in. */
async function joinAll(partners: readonly Partner[], role: MemberRole, environment: Environment = 'live') {
  const user = await house.makeUser()
  for (const partner of partners) await addMember(db, partner, user, house.act(), role)
  return house.signIn(user, environment)
}

async function disableNew(program: BranchProgram, path: string): Promise<number> {
  const id = await program.register(`https://receiver.example.com${path}`)
  await disableWebhook(db, id, 'The receiver answered 410.', house.act())
  return id
}

test('a member of several partners is one click from the reason too, in every role, and sees nothing of other people’s', async () => {
  const [failing, foreign] = [await makeFailing(), await makeFailing()]
  const well = await openPartner(house)
  const link = new RegExp(`/partner/${failing.own.partner.branchId}/webhooks/${failing.id}/incident$`)
  const fix = /How to fix it: Let POST requests to this path through/
  for (const role of memberRoles) {
    const browser = await joinAll([failing.own.partner, well.partner], role)
    assert.equal(await countClicks(browser, '/partner', fix, link), 1, role)
    const { text } = await browser.get('/partner')
    assert.match(text, /<strong>HTTP 403<\/strong>/)
    assert.match(text, />failing</)
    assert.ok(text.includes(receiver.url(failing.path)))
    assert.ok(!text.includes(receiver.url(foreign.path)) && !text.includes(foreign.page), role)
    assert.equal(text.split('/incident"').length, 2, 'nothing of the one that is well')
  }
})

test('the list of partners shows three failing webhooks of each and how many more there are, those of its own site, and none where the partner may not act', async () => {
  const [many, few] = [await openPartner(house), await openPartner(house)]
  const ids: number[] = []
  for (let n = 0; n < 5; n++) ids.push(await disableNew(many.program, `/many-${n}`))
  const client = await house.makeClient({ partner: few.partner, environment: 'sandbox' })
  const inSandbox = await disableNew(
    await openBranch(house, { environment: 'sandbox', client }),
    '/sandbox-only',
  )
  const partners = [many.partner, few.partner]
  const live = await joinAll(partners, 'viewer')
  const incidents = async (browser: Browser) =>
    [...(await browser.get('/partner')).text.matchAll(/href="([^"]*\/incident)"/g)].map(([, href]) => href)
  assert.deepEqual(
    await incidents(live),
    ids.slice(0, 3).map((id) => `${many.home}/webhooks/${id}/incident`),
  )
  assert.ok((await live.get('/partner')).text.includes(`<a href="${many.home}/webhooks">and 2 more</a>`))
  const sandbox = await joinAll(partners, 'viewer', 'sandbox')
  assert.deepEqual(await incidents(sandbox), [`${few.home}/webhooks/${inSandbox}/incident`])
  await suspend(house, many.partner, 'The terms were not kept.')
  assert.deepEqual(await incidents(live), [], 'a link would lead to a refusal')
})

test('the last answer stands on every such page already: status, when, the beginning of the body, and the likely cause', async () => {
  const { own, id } = await makeFailing()
  const now = house.clock.now().toISOString().slice(0, 10)
  const pages = [
    await own.browser.get(own.home),
    await own.browser.get(`${own.home}/webhooks`),
    await own.browser.get(`${own.home}/webhooks/${id}`),
    await admin.browser.get(`/console/webhooks?partner=${own.partner.branchId}`),
    await admin.browser.get(`/console/webhooks/${id}`),
  ]
  for (const { text } of pages) {
    assert.match(text, /HTTP 403/)
    assert.ok(text.includes(now))
    assert.match(text, /&lt;html&gt;&lt;b&gt;No bots &amp; no tools/)
    assert.match(
      text,
      /probably by a proxy or firewall in front of the receiver\. It calls itself cloudflare\./,
    )
  }
})

test('the page of an incident says when it began, what is queued, and whose order is held up', async () => {
  const { own, page, id } = await makeFailing()
  const { text, status } = await own.browser.get(page)
  assert.equal(status, 200)
  assert.match(text, /Likely cause: refused by a proxy/)
  assert.match(text, /First failure<\/dt><dd>HTTP 403/)
  assert.match(text, /server: cloudflare\ncontent-type: text\/html/)
  assert.match(
    text,
    /<strong>2<\/strong> deliveries are queued, of 1 entity\. 1 is queued behind an earlier one of the same entity/,
  )
  assert.ok(text.includes(`href="${own.home}/deliveries?webhook=${id}&entity=transaction%3A7"`), text)
  const console = await admin.browser.get(`/console/webhooks/${id}/incident`)
  assert.match(console.text, /Likely cause: refused by a proxy/)
  assert.match(console.text, /First failure<\/dt><dd>HTTP 403/)
  assert.match(console.text, /<code>transaction:7<\/code>/)
})

test('a probe is one attempt at once, however often the button is pressed, and its outcome stands on the page', async () => {
  const { own, page, path } = await makeFailing()
  const before = receiver.at(path).length
  const form = await own.browser.get(page)
  const sent = await own.browser.submit(form, `${page}/probe`, {})
  const again = await own.browser.submit(form, `${page}/probe`, {})
  assert.deepEqual([sent.status, again.location], [303, sent.location])
  await receiver.count(path, before + 1)
  await eventually('the outcome', async () =>
    /The probe failed: HTTP 403/.test((await own.browser.get(sent.location!)).text),
  )
  assert.equal(receiver.at(path).length, before + 1)

  receiver.on(path, accept)
  const second = await press(own.browser, page, '/probe')
  await eventually('the outcome', async () =>
    /The probe was accepted: HTTP 200/.test((await own.browser.get(second.location!)).text),
  )
  // The one behind it follows.
  await receiver.count(path, before + 3)
  await eventually('a page without trouble', async () =>
    /The last attempt was accepted/.test((await own.browser.get(page)).text),
  )
  assert.doesNotMatch((await own.browser.get(own.home)).text, /Why, and how to fix it/)
})

test('a webhook is probed six times in a minute, by whomever', async () => {
  const { own, page, id, path } = await makeFailing(answer(500))
  const probe = async (browser: Browser, address: string) => {
    const { status, location } = await press(browser, address, '/probe')
    // While an attempt is under way, another probe would be that one.
    if (status === 303)
      await eventually('the outcome', async () =>
        /The probe failed/.test((await browser.get(location!)).text),
      )
    return status
  }
  const statuses: number[] = []
  for (let time = 0; time < 5; time++) statuses.push(await probe(own.browser, page))
  statuses.push(await probe(admin.browser, `/console/webhooks/${id}/incident`))
  assert.deepEqual(statuses, Array(6).fill(303))
  assert.equal(receiver.at(path).length, 7)
  assert.equal(await probe(own.browser, page), 429)
  assert.equal(await probe(admin.browser, `/console/webhooks/${id}/incident`), 429)
  const refused = await press(own.browser, page, '/probe')
  assert.match(refused.text, /probed as often as it may be in a minute/)
  house.clock.advance(minute)
  assert.equal((await press(own.browser, page, '/probe')).status, 303)
})

test('what would be refused is not offered: no probe without something queued, none of a webhook that is switched off', async () => {
  const own = await openPartner(house)
  const id = await own.program.register(receiver.url('/well'))
  const page = `${own.home}/webhooks/${id}/incident`
  const well = await own.browser.get(page)
  assert.doesNotMatch(well.text, /Probe now/)
  assert.match(well.text, /Nothing is queued that could be probed with\./)
  const [, test] = /href="([^"]+)">Send a test event</.exec(well.text)!
  assert.match(
    (await own.browser.get(test!)).text,
    new RegExp(`<option value="${id}" selected>`),
    'to this one',
  )
  const failing = await makeFailing()
  await press(failing.own.browser, failing.page.replace('/incident', ''), '/pause')
  const paused = await failing.own.browser.get(failing.page)
  assert.doesNotMatch(paused.text, /Probe now|Recover…/)
  assert.match(paused.text, /It is paused, so nothing is sent until you resume it\./)
  assert.doesNotMatch(
    (await admin.browser.get(`/console/webhooks/${failing.id}/incident`)).text,
    /Probe now|Recover…/,
  )
})

test('a webhook that its receiver’s 410 has disabled says so, and recovering resumes it', async () => {
  const { own, id, page, path } = await makeFailing(answer(410, {}, 'moved out'))
  await untilDisabled(db, id)
  const { text } = await own.browser.get(page)
  assert.match(text, /Likely cause: gone/)
  assert.match(text, /Recover resumes it/)
  const [, recover] = /href="([^"]*\/recover\?since=[^"]*)"/.exec(text)!
  receiver.on(path, accept)
  const counted = await own.browser.get(recover!)
  assert.match(counted.text, /it is resumed/)
  const started = await own.browser.submit(counted, `${page.replace('/incident', '')}/recover/start`, {})
  assert.equal(started.status, 303)
  await eventually('a page without trouble', async () =>
    /The last attempt was accepted/.test((await own.browser.get(page)).text),
  )
  await eventually('its progress on the page', async () =>
    /finished/.test((await own.browser.get(page)).text),
  )
  assert.match((await own.browser.get(page)).text, /Recovery \d+<\/a>, started/)
})

test('an operator recovers a webhook after seeing what that does, and the partner sees the progress', async () => {
  const { own, id, path, page } = await makeFailing()
  receiver.on(path, accept)
  const counted = await admin.browser.get(`/console/webhooks/${id}/recover`)
  assert.match(counted.text, /Waiting for the next attempt, and tried now<\/dt><dd>1/)
  const started = await admin.browser.submit(counted, `/console/webhooks/${id}/recover/start`, {})
  assert.equal(started.location, `/console/webhooks/${id}/incident`)
  await eventually('its progress', async () =>
    /finished/.test((await admin.browser.get(started.location!)).text),
  )
  assert.match((await own.browser.get(page)).text, /Recovery \d+<\/a>, started/)
})

test('an address that asks about another partner’s delivery is told nothing of it', async () => {
  const theirs = await makeFailing()
  const mine = await makeFailing(answer(500))
  const [, delivery] = /deliveries\/([\d-]+)"/.exec((await theirs.own.browser.get(theirs.page)).text)!
  const { text } = await mine.own.browser.get(`${mine.page}?probed=${delivery}&after=0`)
  assert.match(text, /The probe is under way/)
  assert.doesNotMatch(text, /HTTP 403|cloudflare/)
  assert.equal((await mine.own.browser.get(`${mine.page}?probed=x&after=y`)).status, 200)
})
