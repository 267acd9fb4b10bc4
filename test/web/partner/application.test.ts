/**
 * An application that is declined: with the reason, amended and sent again; and what both sides write to each
 * other meanwhile.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { day } from '../../../src/clock.ts'
import { applyWithDetails, decide, getPartner, type Partner } from '../../../src/partners/partner.ts'
import { listMessages, messagesADay, sendMessage } from '../../../src/partners/partner-message.ts'
import { setEmail } from '../../../src/users/email.ts'
import { ask } from '../../support/ask.ts'
import type { Browser } from '../../support/browser.ts'
import { type ConsoleSession, openConsole, press } from '../../support/console.ts'
import { openTestGateway, type TestGateway } from '../../support/gateway.ts'
import { makeReader, noticesOf } from '../../support/notices.ts'
import { openPartner } from '../../support/portal.ts'

let house: TestGateway
let admin: ConsoleSession
before(async () => {
  house = await openTestGateway({ ROLES: 'api' })
  admin = await openConsole(house)
  await setEmail(house.gateway.context.db, admin.user, 'olga@broker.example', house.act())
})
after(() => house?.close())

const db = () => house.gateway.context.db
const details = { website: 'https://app.example.com', contact: 'dev@app.example.com', purpose: 'Portfolios' }

interface Applicant {
  readonly partner: Partner
  readonly user: Awaited<ReturnType<typeof makeReader>>
  readonly browser: Browser
  /** Of the partner, and of the console about it. */
  readonly home: string
  readonly file: string
}

async function apply(name: string): Promise<Applicant> {
  const user = await makeReader(house)
  const act = { by: { name: `user:${user.id}` }, at: house.clock.now() }
  const partner = await applyWithDetails(db(), user, { name, ...details }, act)
  const { branchId } = partner
  return {
    ...{ partner, user, browser: await house.signIn(user) },
    ...{ home: `/partner/${branchId}`, file: `/console/partners/${branchId}` },
  }
}

const statusOf = async ({ partner }: Applicant) => (await getPartner(db(), String(partner.branchId))).status
const told = async ({ user }: Applicant, kind: string) =>
  (await noticesOf(db(), user)).filter((each) => each.kind === kind).map((each) => each.facts)

test('an operator declines with a reason; the applicant reads it, is told by e-mail, amends and applies again, and nothing that was said is lost', async () => {
  const applicant = await apply('Amending Ltd')
  const { browser, home, file, partner } = applicant
  const empty = await press(admin.browser, file, '/decline', { reason: ' ' })
  assert.equal(empty.status, 400)
  assert.match(empty.text, /name="reason"[^>]*aria-invalid="true"/)
  assert.equal(await statusOf(applicant), 'applied')

  const done = await press(admin.browser, file, '/decline', { reason: 'Say who your users are' })
  assert.match((await admin.browser.get(done.location!)).text, /The application is declined\./)
  assert.equal(await statusOf(applicant), 'declined')
  assert.deepEqual(await told(applicant, 'partner-decided'), [
    {
      partner: 'Amending Ltd',
      branchId: partner.branchId,
      status: 'declined',
      reason: 'Say who your users are',
    },
  ])

  const page = await browser.get(home)
  assert.match(page.text, /<span class="state bad">declined<\/span>/)
  assert.match(page.text, /Reason: Say who your users are/)
  assert.match(
    page.text,
    /name="purpose"[^>]*>Portfolios<\/textarea>/,
    'what was said is there to be amended',
  )
  const wrong = await browser.submit(page, `${home}/apply`, { ...details, name: 'Amending Ltd', purpose: '' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="purpose-problem"/)
  const sent = await browser.submit(page, `${home}/apply`, {
    ...details,
    name: 'Amended Ltd',
    purpose: 'For students',
  })
  assert.equal(sent.location, home)
  assert.equal(await statusOf(applicant), 'applied')
  assert.match((await browser.get(home)).text, /The brokerage has not decided yet/)

  const read = await admin.browser.get(file)
  for (const words of ['Amended Ltd', 'For students', 'Say who your users are', 'Portfolios'])
    assert.ok(read.text.includes(words), words)
  const kinds = (await listMessages(db(), partner, 10)).map((each) => each.kind)
  assert.deepEqual(kinds, ['applied', 'declined', 'applied'])
  const entries = await findEntries(db(), {
    subject: `branch:${partner.branchId}`,
    action: 'partner.declined',
  })
  assert.deepEqual(
    entries.map(({ actor, details: said }) => [actor, said]),
    [[`user:${admin.user.id}`, { reason: 'Say who your users are' }]],
  )
})

test('nobody decides about an application that they have not read: a page from before the second one approves nothing', async () => {
  const applicant = await apply('Second Try Ltd')
  const { browser, home, file } = applicant
  const old = await admin.browser.get(file)
  await press(admin.browser, file, '/decline', { reason: 'No' })
  await browser.submit(await browser.get(home), `${home}/apply`, {
    ...details,
    name: 'Second Try Ltd',
    purpose: 'Worse',
  })
  const late = await admin.browser.submit(old, `${file}/approve`, {})
  assert.match((await admin.browser.get(late.location!)).text, /somebody else has decided meanwhile/)
  assert.equal(await statusOf(applicant), 'applied')
  await press(admin.browser, file, '/approve')
  assert.equal(await statusOf(applicant), 'approved')
})

test('only an application can be declined, and only a declined one is sent again', async () => {
  const { partner, browser, home } = await openPartner(house)
  const current = await getPartner(db(), String(partner.branchId))
  assert.equal(await decide(db(), current, { status: 'declined', reason: 'no' }, house.act()), false)
  assert.equal((await getPartner(db(), String(partner.branchId))).status, 'approved')
  assert.throws(() => decide(db(), current, { status: 'declined' }, house.act()), /reason must have/)
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.get(home)).text)![1]!
  const fields = { ...details, name: 'Sly Ltd', csrf, once: 'x'.repeat(22) }
  assert.equal((await browser.post(`${home}/apply`, fields)).status, 409)
  assert.equal((await getPartner(db(), String(partner.branchId))).name, partner.name)
})

test('both sides write to each other and are told by e-mail that there is something to read, and not what', async () => {
  const applicant = await apply('Talking Ltd')
  const { browser, home, file, partner } = applicant
  await browser.submit(await browser.get(home), `${home}/messages/send`, {
    message: 'When will you <b>decide</b>?',
  })
  const [notice] = (await noticesOf(db(), admin.user)).filter(
    (each) => each.facts.branchId === partner.branchId,
  )
  assert.deepEqual(notice!.facts, { partner: 'Talking Ltd', branchId: partner.branchId, readBy: 'brokerage' })
  const read = await admin.browser.get(file)
  assert.match(read.text, /When will you &lt;b&gt;decide&lt;\/b&gt;\?/)
  assert.ok(read.text.includes(applicant.user.name))
  await press(admin.browser, file, '/message', { message: 'Tomorrow.' })
  assert.equal((await told(applicant, 'partner-message')).length, 1)
  const answer = await browser.get(`${home}/messages`)
  assert.match(answer.text, /Tomorrow\./)
  assert.doesNotMatch(answer.text, /Olga/, 'who of the brokerage wrote is not told')
  const entries = await findEntries(db(), {
    subject: `branch:${partner.branchId}`,
    action: 'partner.message_sent',
  })
  assert.deepEqual(entries.map((each) => each.details.side).sort(), ['brokerage', 'partner'])
  for (const page of [await browser.submit(answer, `${home}/messages/send`, { message: ' ' })])
    assert.match(page.text, /name="message"[^>]*aria-invalid="true"/)
})

test('messages are bounded: in length, in number a day, and nobody changes what was written', async () => {
  const { partner } = await openPartner(house)
  const write = (text: string) => sendMessage(db(), partner, 'partner', text, house.act())
  await assert.rejects(write('x'.repeat(2_001)), /message must have 1 to 2,000 characters/)
  for (let count = 0; count < messagesADay; count++) await write(`message ${count}`)
  await assert.rejects(write('one more'), /Write again tomorrow/)
  await sendMessage(db(), partner, 'brokerage', 'Please stop.', house.act())
  for (const text of [
    "UPDATE partner_messages SET text = 'x'",
    'DELETE FROM partner_messages',
    'TRUNCATE partner_messages',
  ])
    await assert.rejects(ask(db(), text), /stays as it was written/)
})

test('what one partner and the brokerage wrote, no other partner reads', async () => {
  const { partner } = await openPartner(house)
  await sendMessage(db(), partner, 'partner', 'Between us', house.act())
  const { browser } = await openPartner(house)
  assert.equal((await browser.get(`/partner/${partner.branchId}/messages`)).status, 404)
})

test('who was declined does not apply anew under another name, and not without end', async () => {
  const applicant = await apply('Patient Ltd')
  const { browser, home, partner } = applicant
  const decline = async () => {
    const current = await getPartner(db(), String(partner.branchId))
    assert.ok(await decide(db(), current, { status: 'declined', reason: 'no' }, house.act()))
  }
  await decline()
  const act = { by: { name: `user:${applicant.user.id}` }, at: house.clock.now() }
  const anew = applyWithDetails(db(), applicant.user, { name: 'Other Name Ltd', ...details }, act)
  await assert.rejects(
    anew,
    /The application of Patient Ltd was declined\. Open it, change it and apply again there\./,
  )
  const again = async () =>
    browser.submit(await browser.get(home), `${home}/apply`, { ...details, name: 'Patient Ltd' })
  for (let time = 2; time <= 5; time++) {
    assert.equal((await again()).status, 303)
    await decline()
  }
  const refused = await again()
  assert.equal(refused.status, 409)
  assert.match(refused.text, /You applied 5 times in 30 days\. Write to the brokerage below instead\./)
  house.clock.advance(30 * day)
  const later = await house.signIn(applicant.user)
  const sent = await later.submit(await later.get(home), `${home}/apply`, { ...details, name: 'Patient Ltd' })
  assert.equal(sent.status, 303)
})
