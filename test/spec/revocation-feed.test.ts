/** GET /internal/v1/revocations: what services hear of the answers that they remember. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, keysRotated } from '../../src/database/changes.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { changeProvisioning, createService, revokeService } from '../../src/services/service.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { postForm } from '../support/browser.ts'
import { openWire } from '../support/cut-wire.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openHolder, openSecondNode } from '../support/oauth.ts'
import { hearRevocations } from '../support/revocation-feed.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context
const client = await house.makeClient()
const holder = await openHolder(house)

interface Credentials {
  readonly id: string
  readonly secret: string
}

async function makeService(environment: 'live' | 'sandbox' = 'live'): Promise<Credentials> {
  const { service, secret } = await createService(db, 'Orders', environment, house.act())
  return { id: service.id, secret: secret.text }
}

/** A node whose way to the database can be cut, or lengthened. */
function openNode(databaseUrl: string): Promise<Gateway> {
  return openGateway(readConfig({ ...house.settings, DATABASE_URL: databaseUrl }), { clock: house.clock })
}

const orders = await makeService()

async function introspect(
  token: string,
  by: Credentials,
  url = house.baseUrl,
  headers: Record<string, string> = {},
): Promise<{ active: boolean; tags?: string[] }> {
  return (await postForm(`${url}/v1/oauth/introspect`, { token }, { ...basic(by), ...headers })).json()
}

const revoke = (token: string) => postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(client))

test('what an answer depends on is told on every node when it changes, in the words of the answer', async () => {
  const { access_token } = await holder.tokens(client)
  const feeds = await Promise.all(
    [house.internalUrl, other.internalUrl].map((url) => hearRevocations(url, orders)),
  )
  const { tags } = await introspect(access_token, orders)
  await revoke(access_token)
  for (const feed of feeds) {
    assert.equal(feed.status, 200)
    assert.equal((await feed.until(({ event }) => event === 'open')).data, tags![0])
    await feed.until(({ event, data }) => event === 'changed' && data.split(' ').includes(tags![1]!))
    const [told] = tags!.slice(1).filter((tag) => feed.tags().includes(tag))
    assert.equal(told, tags![1], 'of its other tags none has changed')
    feed.close()
  }
})

test('tags are opaque, the same on every node, and of no two services the same', async () => {
  const stocks = await makeService()
  const { access_token } = await holder.tokens(client)
  const [one, same, another] = await Promise.all([
    introspect(access_token, orders),
    introspect(access_token, orders, other.baseUrl),
    introspect(access_token, stocks),
  ])
  assert.deepEqual(one.tags, same.tags)
  assert.equal(new Set([...one.tags!, ...another.tags!]).size, 14)
  for (const tag of one.tags!) assert.match(tag, /^[A-Za-z0-9+/]{16}$/)
  const toClient = await postForm(
    `${house.baseUrl}/v1/oauth/introspect`,
    { token: access_token },
    basic(client),
  )
  assert.equal('tags' in toClient.json(), false)
})

test('of what no bearer depends on nothing is told', async () => {
  const feed = await hearRevocations(other.internalUrl, orders)
  const told = [...'abcdefg'].map((letter) => `user:${letter}`)
  for (const tag of ['session:1', 'webhook:1', 'brand:live', 'service:x', ...told, 'image:1'])
    await ask(db, 'SELECT announce($1)', [tag])
  const words = told.map(other.context.opaqueTags.ofService(orders.id).print)
  await feed.until(({ data }) => data.split(' ').includes(words.at(-1)!))
  assert.deepEqual(feed.tags(), words)
  feed.close()
})

test('each beat says until when everything was told, by the clock of the stream', async () => {
  const beganAtMs = performance.now()
  const feed = await hearRevocations(house.internalUrl, orders)
  const beats = () => feed.events.filter(({ event }) => event === 'beat').map(({ data }) => Number(data))
  await eventually('three beats', () => beats().length >= 3)
  const elapsedMs = performance.now() - beganAtMs
  assert.deepEqual(
    beats(),
    beats().toSorted((one, next) => one - next),
  )
  for (const beat of beats()) assert.ok(beat > -2_500 && beat < elapsedMs, `${beat} of ${elapsedMs}`)
  feed.close()
})

const endings: Readonly<Record<string, (service: Credentials) => Promise<unknown>>> = {
  'its service is revoked': ({ id }) => revokeService(db, id, house.act()),
  'its service is changed': ({ id }) =>
    changeProvisioning(db, id, { added: [], withdrawn: ['nothing'] }, house.act()),
  'keys are rotated': () => ask(db, 'SELECT announce($1)', [keysRotated]),
  'changes may have been missed': async () => {
    const { pid } = (
      await ask<{ pid: number }>(
        db,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%changes%'",
      )
    )[0]!
    // Whichever node it was: both are heard.
    await ask(db, 'SELECT pg_terminate_backend($1::int)', [pid])
  },
}

for (const [what, end] of Object.entries(endings))
  test(`a feed ends when ${what}`, async () => {
    const service = await makeService()
    const feeds = await Promise.all(
      [house.internalUrl, other.internalUrl].map((url) => hearRevocations(url, service)),
    )
    await end(service)
    await Promise.race(feeds.map(({ ended }) => ended))
    if (what !== 'changes may have been missed') await Promise.all(feeds.map(({ ended }) => ended))
    for (const feed of feeds) feed.close()
  })

test('a service that is revoked may not listen, nor a client, nor a stranger', async () => {
  const gone = await makeService()
  await revokeService(db, gone.id, house.act())
  for (const caller of [gone, client, { id: orders.id, secret: 'x' }])
    assert.equal((await hearRevocations(house.internalUrl, caller)).status, 401)
})

test('a node that hears nothing lets nobody listen', async () => {
  const wire = await openWire(house.databaseUrl)
  const node = await openNode(wire.url)
  try {
    const feed = await hearRevocations(node.internalUrl, orders)
    const lost = new Promise((resolve) =>
      node.context.changes.subscribe((tag) => tag === everything && resolve(tag)),
    )
    wire.cut()
    await lost
    await feed.ended
    assert.notEqual((await hearRevocations(node.internalUrl, orders)).status, 200)
  } finally {
    await node.close().catch(() => {})
    await wire.close()
  }
})

test('a service that asks for it is answered from the database, whatever the node remembers', async () => {
  const wire = await openWire(house.databaseUrl)
  const node = await openNode(wire.url)
  try {
    const { access_token } = await holder.tokens(client)
    assert.equal((await introspect(access_token, orders, node.baseUrl)).active, true)
    wire.lengthen(300)
    await revoke(access_token)
    const anew = await introspect(access_token, orders, node.baseUrl, { 'cache-control': 'no-cache' })
    assert.equal(anew.active, false)
  } finally {
    wire.lengthen(0)
    await node.close()
    await wire.close()
  }
})
