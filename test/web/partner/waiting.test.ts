/** What a member does in the portal about what waits: skip one, skip all, recover. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { hour, minute } from '../../../src/clock.ts'
import { getPartner, setPartnerStatus } from '../../../src/partners/partner.ts'
import { ask } from '../../support/ask.ts'
import { transaction } from '../../support/branch.ts'
import { hiddenFields } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { accept, fail, openReceiver } from '../../support/receiver.ts'

/** A partner of its own for each test: what is sent to all its webhooks waits for all of them. */
let own: PartnerHouse
const house = await openHouse()
const receiver = await keepOpen(openReceiver())
beforeEach(async () => {
  own = await openPartner(house)
})

let paths = 0

/** A webhook whose receiver refuses, and a delivery that waits for its next attempt. */
async function openFailing() {
  const path = `/failing-${++paths}`
  receiver.on(path, fail)
  const webhookId = await own.program.register(receiver.url(path))
  const fired = await own.program.fire(transaction())
  const { id } = fired.deliveries.find((each) => each.webhookId === webhookId)!
  return { path, webhook: `${own.home}/webhooks/${webhookId}`, delivery: `${own.home}/deliveries/${id}` }
}

const acts = {
  'it was resumed': async (webhook: string) => {
    const page = await own.browser.get(webhook)
    await own.browser.submit(page, `${webhook}/pause`, {})
    await own.browser.submit(await own.browser.get(webhook), `${webhook}/resume`, {})
  },
  'the partner was approved': async () => {
    const { db } = house.gateway.context
    await suspend(house, own.partner, 'a test')
    const suspended = await getPartner(db, String(own.partner.branchId))
    await setPartnerStatus(db, suspended, 'approved', undefined, house.act())
  },
  'its new address': async (webhook: string) => {
    const url = receiver.url(`/moved-${++paths}`)
    await own.browser.submit(await own.browser.get(webhook), `${webhook}/update`, { url })
  },
} as const

for (const [words, act] of Object.entries(acts))
  test(`no act makes a failing webhook look well: not tried at or since ${words}, it needs attention until an attempt is made`, async () => {
    const { webhook } = await openFailing()
    const told = async () => {
      const texts = await Promise.all(
        [own.home, `${own.home}/webhooks`, webhook].map((at) => own.browser.get(at)),
      )
      return texts.map(({ text }) => text)
    }
    for (const text of await told()) assert.match(text, />failing</)
    await act(webhook)
    for (const text of await told()) {
      assert.match(text, new RegExp(`>not tried (since|at) ${words}<`))
      assert.doesNotMatch(text, /Needs attention<\/dt><dd>none/)
    }
    assert.match((await own.browser.get(webhook)).text, /state=unfinished">1</)
  })

const courseOf = (text: string, delivery: string) => {
  const row = text.split('<tr').find((each) => each.includes(`href="${delivery}"`)) ?? ''
  const cell = /data-label="Last answer"[^>]*>([\s\S]*?)<\/td>/.exec(row)?.[1] ?? ''
  const state = /class="state \w+">([^<]*)/.exec(row)?.[1]
  return [
    state,
    cell
      .replaceAll(/<[^>]*>/g, '')
      .replace(/\d+ ms/, '… ms')
      .trim(),
  ]
}

test('the log tells what was answered, how long that took and when it goes next, and never a moment that has passed', async () => {
  const { webhook, delivery } = await openFailing()
  const log = async (query = '') =>
    courseOf((await own.browser.get(`${own.home}/deliveries${query}`)).text, delivery)
  await eventually('an attempt', async () => (await log())[0] === 'retrying')
  assert.deepEqual(await log(), ['retrying', '500 · … ms · next in under a minute'])
  assert.deepEqual((await log('?state=retrying'))[0], 'retrying')
  assert.deepEqual((await log('?state=waiting'))[0], undefined, 'what is retrying does not wait')
  await own.browser.submit(await own.browser.get(webhook), `${webhook}/pause`, {})
  house.clock.advance(5 * minute)
  assert.deepEqual(await log(), ['retrying', '500 · … ms · next when resumed'])
  assert.match((await own.browser.get(delivery)).text, /Next attempt<\/dt><dd>when resumed</)
  const id = delivery.split('/').at(-1)!
  const { nextAttemptAt } = (await own.program.call('GET', `/v2/deliveries/${id}`)).json<{
    nextAttemptAt?: number
  }>()
  assert.equal(nextAttemptAt, undefined)
})

test('rows that are ticked are sent again together, once; nobody else can, and another partner’s are not there', async () => {
  const { path, delivery } = await openFailing()
  const other = await openFailing()
  const ids = [delivery, other.delivery].map((each) => each.split('/').at(-1)!)
  await eventually('two attempts', async () => receiver.at(path).length + receiver.at(other.path).length >= 2)
  receiver.on(path, accept)
  receiver.on(other.path, accept)
  const log = `${own.home}/deliveries`
  const page = await own.browser.get(`${log}?state=unfinished`)
  const none = await own.browser.submit(page, `${log}/again`, {})
  assert.deepEqual([none.status, /must be 1 to 50 ticked rows/.test(none.text)], [400, true])
  const foreign = await (await openPartner(house)).browser.get(`${own.home}/deliveries`)
  assert.equal(foreign.status, 404)
  const fields = { ...hiddenFields(page.text, `${log}/again`), delivery: ids }
  const [first, second] = [
    await own.browser.post(`${log}/again`, fields),
    await own.browser.post(`${log}/again`, fields),
  ]
  assert.deepEqual([first.location, second.location], [`${log}?state=unfinished`, `${log}?state=unfinished`])
  const stateOf = async (id: string) =>
    (await own.program.call('GET', `/v2/deliveries/${id}`)).json<{ state: string }>().state
  for (const id of ids) await eventually('both arrive', async () => (await stateOf(id)) === 'delivered')
  const strange = await own.browser.submit(await own.browser.get(log), `${log}/again`, {
    delivery: '999999-1',
  })
  assert.equal(strange.status, 404)
})

test('after a new address one click tries what waits, and its page answers how many were delivered', async () => {
  const { webhook, path } = await openFailing()
  for (let n = 0; n < 8; n++) await own.program.fire(transaction())
  await eventually('nine attempts', () => receiver.at(path).length >= 9)
  await eventually('all wait', async () => /state=unfinished">9</.test((await own.browser.get(webhook)).text))
  const url = receiver.url(`${path}-mended`)
  await own.browser.submit(await own.browser.get(webhook), `${webhook}/update`, { url })
  const overview = await own.browser.get(own.home)
  assert.match(overview.text, /<strong>9<\/strong> deliveries are queued\.\s+Not tried at its new address\./)
  const started = await own.browser.submit(overview, `${webhook}/recover/start`, {})
  assert.equal(started.status, 303)
  await eventually('all nine', async () =>
    /<strong>9 delivered<\/strong>\s+since it began, nothing waits/.test(
      (await own.browser.get(started.location!)).text,
    ),
  )
  assert.match((await own.browser.get(webhook)).text, />healthy</)
})

const moment = (ms: number) => new Date(ms).toISOString().slice(0, 16)
const now = () => house.clock.now().getTime()

test('a delivery that waits is skipped with a reason, and its page says who did it and why', async () => {
  const { delivery } = await openFailing()
  const page = await own.browser.get(delivery)
  assert.match(page.text, /Skip it/)
  const wrong = await own.browser.submit(page, `${delivery}/skip`, { reason: 'turned \u202E around' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /It must have 1 to 200 characters that can be seen/)
  const skipped = await own.browser.submit(page, `${delivery}/skip`, { reason: 'amounts <b>unreadable</b>' })
  assert.deepEqual([skipped.status, skipped.location], [303, delivery])
  const { text } = await own.browser.get(delivery)
  assert.match(text, />canceled</)
  assert.match(text, /amounts &lt;b&gt;unreadable&lt;\/b&gt;/)
  assert.match(text, new RegExp(`Skipped by</dt>\\s*<dd>${own.user.name}<`))
  assert.doesNotMatch(text, /Skip it/)
  assert.equal(
    (await own.browser.submit(page, `${delivery}/skip`, {})).status,
    303,
    'a second click finds it skipped',
  )
  assert.match((await own.browser.get(delivery)).text, /amounts &lt;b/)
})

test('all that wait are skipped after a question, and its page shows how many they were', async () => {
  const { webhook } = await openFailing()
  assert.match((await own.browser.get(webhook)).text, /Skip queued deliveries…/)
  const page = await own.browser.get(`${webhook}/skip`)
  assert.match(page.text, /<strong>1<\/strong> delivery waits/)
  const unsure = await own.browser.submit(page, `${webhook}/skip/start`, {})
  assert.equal(unsure.status, 409)
  assert.match(unsure.text, /Tick the box/)
  const started = await own.browser.submit(page, `${webhook}/skip/start`, { confirmed: 'yes' })
  assert.equal(started.status, 303)
  await eventually('the end', async () => />finished</.test((await own.browser.get(started.location!)).text))
  assert.match((await own.browser.get(started.location!)).text, /1 skipped/)
  const afterwards = await own.browser.get(`${webhook}/skip`)
  assert.match(afterwards.text, /Nothing waits at this webhook\./)
  assert.doesNotMatch((await own.browser.get(webhook)).text, /Skip queued deliveries…/)
})

test('a webhook is recovered since a moment: counted first, then tried at once', async () => {
  const { webhook, path } = await openFailing()
  const empty = await own.browser.get(`${webhook}/recover`)
  assert.equal(empty.status, 200)
  assert.doesNotMatch(empty.text, /2\. Start/)
  const future = await own.browser.get(`${webhook}/recover?since=${moment(now() + hour)}`)
  assert.equal(future.status, 400)
  assert.match(future.text, /id="since-problem"/)
  const page = await own.browser.get(`${webhook}/recover?since=${moment(now() - hour)}`)
  assert.match(page.text, /Waiting for the next attempt, and tried now: <strong>1<\/strong>/)
  receiver.on(path, accept)
  const before = receiver.at(path).length
  const started = await own.browser.submit(page, `${webhook}/recover/start`, {})
  assert.equal(started.status, 303)
  await receiver.count(path, before + 1)
  await eventually('the end', async () => />finished</.test((await own.browser.get(started.location!)).text))
  const { text } = await own.browser.get(started.location!)
  assert.match(text, /<h1>Recovery \d+<\/h1>/)
  assert.match(text, /Waiting, tried now<\/dt>\s*<dd>1</)
})

test('of a paused webhook it says that it is to be resumed first', async () => {
  const { webhook } = await openFailing()
  const page = await own.browser.get(webhook)
  await own.browser.submit(page, `${webhook}/pause`, {})
  const { text } = await own.browser.get(`${webhook}/recover?since=${moment(now() - hour)}`)
  assert.match(text, /This webhook is paused\./)
  assert.doesNotMatch(text, /recover\/start/)
})

test('a webhook that one entity keeps failing is not said to have an open breaker', async () => {
  const { webhook } = await openFailing()
  const { db } = house.gateway.context
  await ask(
    db,
    'UPDATE cursors SET failures = 40, failing_since = $2, tried_in = term WHERE webhook_id = $1',
    [Number(webhook.split('/').at(-1)), house.clock.now()],
  )
  const { text } = await own.browser.get(webhook)
  assert.match(text, />failing</)
  assert.doesNotMatch(text, />failing: one retry a minute</)
})
