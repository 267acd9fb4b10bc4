/** The webhooks of a partner in the portal: register, change, pause, resume, rotate, delete, test, replay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, hiddenFields } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { addAs } from '../../support/members.ts'
import { deliverOne, openPartner } from '../../support/portal.ts'
import { fail, openReceiver } from '../../support/receiver.ts'
import { countRows } from '../../support/web.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)

async function register(fields: Record<string, string | string[]>): Promise<Answer> {
  const page = await own.browser.get(`${own.home}/webhooks`)
  return own.browser.submit(page, `${own.home}/webhooks/create`, fields)
}

test('a webhook is registered, shown with its health, and listed', async () => {
  const answer = await register({ url: receiver.url('/new'), kind: ['TRANSACTION', 'AUTHORIZATION'] })
  assert.equal(answer.status, 303)
  const page = await own.browser.get(answer.location!)
  assert.match(page.text, /<span class="state off">not tried yet<\/span>/)
  const list = await own.browser.get(`${own.home}/webhooks`)
  assert.match(list.text, /<td[^>]*>TRANSACTION, AUTHORIZATION<\/td>/)
})

test('a viewer, who has no form of it, reads what a webhook is sent, how fast and with which headers', async () => {
  const id = await own.program.register(receiver.url('/read'), {
    ...{ kinds: ['TRANSACTION', 'ACH_PROFILE'], actions: { TRANSACTION: ['COMPLETED'] }, rateLimit: 7 },
    ...{ description: 'for accounting', headers: { 'x-team': 'sealed-away' } },
  })
  const { browser } = await addAs(house, own.partner, 'viewer')
  const { text } = await browser.get(`${own.home}/webhooks/${id}`)
  assert.match(text, /<dt>Events to send<\/dt><dd>TRANSACTION \(only COMPLETED\), ACH_PROFILE<\/dd>/)
  assert.match(text, /<dt>Rate limit<\/dt><dd>7 attempts a second<\/dd>/)
  assert.match(text, /<dt>Headers<\/dt><dd>x-team<\/dd>/)
  assert.match(text, /<dt>Description<\/dt><dd>for accounting<\/dd>/)
  assert.doesNotMatch(text, /sealed-away/)
})

test('a form that is sent twice registers one webhook', async () => {
  const page = await own.browser.get(`${own.home}/webhooks`)
  const action = `${own.home}/webhooks/create`
  const fields = { ...hiddenFields(page.text, action), url: receiver.url('/twice') }
  const { db } = house.gateway.context
  const count = await countRows(db, 'webhooks')
  const answers = await Promise.all([1, 2, 3].map(() => own.browser.post(action, fields)))
  assert.ok(answers.every(({ status }) => status === 303))
  assert.equal(await countRows(db, 'webhooks'), count + 1)
  const places = [...answers, await own.browser.post(action, fields)].map(({ location }) => location)
  assert.equal(new Set(places).size, 1, 'each is led to the one that was made, also by the back button')
  assert.match(places[0]!, /\/webhooks\/\d+$/)
})

test('what is wrong stands beside its field; what was typed stays, but for the secret', async () => {
  const answer = await register({ url: 'http://app.example.com', secret: 'short' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /id="url-problem">It must begin with https/)
  assert.match(answer.text, /id="secret-problem">It must have 8 to 200 characters/)
  assert.match(answer.text, /name="url" value="http:\/\/app.example.com"/)
  assert.doesNotMatch(answer.text, /value="short"/)
})

test('a webhook is changed, paused, resumed and deleted', async () => {
  const { location } = await register({ url: receiver.url('/changing') })
  const at = async (act: string, fields = {}) =>
    own.browser.submit(await own.browser.get(location!), `${location}/${act}`, fields)
  await at('update', { url: receiver.url('/changed'), kind: 'APPLICATION' })
  assert.match((await own.browser.get(location!)).text, /\/changed<\/code>/)
  await at('pause')
  assert.match((await own.browser.get(location!)).text, /<span class="state off">paused/)
  await at('resume')
  assert.match(
    (await own.browser.get(location!)).text,
    /<span class="state off">not tried since it was resumed/,
  )
  assert.equal((await at('delete')).location, `${own.home}/webhooks`)
  assert.equal((await own.browser.get(location!)).status, 404)
})

test('a new secret signs from the moment it was told to', async () => {
  const { location } = await register({ url: receiver.url('/rotating'), secret: 'the first secret' })
  const rotate = async (fields: Record<string, string>) =>
    own.browser.submit(await own.browser.get(location!), `${location}/secret`, fields)
  const late = await rotate({ secret: 'the second secret', switchAt: '2026-04-02T10:00' })
  assert.match(late.text, /id="switchAt-problem">It must lie between now and seven days from now/)
  assert.equal((await rotate({ secret: 'tiny' })).status, 400)
  assert.equal((await rotate({ secret: 'the second secret', switchAt: '2026-03-03T10:00' })).status, 303)
})

test('a test hook of each kind is sent from its form, and the page shows what became of it', async () => {
  const partner = await openPartner(house)
  const { browser, home, program } = partner
  await program.register(receiver.url('/tested'))
  await program.register(receiver.url('/broken'))
  receiver.on('/broken', fail)
  for (const kind of ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE']) {
    const count = receiver.at('/tested').length
    const form = await browser.get(`${home}/test?kind=${kind}`)
    const values = [...form.text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name!,
      value!,
    ])
    const action = kind === 'ACH_PROFILE' ? 'MICRODEPOSITS_POSTED' : 'APPROVED'
    const fields = { ...Object.fromEntries(values), action, direction: 'DEPOSIT' }
    const sent = await browser.submit(form, `${home}/test/send`, fields)
    assert.equal(sent.status, 303, sent.text)
    await receiver.count('/tested', count + 1)
    assert.equal(JSON.parse(receiver.at('/tested').at(-1)!.body).type, kind)
    await receiver.until(() => receiver.at('/broken').length > 0, 'the broken one')
    assert.match((await browser.get(sent.location!)).text, /\/tested<\/a>/)
  }
  assert.match(
    receiver.at('/tested')[0]!.body,
    /"amount":500\.10,/,
    'the digits reach the receiver as they were typed',
  )
})

test('what is wrong with a test hook stands beside its field', async () => {
  const form = await own.browser.get(`${own.home}/test`)
  const fields = {
    transactionId: 'x',
    clearingAccount: '',
    action: 'SUBMITTED',
    branchId: '7',
    email: 'nobody',
  }
  const answer = await own.browser.submit(form, `${own.home}/test/send`, {
    ...fields,
    amount: '-1',
    direction: 'UP',
  })
  assert.equal(answer.status, 400)
  for (const name of ['transactionId', 'clearingAccount', 'email', 'amount', 'direction']) {
    assert.match(answer.text, new RegExp(`id="${name}-problem"`), name)
  }
})

test('a replay is counted first, then started, and shows its progress', async () => {
  const partner = await openPartner(house)
  const { browser, home } = partner
  const { webhookId } = await deliverOne(partner, receiver, '/replayed')
  const wizard = `${home}/webhooks/${webhookId}/replay`
  assert.match((await browser.get(`${wizard}?failed=yes`)).text, /There is nothing to replay/)
  assert.equal((await browser.get(`${wizard}?from=2026-03-03T00:00&to=2026-03-02T00:00`)).status, 400)
  const counted = await browser.get(`${wizard}?from=2026-03-01T00:00`)
  assert.match(counted.text, /<strong>1<\/strong> deliveries will be replayed/)
  assert.equal(receiver.at('/replayed').length, 1, 'counting sends nothing')
  const started = await browser.submit(counted, `${wizard}/start`, {})
  assert.equal(started.status, 303)
  await receiver.count('/replayed', 2)
  await eventually('the progress of what was sent', async () =>
    /<progress value="1" max="1"/.test((await browser.get(started.location!)).text),
  )
  const again = await browser.submit(counted, `${wizard}/start`, {})
  assert.equal(again.location, started.location, 'sent twice, it is the same replay')
})
