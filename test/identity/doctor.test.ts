/** The doctor looks at the identity providers: who is away, who is somebody else, who has no keys, what time it is there; and keeps nothing. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { statement } from '../../src/database/database.ts'
import { checkProviders } from '../../src/doctor/providers.ts'
import { removeProvider } from '../../src/identity/provider.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { draftUpstream, registerUpstream } from '../support/upstream.ts'

const house = await openHouse()
const { db, config } = house.gateway.context

/** A provider that says what it is told to say, at the time of the house. */
let says: { readonly metadata?: object | undefined; readonly keys?: object; readonly aheadMs?: number } = {}
const server = createServer((request, response) => {
  const date = new Date(house.clock.now().getTime() + (says.aheadMs ?? 0)).toUTCString()
  const body = request.url === '/keys' ? says.keys : says.metadata
  response.writeHead(body ? 200 : 404, { date, 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
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
  assert.deepEqual(await look(), { state: 'ok', found: 'There are none: everybody signs in with a password.' })
})

test('each fault of a provider is told with its remedy, and nothing of it is kept', async () => {
  await registerUpstream(house, { issuer }, 'bank')
  const kept = () =>
    db.query(
      statement(
        '',
        'SELECT looked_at, away_since FROM identity_providers UNION ALL SELECT fetched_at, NULL FROM provider_documents',
      ),
    )
  const before = await kept()
  const found = async (change: typeof says) => {
    says = { ...well, ...change }
    const finding = await look()
    return `${finding.state}: ${finding.found} ${'advice' in finding ? finding.advice : ''}`
  }
  assert.match(await found({}), /^ok: Example Bank ID: answers, with keys, and keeps the same time\. $/)
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
  assert.match(finding.found, /^Far Bank is away: 127\.0\.0\.1:9 does not answer: [^.]+\.$/)
  assert.match('advice' in finding ? finding.advice : '', /whoever is signed in goes on/)
  await removeProvider(db, away, house.act())
  assert.equal((await look()).state, 'ok')
})
