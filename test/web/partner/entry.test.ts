/** The door of the partner portal: applying, waiting, being approved, being suspended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getPartner, listPartners, setPartnerStatus } from '../../../src/partners/partner.ts'
import { Browser } from '../../support/browser.ts'
import { openHouse } from '../../support/gateway.ts'
import { openPartner, suspend } from '../../support/portal.ts'
import { assertGuarded, signInWith } from '../../support/web.ts'

const house = await openHouse()

const application = (name: string) => ({
  ...{
    name,
    website: 'https://app.example.com',
    contact: 'dev@app.example.com',
    purpose: 'Portfolios for everybody',
  },
})

test('a visitor applies, sees the state of the application, and enters once it is approved', async () => {
  const { db } = house.gateway.context
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/partner')
  assert.match(page.text, /Apply as a partner/)
  const sent = await browser.submit(page, '/partner/apply', application('Applying Ltd'))
  const { location } = await browser.get('/partner')
  assert.equal(sent.location, location)
  const waiting = await browser.get(location!)
  assert.match(waiting.text, /The brokerage has not decided yet\./)
  assert.match(waiting.text, /Portfolios for everybody/)
  assert.equal((await browser.get(`${location}/webhooks`)).status, 403)
  await setPartnerStatus(db, await getPartner(db, 'Applying Ltd'), 'approved', undefined, house.act())
  assert.equal((await browser.get(`${location}/webhooks`)).status, 200)
})

test('a stranger reads what a partner is and how to apply, and comes back to the form', async () => {
  const stranger = new Browser(house.baseUrl)
  const page = await stranger.get('/partner')
  assert.equal(page.status, 200)
  assert.match(page.text, /Build an application for customers of/)
  assert.match(page.text, /How to become a partner/)
  assertGuarded(page, '/partner')
  const [, way] = /href="([^"]+)">Sign in and apply/.exec(page.text)!
  const { username } = await house.makeUser()
  const signedIn = await signInWith(stranger, username, { path: way! })
  assert.equal(signedIn.location, '/partner')
  assert.match((await stranger.get('/partner')).text, /Apply as a partner/)
})

test('in the sandbox a stranger is told that the live site takes applications', async () => {
  const page = await new Browser(house.sandboxUrl).get('/partner')
  assert.equal(page.status, 200)
  assert.ok(page.text.includes(`href="${house.baseUrl}/partner">Apply on the live site`), page.text)
})

test('an application sent twice at once is one application', async () => {
  const { db } = house.gateway.context
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/partner')
  const count = (await listPartners(db)).length
  await Promise.all(
    ['Twice A', 'Twice B', 'Twice C'].map((name) =>
      browser.submit(page, '/partner/apply', application(name)),
    ),
  )
  assert.equal((await listPartners(db)).length, count + 1)
})

test('what is wrong with an application stands beside its field, and what was typed stays', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/partner')
  const wrong = { name: '12', website: 'nowhere', contact: 'nobody', purpose: '' }
  const answer = await browser.submit(page, '/partner/apply', wrong)
  assert.equal(answer.status, 400)
  for (const name of Object.keys(wrong)) {
    assert.match(
      answer.text,
      new RegExp(`name="${name}"[^>]*aria-invalid="true" aria-describedby="${name}-problem`),
    )
    assert.match(answer.text, new RegExp(`<p class="problem" id="${name}-problem">It `))
  }
  assert.match(answer.text, /name="website" value="nowhere"/)
})

test('a name that is taken is told beside the field', async () => {
  const { partner } = await openPartner(house)
  const browser = await house.signIn(await house.makeUser())
  const answer = await browser.submit(
    await browser.get('/partner'),
    '/partner/apply',
    application(partner.name),
  )
  assert.match(answer.text, /<p class="problem" id="name-problem">It is taken\.<\/p>/)
})

test('a member of a suspended partner sees the reason and nothing else', async () => {
  const { partner, browser, home } = await openPartner(house)
  await suspend(house, partner, 'Too many complaints')
  const page = await browser.get(home)
  assert.match(page.text, /Reason: Too many complaints/)
  assert.doesNotMatch(page.text, /Webhooks<\/a>/)
})
