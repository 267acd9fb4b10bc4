/** A client that is moving: its calls pass as ever, and its partner sees which of them FAPI 2.0 will refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day } from '../../src/clock.ts'
import { addKeys } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { callJson } from '../support/branch.ts'
import { readCalls } from '../support/calls.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { openConsole } from '../support/console.ts'
import { exchange, makeCode, makePkce } from '../support/fapi.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner, type PartnerHouse } from '../support/portal.ts'

const house = await openHouse()
const { db } = house.gateway.context
const moving = await openPartner(house)
const standard = await openPartner(house)
const admin = (await openConsole(house)).browser
const key = makeKey('ES256', { kid: 'next' })
await addKeys(db, moving.client, readJwksText(printJwks(key)), house.act())
await setProfile(db, moving.client, { from: after(house.clock.now(), 14 * day) }, house.act())

const list = ({ client }: PartnerHouse, id: string, path = '') =>
  callJson(`${house.baseUrl}/v2/webhooks${path}`, 'GET', undefined, {
    ...basic(client),
    'x-request-id': id,
  })

const clientPage = async () => (await moving.browser.get(`${moving.home}/clients/${moving.client.id}`)).text

test('before its first call the page of the client says that none was one to refuse', async () => {
  assert.match(await clientPage(), /No call of the last 24 hours was one that FAPI 2\.0 would refuse/)
})

test('what a call did not meet stands in its line, of calls that failed and of those that did not', async () => {
  await list(moving, 'well')
  await list(moving, 'failed', '/999999')
  await list(standard, 'standard')
  await house.makeCode(moving.client)
  const calls = await readCalls(house, moving.partner.branchId)
  const of = (id: string) => calls.find(({ requestId }) => requestId === id)!
  assert.deepEqual([of('well').status, of('well').unmet], [200, ['key']])
  assert.deepEqual([of('failed').status, of('failed').unmet], [404, ['key']])
  assert.deepEqual(calls.find(({ route }) => route === '/v1/oauth/authorize')!.unmet, ['pushed'])
  const others = await readCalls(house, standard.partner.branchId)
  assert.ok(others.length > 0 && others.every(({ unmet }) => unmet === null))
})

test('a call in the new way has nothing unmet', async () => {
  const by = { client: moving.client, key, house }
  const pkce = makePkce()
  const answer = await exchange(by, makeKey(), await makeCode(by, pkce, { state: 'x' }), pkce, {
    headers: { 'x-request-id': 'new-way' },
  })
  assert.equal(answer.status, 200, answer.text)
  const calls = await readCalls(house, moving.partner.branchId)
  assert.equal(calls.find(({ requestId }) => requestId === 'new-way')!.unmet, null)
})

test('portal and console list such calls alone, and say of each what it lacks', async () => {
  const { branchId } = moving.partner
  for (const [browser, home] of [
    [moving.browser, moving.home],
    [admin, `/console/partners/${branchId}`],
  ] as const) {
    const { text } = await browser.get(`${home}/calls?unmet=yes`)
    assert.ok(text.includes('<code>well') && text.includes('<code>failed') && !text.includes('new-way'), home)
    const failed = (await browser.get(`${home}/calls?unmet=yes&failed=yes`)).text
    assert.ok(failed.includes('<code>failed') && !failed.includes('<code>well'), home)
    const [call] = (await readCalls(house, branchId)).filter(({ requestId }) => requestId === 'well')
    const page = (await browser.get(`${home}/calls/${call!.id}`)).text
    assert.match(page, /What FAPI 2\.0 would refuse[\s\S]+send a token of the client_credentials grant/)
  }
})

test('the command line lists such calls alone, with what each lacked', async () => {
  const line = await keepOpen(openCommandLineAt(house.settings, house.clock))
  const read = (...words: string[]) =>
    line.read<{ request_id: string; unmet: unknown }[]>('calls', '--client', moving.client.id, ...words)
  const all = (await read()).map(({ request_id }) => request_id)
  assert.ok(all.includes('new-way'))
  const calls = await read('--unmet')
  assert.ok(calls.length > 2 && calls.length < all.length)
  assert.deepEqual(calls.find(({ request_id }) => request_id === 'well')!.unmet, ['key'])
  assert.ok(calls.every(({ unmet }) => unmet !== null))
  assert.deepEqual(
    (await read('--unmet', '--failed')).map(({ request_id }) => request_id),
    ['failed'],
  )
  const others = ['calls', '--client', standard.client.id]
  assert.deepEqual(await line.read(...others, '--unmet'), [])
  assert.notDeepEqual(await line.read(...others), [])
})

test('the page of the client counts them by what they lack, and leads to them', async () => {
  const text = await clientPage()
  assert.match(text, /showed a secret, or nothing\.[^<]+<span class="faint">\d+ calls, the last/)
  assert.match(text, /was not pushed\.[^<]+<span class="faint">\d+ calls?, the last/)
  assert.ok(text.includes(`${moving.home}/calls?client=${moving.client.id}&amp;unmet=yes`))
  house.clock.advance(2 * day)
  const { partner, user } = moving
  const browser = await house.signIn(user)
  const later = await browser.get(`/partner/${partner.branchId}/clients/${moving.client.id}`)
  assert.match(later.text, /No call of the last 24 hours/)
})
