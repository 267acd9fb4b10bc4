/** What takes a proof of minutes ago is asked for at the provider, and believed as it comes back. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { secondFactorAcr } from '../../src/demo/demo-provider.ts'
import { ask } from '../support/ask.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { setUpApp } from '../support/second-factor.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { approveForm, pathOf, startRequest } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider', REQUIRE_SECOND_FACTOR_FOR_TRADE: 'true' })
const { db } = house.gateway.context
const people = { 'sub-ada': { customer_id: 'C-1' } }
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
await registerUpstream(house, upstream, 'bank')
await makeCustomer(house, 'C-1')

const open = () => new Browser(house.baseUrl)
const query = (location: string) => new URL(location).searchParams

test('an application that wants to trade has its user sign in anew, with a second factor', async () => {
  const client = await house.makeClient()
  const browser = open()
  const path = await startRequest(browser, client, { scope: 'read trade' })
  const asked = query((await browser.get(path)).location!)
  assert.equal(asked.get('max_age') ?? 'pushed', asked.has('request_uri') ? 'pushed' : '120')
  const answer = await signInThere(browser, upstream, 'sub-ada', { path, factor: true })
  assert.equal(answer.status, 303, answer.text)
  const page = await browser.get(pathOf(answer))
  assert.equal(page.status, 200, page.text)
  const approved = await browser.post('/consent', approveForm(page))
  assert.ok(new URL(approved.location!).searchParams.has('code'))
})

test('without a second factor nothing that trades is approved, and the page says what is missing', async () => {
  const client = await house.makeClient()
  const browser = open()
  const path = await startRequest(browser, client, { scope: 'trade' })
  const answer = await signInThere(browser, upstream, 'sub-ada', { path })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /A second factor is needed/)
})

test('a token is made with a sign-in of minutes ago, and what was typed waits meanwhile', async () => {
  const browser = open()
  const there = new Browser(upstream.issuer)
  await signInThere(browser, upstream, 'sub-ada', { cookies: there })
  house.clock.advance(6 * minute)
  await upstream.keepTime()
  const form = await browser.get('/account/api')
  const sent = await browser.submit(form, '/account/api/tokens', { environment: 'live', name: 'from afar' })
  assert.match(sent.location!, /^\/login\?return=%2Faccount%2Fapi&confirm=1$/)
  const led = await browser.get(sent.location!)
  assert.equal(led.status, 200, 'a form leads to no other site: a page does')
  const answer = await signInThere(browser, upstream, 'sub-ada', {
    path: sent.location!,
    factor: true,
    cookies: there,
  })
  assert.equal(answer.status, 303, answer.text)
  const page = await browser.get(pathOf(answer))
  assert.match(page.text, /from afar/)
  const made = await browser.submit(page, '/account/api/tokens', { environment: 'live', name: 'from afar' })
  assert.equal(made.status, 200, made.text)
})

test('a second factor of half an hour ago does not count, however new our session is', async () => {
  const there = new Browser(upstream.issuer)
  await signInThere(open(), upstream, 'sub-ada', { factor: true, cookies: there })
  house.clock.advance(30 * minute)
  await upstream.keepTime()
  const browser = open()
  await signInThere(browser, upstream, 'sub-ada', { cookies: there })
  assert.match((await browser.get('/account/security/email')).location!, /confirm=1$/)
})

test('where the provider cannot say, a second step of ours stands in, if it is allowed to', async () => {
  await ask(db, `UPDATE identity_providers SET strong_acr = '{}'`)
  const first = open()
  await signInThere(first, upstream, 'sub-ada')
  const app = await setUpApp(house, first, -1)
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-ada')
  assert.match(pathOf(answer), /^\/login\/second/)
  const page = await browser.get(pathOf(answer))
  const fields = { ...hiddenFields(page.text, '/login/second'), code: app.code() }
  assert.equal((await browser.post('/login/second', fields)).status, 303)
  assert.equal((await browser.get('/account/security/email')).status, 200)
  await ask(db, `UPDATE identity_providers SET own_second_step = false, strong_amr = '{mfa}'`)
  const other = open()
  const straight = await signInThere(other, upstream, 'sub-ada')
  assert.doesNotMatch(pathOf(straight), /second/)
  await ask(db, `UPDATE identity_providers SET own_second_step = true, strong_amr = '{}', strong_acr = $1`, [
    [secondFactorAcr],
  ])
})
