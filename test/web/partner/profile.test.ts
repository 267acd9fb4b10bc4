/** A partner asks for FAPI 2.0, an operator sets the moment, and both read what is left to do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day, hour, minute } from '../../../src/clock.ts'
import { getClient } from '../../../src/partners/client.ts'
import { setProfile } from '../../../src/partners/client-profile.ts'
import { findProfileRequest } from '../../../src/partners/profile-request.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { openConsole } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'

const house = await openHouse()
const { db } = house.gateway.context
const admin = await openConsole(house)

const textOf = (page: { text: string }) => page.text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
const pageOf = ({ home, client }: PartnerHouse) => `${home}/clients/${client.id}`
const ofConsole = ({ partner }: PartnerHouse) => `/console/partners/${partner.branchId}`
const within = (ms: number) => after(house.clock.now(), ms)
const typed = (at: Date) => at.toISOString().slice(0, 16)
const profileOf = async ({ client }: PartnerHouse) => (await getClient(db, client.id)).fapi2From

async function set(own: PartnerHouse, fields: Record<string, string>) {
  const page = ofConsole(own)
  const all = { profile: 'fapi2', bearers: 'end', ...fields }
  const form = `${page}/clients/${own.client.id}/profile`
  return admin.browser.submit(await admin.browser.get(page), form, all)
}

async function askFor(own: PartnerHouse, wished = '') {
  const page = await own.browser.get(pageOf(own))
  return own.browser.submit(page, `${pageOf(own)}/profile`, { wished })
}

const giveKeys = ({ client }: PartnerHouse) =>
  ask(db, "UPDATE clients SET jwks_uri = 'https://app.example.com/jwks' WHERE id = $1", [client.id])

test('a member asks, the attention queue shows it, and the moment that an operator sets grants it', async () => {
  const own = await openPartner(house)
  const wished = within(7 * day)
  assert.equal((await askFor(own, typed(wished))).status, 303)
  assert.match(
    textOf(await own.browser.get(pageOf(own))),
    /You asked for FAPI 2\.0 on .* has not answered yet/,
  )
  const queue = await admin.browser.get('/console')
  assert.match(queue.text, new RegExp(`href="${ofConsole(own)}#client-${own.client.id}"`))
  const page = await admin.browser.get(ofConsole(own))
  assert.match(textOf(page), /asks for FAPI 2\.0 Asked .* Setting the moment below grants it/)
  assert.match(page.text, new RegExp(`name="moment" value="${typed(wished)}"`), 'the wish stands in the form')
  const done = await assertAnswered(
    admin.browser,
    await set(own, { moment: typed(wished), bearers: 'live-out' }),
  )
  assert.match(done.text, /The profile is set/)
  const client = await getClient(db, own.client.id)
  assert.deepEqual([client.fapi2From, client.fapi2EndsBearers], [wished, false])
  assert.equal((await findProfileRequest(db, client.id))!.granted, true)
  const moving = textOf(await own.browser.get(pageOf(own)))
  assert.match(moving, /Moving to FAPI 2\.0 .* when bearer tokens live out their 24 hours\. Until then both/)
  assert.match(moving, /What is left to do It has no key to prove itself by/)
})

test('an operator declines, and the partner reads it and may ask again', async () => {
  const own = await openPartner(house)
  await askFor(own)
  const { id } = (await findProfileRequest(db, own.client.id))!
  const page = await admin.browser.get(ofConsole(own))
  const form = `${ofConsole(own)}/clients/${own.client.id}/profile/decline`
  const sent = await admin.browser.submit(page, form, { request: String(id), reason: 'Not this quarter.' })
  assert.match((await assertAnswered(admin.browser, sent)).text, /The request for FAPI 2\.0 is declined/)
  assert.match(textOf(await own.browser.get(pageOf(own))), /Your request of .* was declined/)
  assert.equal((await askFor(own)).status, 303)
})

test('what stands in the way is listed before the form is sent, and again where it is sent all the same', async () => {
  const own = await openPartner(house)
  const id = await own.program.register('https://hooks.example.com/in')
  const words = new RegExp(`The client secret signs webhook ${id}: .* It has no key to prove itself by`)
  assert.match(textOf(await admin.browser.get(ofConsole(own))), words)
  const refused = await set(own, {})
  assert.equal(refused.status, 409)
  assert.match(textOf(refused), /The client cannot have FAPI 2\.0 yet\. The client secret signs webhook/)
  const past = await set(own, { moment: typed(within(-hour)) })
  assert.equal(past.status, 400)
  assert.match(past.text, /id="[^"]*moment-problem"/)
  assert.equal(await profileOf(own), null)
})

test('a client is moved up at once and back, and its pages say what it is', async () => {
  const own = await openPartner(house)
  await giveKeys(own)
  await set(own, { nonces: 'yes' })
  assert.deepEqual(await profileOf(own), house.clock.now())
  const portal = await own.browser.get(pageOf(own))
  assert.match(textOf(portal), /FAPI 2\.0 is demanded since/)
  assert.doesNotMatch(portal.text, /Make a new secret/, 'no secret counts')
  assert.match(textOf(await own.browser.get(`${own.home}/clients`)), /Portfolio Pal .* FAPI 2\.0/)
  const shown = textOf(await admin.browser.get(ofConsole(own)))
  assert.match(
    shown,
    /FAPI 2\.0 since .*no keys, read at https:\/\/app\.example\.com\/jwks · DPoP nonces demanded/,
  )
  assert.match(shown, /Secret ending in \w{4} , which counts no more/)
  house.clock.advance(minute)
  const moment = await profileOf(own)
  await set(own, { bearers: 'live-out', nonces: 'yes' })
  assert.deepEqual(await profileOf(own), moment, 'it keeps its moment')
  await set(own, { profile: 'standard' })
  assert.equal(await profileOf(own), null)
})

test('while the date comes nearer the page says so, and then that it has come', async () => {
  const own = await openPartner(house)
  await giveKeys(own)
  await setProfile(db, own.client, { from: within(minute) }, house.act())
  const ready = /Keys, webhooks and callback are ready\. Try the new way before the date/
  assert.match(textOf(await own.browser.get(pageOf(own))), ready)
  house.clock.advance(minute)
  assert.match(textOf(await own.browser.get(pageOf(own))), /FAPI 2\.0 is demanded since/)
})
