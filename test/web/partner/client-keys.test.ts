/** Public keys of clients in the portal and the console. */
import assert from 'node:assert/strict'
import { after as afterAll, test } from 'node:test'
import { hour, minute } from '../../../src/clock.ts'
import { listKeys } from '../../../src/partners/client-keys.ts'
import { addMember } from '../../../src/partners/partner.ts'
import { assertAnswered } from '../../support/answers.ts'
import { makeKey, printJwks } from '../../support/client-keys.ts'
import { openConsole } from '../../support/console.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'

const house = await openHouse()
const { db, lastUse } = house.gateway.context
const receiver = await openReceiver()
afterAll(() => receiver.close())

const textOf = (page: { text: string }) => page.text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
const pageOf = ({ home, client }: PartnerHouse) => `${home}/clients/${client.id}`

async function act(own: PartnerHouse, verb: string, fields: Record<string, string> = {}) {
  const page = await own.browser.get(pageOf(own))
  return own.browser.submit(page, `${pageOf(own)}/${verb}`, fields)
}

test('a key is pasted, shown by its thumbprint, and removed after a question that says when it was used', async () => {
  const own = await openPartner(house)
  const told = await assertAnswered(
    own.browser,
    await act(own, 'add-keys', { jwks: printJwks(makeKey('ES256', { kid: 'k1' })) }),
  )
  assert.match(told.text, /^The key is added\./)
  const [key] = await listKeys(db, own.client.id)
  const page = textOf(await own.browser.get(pageOf(own)))
  assert.ok(page.includes(key!.thumbprint))
  assert.match(page, /ES256 · kid k1 added .* · last used never/)
  assert.match(
    page,
    /Several may be alive at once: add the next key, sign with it, then remove the one before/,
  )
  assert.doesNotMatch(page, /It was last used/)
  lastUse.ofKey(key!.id, house.clock.now())
  await lastUse.flush()
  assert.match(
    textOf(await own.browser.get(pageOf(own))),
    /It was last used .*What is signed with it is refused/,
  )
  assert.match(
    (await assertAnswered(own.browser, await act(own, 'remove-key'))).text,
    /^The key is removed\./,
  )
  assert.deepEqual(await listKeys(db, own.client.id), [])
})

test('a private key is refused as burnt, is in no answer, and is not kept for whoever has to sign in again', async () => {
  const own = await openPartner(house)
  const jwk = makeKey().privateKey.export({ format: 'jwk' })
  const jwks = JSON.stringify({ keys: [{ ...jwk, kid: 'mine' }] })
  const refused = await act(own, 'add-keys', { jwks })
  assert.equal(refused.status, 400)
  assert.match(
    textOf(refused),
    /key 1 \(mine\) holds its private part\. Whoever has seen it can sign with it/,
  )
  assert.ok(!refused.text.includes(jwk.d!))
  house.clock.advance(6 * minute)
  const page = await own.browser.get(pageOf(own))
  const asked = await own.browser.submit(page, `${pageOf(own)}/add-keys`, { jwks })
  assert.match(asked.location!, /^\/login\?/)
  const again = await own.browser.get(pageOf(own))
  assert.ok(!again.text.includes(jwk.d!))
})

test('keys at an address are shown with when they were read, and a fault of the address in words', async () => {
  const own = await openPartner(house)
  receiver.on(
    '/jwks',
    answer(200, { 'content-type': 'application/jwk-set+json' }, printJwks(makeKey('EdDSA'))),
  )
  const url = receiver.url('/jwks')
  const placed = await assertAnswered(own.browser, await act(own, 'place-keys', { jwksUri: url }))
  assert.match(placed.text, /The keys are read at this address within seconds/)
  const shown = (words: RegExp) =>
    eventually(String(words), async () => {
      const page = textOf(await own.browser.get(pageOf(own)))
      return words.test(page) && page
    })
  const page = await shown(/EdDSA added .* · last used never/)
  assert.ok(page.includes(`Read at ${url} , last`))
  assert.equal((await act(own, 'place-keys', { jwksUri: 'http://keys.example/' })).status, 400)
  receiver.on('/jwks', answer(404))
  house.clock.advance(hour)
  const admin = await openConsole(house)
  const fault = /cannot be read since .*: The address answers with status 404\./
  const failing = await eventually('the console says so', async () => {
    const text = textOf(await admin.browser.get(`/console/partners/${own.partner.branchId}`))
    return fault.test(text) && text
  })
  assert.ok(failing.includes(url))
})

test('a viewer sees keys and changes none', async () => {
  const own = await openPartner(house)
  await act(own, 'add-keys', { jwks: printJwks(makeKey()) })
  const viewer = await house.makeUser()
  await addMember(db, own.partner, viewer, house.act(), 'viewer')
  const page = await (await house.signIn(viewer)).get(pageOf(own))
  const [key] = await listKeys(db, own.client.id)
  assert.ok(page.text.includes(key!.thumbprint))
  for (const verb of ['add-keys', 'remove-key', 'place-keys'])
    assert.ok(!page.text.includes(`${pageOf(own)}/${verb}`))
})

test('the console shows the keys of a client, and removes none', async () => {
  const own = await openPartner(house)
  await act(own, 'add-keys', { jwks: printJwks(makeKey('PS256')) })
  const [key] = await listKeys(db, own.client.id)
  const admin = await openConsole(house)
  const page = await admin.browser.get(`/console/partners/${own.partner.branchId}`)
  assert.match(textOf(page), new RegExp(`Key ${key!.thumbprint} PS256 · added .* · last used never`))
})
