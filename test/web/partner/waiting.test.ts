/** What a member does in the portal about what waits: skip one, skip all, recover. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { hour } from '../../../src/clock.ts'
import { ask } from '../../support/ask.ts'
import { transaction } from '../../support/branch.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
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
  await ask(db, 'UPDATE cursors SET failures = 40, failing_since = $2 WHERE webhook_id = $1', [
    Number(webhook.split('/').at(-1)),
    house.clock.now(),
  ])
  const { text } = await own.browser.get(webhook)
  assert.match(text, />failing</)
  assert.doesNotMatch(text, />failing: one retry a minute</)
})
