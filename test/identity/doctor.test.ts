/**
 * The doctor looks at the identity providers: who is away, who is somebody else, who has no keys, what time
 * it is there; and keeps nothing.
 */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { hour, minute } from '../../src/clock.ts'
import { checkProviders } from '../../src/doctor/providers.ts'
import { getProvider, removeProvider } from '../../src/identity/provider.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import {
  draftUpstream,
  makeCustomer,
  openUpstream,
  registerUpstream,
  signInThere,
} from '../support/upstream.ts'

const house = await openHouse()
const { db, config } = house.gateway.context

/** A provider that says what it is told to say, at the time of the house. */
let says: {
  readonly metadata?: object | undefined
  readonly keys?: object
  readonly aheadMs?: number | null
} = {}
const server = createServer((request, response) => {
  const date =
    says.aheadMs === null ? null : new Date(house.clock.now().getTime() + (says.aheadMs ?? 0)).toUTCString()
  const body = request.url === '/keys' ? says.keys : says.metadata
  response.sendDate = false
  response
    .writeHead(body ? 200 : 404, { ...(date !== null && { date }), 'content-type': 'application/json' })
    .end(JSON.stringify(body ?? {}))
})
await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
await keepOpen(Promise.resolve({ close: async () => void server.close() }))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const metadata = {
  ...{ issuer, jwks_uri: `${issuer}/keys`, token_endpoint: `${issuer}/token` },
  authorization_endpoint: `${issuer}/authorize`,
}
const well = { metadata, keys: { keys: [{ kty: 'RSA', use: 'sig' }] } }
const look = async () => (await checkProviders(db, config, house.clock)).finding

test('without providers there is nothing to look at, and one that is not enabled is none', async () => {
  await draftUpstream(house)
  assert.deepEqual(await look(), {
    state: 'ok',
    found: 'There are none: everybody signs in with a password.',
  })
})

test('each fault of a provider is told with its remedy, and nothing of it is kept', async () => {
  await registerUpstream(house, { issuer }, 'bank')
  const kept = () =>
    ask(
      db,
      'SELECT looked_at, away_since FROM identity_providers UNION ALL SELECT fetched_at, NULL FROM provider_documents',
    )
  const before = await kept()
  const found = async (change: typeof says) => {
    says = { ...well, ...change }
    const finding = await look()
    return `${finding.state}: ${finding.found} ${'advice' in finding ? finding.advice : ''}`
  }
  assert.match(
    await found({}),
    /^ok: Example Bank ID: answers, with keys, and keeps the same time\. Nobody came from there in 30 days\. $/,
  )
  assert.match(
    await found({ metadata: { ...well.metadata, issuer: 'https://evil.example' } }),
    /^fail: Example Bank ID cannot be used\. Example Bank ID calls itself https:\/\/evil\.example, not .* provider change/,
  )
  assert.match(
    await found({ metadata: undefined }),
    /^fail: Example Bank ID cannot be used\. .* it answers with status 404\. Is the issuer right\?/,
  )
  assert.match(
    await found({ keys: { keys: [{ kty: 'oct' }] } }),
    /^fail: Example Bank ID cannot be used\. It has no key that signs at /,
  )
  assert.match(
    await found({ metadata: { issuer } }),
    /^fail: Example Bank ID cannot be used\. The metadata .* has no address/,
  )
  assert.match(
    await found({ aheadMs: -20_000 }),
    /^warn: This machine is \d+ s ahead of Example Bank ID\. Let this machine keep time/,
  )
  assert.match(await found({ aheadMs: minute }), /^fail: This machine is \d+ s behind Example Bank ID\./)
  assert.deepEqual(await kept(), before)
})

test('a provider that is away is named beside those that answer', async () => {
  says = well
  const away = await registerUpstream(house, { issuer: 'https://127.0.0.1:9' }, 'away', { label: 'Far Bank' })
  const finding = await look()
  assert.equal(finding.state, 'fail')
  assert.match(
    finding.found,
    /^Far Bank is away: 127\.0\.0\.1:9 does not answer: [^.]+\. It has never answered\.$/,
  )
  assert.match('advice' in finding ? finding.advice : '', /whoever is signed in goes on/)
  await removeProvider(db, away, house.act())
  assert.equal((await look()).state, 'ok')
})

test('one that is away is told with when it last answered', async () => {
  const set = (column: string, value: unknown) =>
    ask(db, `UPDATE identity_providers SET ${column} = $1 WHERE name = 'bank'`, [value])
  await set('answered_at', new Date(house.clock.now().getTime() - 3 * hour))
  says = { ...well, metadata: undefined }
  assert.match((await look()).found, /It last answered 3 h ago \(20\d\d-/)
  says = well
})

test('where answers have no date, what time it is there is what the last ID token said; and those who gave a second factor there are counted', async () => {
  const people = { 'sub-ada': { customer_id: 'C-1' }, 'sub-ben': { customer_id: 'C-2' } }
  const upstream = await keepOpen(openUpstream(house, { name: 'timely', people }))
  for (const id of ['C-1', 'C-2']) await makeCustomer(house, id)
  const timely = await registerUpstream(house, upstream, 'timely', { label: 'Timely' })
  const path = '/login/with/timely?return=%2F&confirm=1'
  const signIn = (who: string, factor: boolean) =>
    signInThere(new Browser(house.baseUrl), upstream, who, { path, factor })
  await signIn('sub-ada', true)
  await signIn('sub-ben', false)
  assert.match(
    (await look()).found,
    /Timely: .*Customers who came from there in 30 days: 2, of them with a second factor given there: 1\./,
  )
  // Another one that says nothing of the time answers in its place.
  const measured = async () => (await getProvider(db, 'timely')).aheadMs!
  assert.ok(Math.abs(await measured()) < minute / 2, `${await measured()} ms`)
  house.clock.advance(2 * minute)
  await signIn('sub-ada', true)
  assert.ok(Math.abs((await measured()) - 2 * minute) < minute / 2, `${await measured()} ms`)
  await removeProvider(db, timely, house.act())
  const move = `UPDATE identity_providers SET ahead_ms = $1, ahead_at = $2 WHERE name = 'bank'`
  await ask(db, move, [2 * minute, house.clock.now()])
  says = { ...well, aheadMs: null }
  const finding = await look()
  assert.equal(finding.state, 'fail')
  assert.match(
    finding.found,
    /^This machine is 2 min ahead of Example Bank ID, by the last ID token that it issued\.$/,
  )
  await ask(db, move, [0, house.clock.now()])
  assert.match((await look()).found, /answers, with keys, and keeps the same time/)
  await ask(db, move, [null, null])
  assert.match((await look()).found, /does not say what time it is there/)
})
