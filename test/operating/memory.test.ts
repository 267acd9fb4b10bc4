/** What a node remembers is bounded: the oldest makes room for the newest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statement } from '../../src/database/database.ts'
import { openMemory } from '../../src/database/memory.ts'
import { openProfiles } from '../../src/users/profile.ts'
import { openEventBodies } from '../../src/webhooks/event-bodies.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()
const { changes, db } = house.gateway.context

interface Thing {
  readonly name: string
  readonly text: string
}

/** The node is told at once by its own connection, and once more by the one that listens: what is learned in between would be forgotten by that. */
async function announce(tag: string): Promise<void> {
  let times = 0
  changes.subscribe((heard) => {
    if (heard === tag) times++
  })
  await db.query(statement('', 'SELECT announce($1)'), [tag])
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

test('the bodies of events are kept to a bound in bytes: the oldest are read again', async () => {
  const bodies = openEventBodies(35_000)
  const idOf = (number: number) => 260101 * 10 ** 10 + number
  for (const number of [1, 2, 3, 4])
    bodies.keep({
      ...{ id: idOf(number), uid: '', publishedAt: new Date(), traceparent: null, simulated: false },
      body: 'x'.repeat(10_000),
    })
  // The database knows none of them.
  const found = await bodies.find(db, [1, 2, 3, 4].map(idOf))
  assert.deepEqual([...found.keys()], [2, 3, 4].map(idOf))
})

test('printed profiles are kept to a bound in bytes: the oldest are printed again', async () => {
  const { id: userId } = await house.makeUser()
  const profiles = openProfiles(db, 'live', 3_000)
  const viewers = Array.from({ length: 20 }, () => ({ userId, kind: 'personal' as const, accountNumbers: [] }))
  for (const viewer of viewers) await profiles.get(viewer)
  assert.equal(typeof profiles.get(viewers.at(-1)!), 'string')
  const again = profiles.get(viewers[0]!)
  assert.ok(again instanceof Promise)
  assert.equal(await again, profiles.get(viewers.at(-1)!))
})
