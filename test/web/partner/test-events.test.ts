/**
 * Test events in the portal: each has an id of its own, goes where it is meant to go, and says what it waits
 * for.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { formsOf } from '../../support/page-forms.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { fail, openReceiver } from '../../support/receiver.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
/** A partner of its own for each test: what is sent to all its webhooks waits for all of them. */
let own: PartnerHouse
beforeEach(async () => {
  own = await openPartner(house)
})

/** The form as it stands, with these fields over what stands in it; answers the path of the outcome. */
async function sendForm(change: Record<string, string> = {}, query = ''): Promise<string> {
  const page = await own.browser.get(`${own.home}/test${query}`)
  const form = formsOf(page.text).find(({ method }) => method === 'post')!
  const sent = await own.browser.post(form.action, { ...form.fields, ...change })
  assert.equal(sent.status, 303, sent.text)
  return sent.location!
}

async function outcome(path: string, sign: RegExp): Promise<string> {
  return eventually(String(sign), async () => {
    const { text } = await own.browser.get(path)
    return sign.test(text) && text
  })
}

test('a second test event as the form offers it is attempted too, while the first fails', async () => {
  for (const kind of ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE']) {
    const path = `/broken-${kind}`
    receiver.on(path, fail)
    const webhook = String(await own.program.register(receiver.url(path)))
    await sendForm({ webhook }, `?kind=${kind}`)
    await receiver.count(path, 1)
    const second = await sendForm({ webhook }, `?kind=${kind}`)
    assert.doesNotMatch((await own.browser.get(second)).text, /blocked/)
    await receiver.count(path, 2)
  }
})

test('a test event goes to one webhook of the partner’s choosing alone, and says that it is a test', async () => {
  const chosen = await own.program.register(receiver.url('/chosen'), { kinds: ['APPLICATION'] })
  await own.program.register(receiver.url('/other'))
  const page = await own.browser.get(`${own.home}/webhooks/${chosen}`)
  const [, link] = /href="([^"]+)">Send a test event</.exec(page.text)!
  const form = formsOf((await own.browser.get(link!)).text).find(({ method }) => method === 'post')!
  assert.equal(form.fields.webhook, String(chosen), 'the link chooses it')
  const path = await sendForm({ webhook: String(chosen) })
  await receiver.count('/chosen', 1)
  assert.equal(receiver.at('/chosen')[0]!.headers['x-webhook-test'], 'true')
  assert.equal(
    JSON.parse(receiver.at('/chosen')[0]!.body).type,
    'TRANSACTION',
    'whatever kinds it is told of',
  )
  const text = await outcome(path, />delivered</)
  assert.doesNotMatch(text, /\/other/)
  // Whatever follows it has been dispatched after it.
  await own.program.fire()
  assert.equal(receiver.at('/other').length, 1)
  assert.match(text, new RegExp(`/test\\?kind=TRANSACTION&amp;webhook=${chosen}">Send another`))
})

test('with an id that another still waits with, it links to that one and says what to do', async () => {
  receiver.on('/ordered', fail)
  await own.program.register(receiver.url('/ordered'))
  await sendForm({ transactionId: '7' })
  await receiver.count('/ordered', 1)
  const path = await sendForm({ transactionId: '7' })
  let waits = await own.browser.get(path)
  const behind = () => /Queued behind <a href="([^"]+)">#[\d-]+<\/a>, which has failed once/.exec(waits.text)
  await eventually('what it waits behind, once that is written down', async () => {
    waits = await own.browser.get(path)
    return behind() !== null
  })
  const [, head] = behind()!
  assert.match(waits.text, /with an id of its own waits for nothing/)
  const third = await own.browser.get(await sendForm({ transactionId: '7' }))
  assert.ok(third.text.includes(`<a href="${head}">`), 'it is the first of them that has to go')
  const page = await own.browser.get(head!)
  const skip = formsOf(page.text).find(({ action }) => action.endsWith('/skip'))!
  assert.equal((await own.browser.post(skip.action, skip.fields)).status, 303)
  await receiver.count('/ordered', 2)
})

test('it goes to no webhook but the partner’s own, and without one there is nothing to send', async () => {
  const nobody = await own.browser.get(`${own.home}/test`)
  assert.deepEqual(formsOf(nobody.text), [])
  assert.match(nobody.text, /no webhook to send a test event to/)
  const webhookId = await own.program.register(receiver.url('/mine'))
  const other = await openPartner(house)
  const theirs = await other.program.register(receiver.url('/theirs'))
  const page = await own.browser.get(`${own.home}/test`)
  const [form] = formsOf(page.text)
  for (const webhook of [String(theirs), '0', 'https://app.example.com/hooks', `${webhookId}x`]) {
    const refused = await own.browser.post(form!.action, { ...form!.fields, webhook })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /id="webhook-problem">It is no longer registered here/)
  }
  await sendForm({ webhook: String(webhookId) })
  await receiver.count('/mine', 1)
  assert.equal(receiver.at('/theirs').length, 0)
})

test('of a webhook that is paused it says that the event waits, and of one that was deleted that nobody was told', async () => {
  const webhookId = await own.program.register(receiver.url('/resting'))
  await own.program.call('POST', `/v2/webhooks/${webhookId}/pause`)
  assert.match((await own.browser.get(`${own.home}/test`)).text, /\/resting \(paused\)<\/option>/)
  const path = await sendForm({ webhook: String(webhookId) })
  assert.match(
    (await own.browser.get(path)).text,
    /is paused, so the event waits\. <a href="[^"]+">Resume it<\/a>/,
  )
  await own.program.call('DELETE', `/v2/webhooks/${webhookId}`)
  const text = await outcome(path, /deleted since|nobody was told/)
  assert.doesNotMatch(text, /href="[^"]*\/deliveries\/\d+"/, 'no link leads to what is no longer shown')
})
