/** Clients in the portal: secrets that are shown once, refresh access that is asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, minute } from '../../../src/clock.ts'
import { listClients } from '../../../src/partners/client.ts'
import { getPartner, setRefreshAccess } from '../../../src/partners/partner.ts'
import { callJson } from '../../support/branch.ts'
import { type Answer, hiddenFields } from '../../support/browser.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { assertGuarded } from '../../support/web.ts'

const house = await openHouse()
const own = await openPartner(house)

const secretOf = (page: Answer) => /<code class="secret">([A-Za-z0-9]{53})<\/code>/.exec(page.text)?.[1]
const works = async (id: string, secret: string) =>
  (await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic({ id, secret }))).status === 200

async function at(
  partner: PartnerHouse,
  page: string,
  act: string,
  fields: Record<string, string | string[]> = {},
) {
  return partner.browser.submit(await partner.browser.get(partner.home + page), partner.home + act, fields)
}

test('an application is registered; its secret is shown once, works, and is in no address', async () => {
  const fields = { name: 'Trader', callback: 'https://app.example.com/cb', scope: ['read', 'market'] }
  const made = await at(own, '/clients', '/clients/create', fields)
  assert.equal(made.status, 200)
  assertGuarded(made, 'the page with the secret is kept by nobody')
  const secret = secretOf(made)!
  const { db } = house.gateway.context
  const client = (await listClients(db, own.partner.branchId)).find(({ name }) => name === 'Trader')!
  assert.deepEqual(client.scopes, ['read', 'market'])
  assert.equal(await works(client.id, secret), true)
  const page = await own.browser.get(`${own.home}/clients/${client.id}`)
  assert.equal(page.text.includes(secret), false)
  assert.match(page.text, new RegExp(`ends in <code>${secret.slice(-4)}</code>`))
})

test('what is wrong with an application stands beside its field', async () => {
  const answer = await at(own, '/clients', '/clients/create', {
    name: '',
    callback: 'http://app.example.com',
  })
  assert.equal(answer.status, 400)
  for (const name of ['name', 'callback', 'scope'])
    assert.match(answer.text, new RegExp(`id="${name}-problem"`))
})

test('a secret is replaced with an overlap that has a name, and the old one ends when it said', async () => {
  const partner = await openPartner(house)
  const { client, browser } = partner
  const here = `/clients/${client.id}`
  const page = await browser.get(partner.home + here)
  const fields = { ...hiddenFields(page.text, `${partner.home}${here}/rotate`), overlap: 'day' }
  const rotated = await browser.post(`${partner.home}${here}/rotate`, fields)
  const secret = secretOf(rotated)!
  assert.equal(
    (await browser.post(`${partner.home}${here}/rotate`, fields)).status,
    303,
    'sent twice, it counts once',
  )
  assert.match((await browser.get(partner.home + here)).text, /being replaced/)
  assert.deepEqual([await works(client.id, client.secret), await works(client.id, secret)], [true, true])
  const third = await at(partner, here, `${here}/rotate`, { overlap: 'day' })
  assert.equal(third.status, 409)
  assert.match(third.text, /Two secrets are active already/)
  house.clock.advance(day + minute)
  assert.deepEqual([await works(client.id, client.secret), await works(client.id, secret)], [false, true])
})

test('a new secret signs webhooks from the moment that was chosen, and the page says so', async () => {
  const partner = await openPartner(house)
  const here = `/clients/${partner.client.id}`
  const late = await at(partner, here, `${here}/rotate`, { overlap: 'hour', switchAt: '2099-01-01T10:00' })
  assert.equal(late.status, 400)
  assert.match(late.text, /id="switchAt-problem"/)
  assert.match(late.text, /value="2099-01-01T10:00"/, 'what was typed stays')
  const switchAt = new Date(house.clock.now().getTime() + 30 * minute).toISOString().slice(0, 16)
  const rotated = await at(partner, here, `${here}/rotate`, { overlap: 'hour', switchAt })
  assert.ok(secretOf(rotated))
  assert.equal(rotated.text.match(/signs webhooks from/g)?.length, 1)
  house.clock.advance(30 * minute)
  assert.equal((await partner.browser.get(partner.home + here)).text.includes('signs webhooks from'), false)
})

test('making a secret asks for a password that was entered minutes ago, and returns', async () => {
  const partner = await openPartner(house)
  house.clock.advance(6 * minute)
  const here = `/clients/${partner.client.id}`
  const answer = await at(partner, here, `${here}/rotate`, { overlap: 'none' })
  assert.equal(answer.location, `/login?return=${encodeURIComponent(partner.home + here)}&confirm=1`)
})

test('a revoked secret is dead at once', async () => {
  const partner = await openPartner(house)
  const here = `/clients/${partner.client.id}`
  await at(partner, here, `${here}/revoke`)
  assert.equal(await works(partner.client.id, partner.client.secret), false)
  assert.match((await partner.browser.get(partner.home + here)).text, /No secret is active/)
})

test('refresh access is asked for once, and the answer of the brokerage is shown', async () => {
  const { db } = house.gateway.context
  const partner = await openPartner(house)
  const answer = async (allowed: boolean) =>
    setRefreshAccess(db, await getPartner(db, partner.partner.name), allowed, house.act())
  await answer(false)
  const ask = () => at(partner, '/clients', '/clients/refresh', { reason: 'Nightly statements' })
  assert.equal((await ask()).status, 303)
  assert.match(
    (await partner.browser.get(`${partner.home}/clients`)).text,
    /Nightly statements.*has not answered yet/,
  )
  await answer(false)
  assert.match((await partner.browser.get(`${partner.home}/clients`)).text, /was declined on/)
  await ask()
  await answer(true)
  assert.match((await partner.browser.get(`${partner.home}/clients`)).text, /was granted on/)
})
