/**
 * The signature debugger: it finds the mistake, by the partner's own secrets alone, and gives none of them
 * away.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import type { Answer, Fields } from '../../support/browser.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { openReceiver, type ReceivedRequest } from '../../support/receiver.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const ownSecret = 'a secret of its own, kept safe'
const { request, webhookId } = await receive(own, '/own')

/** A webhook of the partner, and what came there. */
async function receive({ program }: PartnerHouse, path: string, secret?: string) {
  const id = await program.register(receiver.url(path), secret === undefined ? {} : { secret })
  await program.fire()
  return { webhookId: id, request: receiver.at(path)[0]! }
}

const headersOf = ({ headers }: ReceivedRequest) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

async function check(fields: Fields, by = own): Promise<Answer> {
  const page = await by.browser.get(`${by.home}/signature`)
  // A minute holds twenty of them.
  house.clock.advance(minute)
  const answer = await by.browser.submit(page, `${by.home}/signature/check`, fields)
  for (const secret of [own.client.secret, by.client.secret, ownSecret])
    for (const part of [secret, secret.slice(-8)])
      assert.equal(answer.text.includes(part), false, 'a secret is printed')
  return answer
}

test('a request as it came is right, by the current secret of the client, and the event is known', async () => {
  const { text, status } = await check({ headers: headersOf(request), body: request.body })
  assert.equal(status, 200)
  assert.match(text, /The signature is right/)
  assert.match(
    text,
    /x-webhook-signature<\/strong>: made with the secret of the client Portfolio Pal \(current\)/,
  )
  assert.match(
    text,
    /webhook-signature<\/strong>: made with the secret of the client Portfolio Pal \(current\)/,
  )
  assert.match(text, /TRANSACTION SUBMITTED/)
  assert.match(text, /as it was sent, byte for byte/)
})

test('a body that was parsed and printed anew is named so, with the first byte that differs', async () => {
  const body = JSON.stringify(JSON.parse(request.body), undefined, 2)
  const { text } = await check({ headers: headersOf(request), body })
  assert.match(text, /It does not verify: parsed and printed anew/)
  assert.match(text, /The first difference is at byte 1: byte 0x22 was sent, byte 0x0a was pasted\./)
})

test('what a program computed is explained: base64 for hex', async () => {
  const mac = createHmac('sha256', own.client.secret).update(request.bytes)
  const common = { headers: headersOf(request), body: request.body }
  const base64 = await check({ ...common, computed: mac.digest('base64') })
  assert.match(base64.text, /<strong>base64 for hex<\/strong>/)
  assert.match(
    base64.text,
    /What your program computed<\/strong>: made with the secret of the client Portfolio Pal/,
  )
})

test('bytes that a form would change are pasted in base64', async () => {
  const bytes = Buffer.from(`${request.body}\r\n`)
  const { text } = await check({
    headers: headersOf(request),
    body: bytes.toString('base64'),
    bodyIs: 'base64',
  })
  assert.match(text, /trailing newline added/)
  assert.match(text, /byte 0x0d was pasted/)
})

test('a webhook’s own secret is named by its webhook, and a webhook that is chosen narrows what is tried', async () => {
  const { request: came, webhookId: id } = await receive(own, '/with-secret', ownSecret)
  const sent = { headers: headersOf(came), body: came.body }
  assert.match((await check(sent)).text, new RegExp(`own secret of webhook ${id} \\(current\\)`))
  const other = await check({ ...sent, webhook: String(webhookId) })
  assert.match(other.text, /It does not verify: wrong secret/)
  assert.doesNotMatch(other.text, new RegExp(`own secret of webhook ${id}`))
})

test('a right secret that does not sign the webhook is told from the one that does', async () => {
  const mine = await receive(own, '/its-own', ownSecret)
  const byClient = createHmac('sha256', own.client.secret).update(mine.request.bytes).digest('hex')
  const common = { headers: headersOf(mine.request), body: mine.request.body, computed: byClient }
  for (const webhook of ['', String(mine.webhookId)]) {
    const { text } = await check({ ...common, webhook })
    assert.match(text, /It does not verify: another secret/)
    assert.match(
      text,
      new RegExp(`x-webhook-signature</strong>: made with the own secret of webhook ${mine.webhookId}`),
    )
    assert.match(
      text,
      /What your program computed<\/strong>: made with the secret of the client Portfolio Pal/,
    )
  }
  const chosen = await check({ ...common, webhook: String(mine.webhookId) })
  assert.match(chosen.text, /it does not sign this webhook, which has a secret of its own/)
  const right = createHmac('sha256', ownSecret).update(mine.request.bytes).digest('hex')
  assert.match((await check({ ...common, computed: right })).text, /The signature is right/)
})

test('another partner’s secrets and events are unknown here: their requests are a wrong secret, and an event that is not there', async () => {
  const stranger = await openPartner(house)
  const { text } = await check({ headers: headersOf(request), body: request.body }, stranger)
  assert.match(text, /It does not verify: wrong secret/)
  assert.match(text, /made with none of your secrets/)
  assert.match(text, /not among your events that are kept/)
  const named = await check(
    { headers: headersOf(request), body: request.body, webhook: String(webhookId) },
    stranger,
  )
  assert.equal(named.status, 404)
})

test('the sandbox knows the sandbox’s secrets alone', async () => {
  const browser = await house.signIn(own.user, 'sandbox')
  const page = await browser.get(`${own.home}/signature`)
  const fields = { headers: headersOf(request), body: request.body }
  const { text } = await browser.submit(page, `${own.home}/signature/check`, fields)
  assert.match(text, /made with none of your secrets/)
})

test('without a signature, with a body that is too long, or too often, it is refused with a reason, and what was typed stays', async () => {
  const without = await check({ headers: 'content-type: application/json', body: '{"kept":1}' })
  assert.equal(without.status, 400)
  assert.match(without.text, /It must hold x-webhook-signature or webhook-signature\./)
  assert.match(without.text, /\{&quot;kept&quot;:1\}<\/textarea>/)
  const page = await own.browser.get(`${own.home}/signature`)
  const send = () =>
    own.browser.submit(page, `${own.home}/signature/check`, { headers: 'ab'.repeat(32), body: '{}' })
  house.clock.advance(minute)
  for (let time = 0; time < 20; time++) assert.equal((await send()).status, 200)
  const often = await send()
  assert.equal(often.status, 429)
  assert.match(often.text, /As many signatures were checked as may be in a minute/)
})

test('after a rotation the old secret is known as the previous one, and later as one that has ended', async () => {
  const partner = await openPartner(house)
  const { request: came } = await receive(partner, '/rotated')
  const page = `${partner.home}/clients/${partner.client.id}`
  await partner.browser.submit(await partner.browser.get(page), `${page}/rotate`, { overlap: 'hour' })
  const old = createHmac('sha256', partner.client.secret).update('{}').digest('hex')
  const within = await check({ headers: headersOf(came), body: '{}', computed: old }, partner)
  assert.match(within.text, /secret of the client Portfolio Pal \(previous, still verifies\)/)
  assert.match(within.text, /<strong>old secret after rotation<\/strong>/)
  house.clock.advance(61 * minute)
  const signedIn = { ...partner, browser: await house.signIn(partner.user) }
  const later = await check({ headers: headersOf(came), body: '{}', computed: old }, signedIn)
  assert.match(later.text, /secret of the client Portfolio Pal \(ended\)/)
})
