/** What a node remembers is bounded: the oldest makes room for the newest. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemory } from '../../src/database/memory.ts'
import { openProfiles } from '../../src/users/profile.ts'
import { Lane } from '../../src/webhooks/engine/lane.ts'
import type { LogEntry } from '../../src/webhooks/events/entry.ts'
import { Feed, FeedRoom } from '../../src/webhooks/events/feed.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()
const { changes, db } = house.gateway.context

interface Thing {
  readonly name: string
  readonly text: string
}

/**
 * The node is told at once by its own connection, and once more by the one that listens: what is learned in
 * between would be forgotten by that.
 */
async function announce(tag: string): Promise<void> {
  let times = 0
  changes.subscribe((heard) => {
    if (heard === tag) times++
  })
  await ask(db, 'SELECT announce($1)', [tag])
  await eventually(`${tag} is heard twice`, () => times >= 2)
}

function openThings(mostBytes: number) {
  const memory = openMemory<Thing>(changes, mostBytes)
  return {
    names: (...names: string[]) => names.map((name) => memory.recall(name)?.name),
    learn: (name: string, tags = [`thing:${name}`], characters = 10_000) =>
      memory.learn(name, async () => ({ value: { name, text: 'x'.repeat(characters) }, tags })),
  }
}

test('a memory that is full forgets what it learned first', async () => {
  const things = openThings(35_000)
  for (const name of ['a', 'b', 'c', 'd']) await things.learn(name)
  assert.deepEqual(things.names('a', 'b', 'c', 'd'), [undefined, 'b', 'c', 'd'])
  await announce('thing:c')
  await things.learn('e')
  assert.deepEqual(things.names('b', 'c', 'd', 'e'), ['b', undefined, 'd', 'e'])
})

test('a memory is bounded by bytes: one large thing takes the room of many small ones', async () => {
  const things = openThings(35_000)
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await things.learn(name, [], 1_000)
  assert.deepEqual(things.names('a', 'f'), ['a', 'f'])
  await things.learn('large', [], 30_000)
  assert.deepEqual(things.names('a', 'e', 'f', 'large'), [undefined, 'e', 'f', 'large'])
})

test('a tag that several entries share forgets all of them, and one that is left by some forgets the others', async () => {
  const things = openThings(1_000_000)
  for (const name of ['a', 'b', 'c']) await things.learn(name, ['shared', `thing:${name}`])
  await announce('thing:b')
  assert.deepEqual(things.names('a', 'b', 'c'), ['a', undefined, 'c'])
  await announce('shared')
  assert.deepEqual(things.names('a', 'b', 'c'), [undefined, undefined, undefined])
  await things.learn('a', ['shared'])
  await things.learn('a', ['shared'])
  await announce('shared')
  assert.deepEqual(things.names('a'), [undefined])
})

/** Of so many bytes each. */
function entriesOf(count: number, bytes: number): LogEntry[] {
  const common = {
    uid: '',
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
    traceparent: null,
    day: 260101,
    simulated: false,
  }
  return Array.from({ length: count }, (_, index) => ({
    ...{ ...common, seq: index + 1, entity: `transaction:${index}`, webhookId: null, createdAt: new Date() },
    body: 'x'.repeat(bytes),
  }))
}

test('the newest entries of a feed are kept to a bound in bytes: the oldest are read again', () => {
  const feed = new Feed(db, 2)
  feed.append(4, entriesOf(4, 600_000))
  assert.deepEqual(
    [1, 2, 3, 4].map((seq) => feed.find(seq)?.seq),
    [undefined, 2, 3, 4],
  )
})

test('all feeds of a node together are kept to a bound in bytes: what has not grown lately is read again', () => {
  const room = new FeedRoom()
  const feeds = Array.from({ length: 2_000 }, (_, branch) => new Feed(db, 2 * branch, room))
  for (const feed of feeds) feed.append(20, entriesOf(20, 65_536))
  assert.ok(room.bytes <= 64 * 1024 * 1024, `${room.bytes}`)
  assert.deepEqual([feeds.at(0)!.find(20), feeds.at(-1)!.find(20)?.seq], [undefined, 20])
  for (const feed of feeds) feed.forget()
  assert.equal(room.bytes, 0)
})

test('a lane reads ahead to a bound in bytes, however large the events are', () => {
  const feed = new Feed(db, 2)
  feed.append(20, entriesOf(20, 65_536))
  const health = { failures: 0, failingSince: null, holdUntil: null, heldAt: null, term: 0, triedIn: 0 }
  const cursor = {
    webhookId: 1,
    feed: 2,
    position: 0,
    epoch: 1,
    holder: 1,
    isOpen: true,
    passed: 0,
    ...health,
  }
  const filters = [{ fromSeq: 1, kinds: ['TRANSACTION'], actions: {} }]
  const lane = new Lane<string>(1, feed)
  lane.load({ cursor, filters, exceptions: [], agains: [], ahead: [], replay: undefined })
  lane.scan()
  assert.equal(lane.read, 4)
})

test('printed profiles are kept to a bound in bytes: the oldest are printed again', async () => {
  const { id: userId } = await house.makeUser()
  const profiles = openProfiles(db, 'live', 3_000)
  const viewers = Array.from({ length: 20 }, () => ({
    userId,
    kind: 'personal' as const,
    accountNumbers: [],
  }))
  for (const viewer of viewers) await profiles.get(viewer)
  assert.equal(typeof profiles.get(viewers.at(-1)!), 'string')
  const again = profiles.get(viewers[0]!)
  assert.ok(again instanceof Promise)
  assert.equal(await again, profiles.get(viewers.at(-1)!))
})
