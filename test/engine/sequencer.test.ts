/**
 * What gives numbers, and what keeps what was numbered: the sequencer and a feed by themselves, on a real
 * PostgreSQL.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import type { LogEntry } from '../../src/webhooks/events/entry.ts'
import { Feed } from '../../src/webhooks/events/feed.ts'
import { feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { Sequencer } from '../../src/webhooks/events/sequencer.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openEngineHouse } from './house.ts'

const house = await keepOpen(openEngineHouse())
const { db, clock } = house

/** How many each look numbered. */
function openSequencer(t: TestContext) {
  const looks: number[] = []
  const sequencer = new Sequencer({
    ...{ db, clock, log: pino({ level: 'silent' }) },
    numbered: ({ entries }) => looks.push(entries.length),
  })
  const running = sequencer.run()
  t.after(() => {
    sequencer.close()
    return running
  })
  return { sequencer, looks }
}

test('a part in which more was published than a look takes is looked at until nothing is left', async (t) => {
  const branch = await house.makeBranch()
  await house.publish(branch, Array<string>(1_001).fill('a'))
  const { sequencer, looks } = openSequencer(t)
  sequencer.wake(partOf(branch))
  await eventually('all of them', () => looks.length === 2)
  assert.deepEqual(looks, [1_000, 1])
})

test('what is published while its part is looked at has its number by the next look', async (t) => {
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/')
  await house.sql(`UPDATE cursors SET wake_at = 'infinity' WHERE webhook_id = $1`, [webhook])
  const { sequencer, looks } = openSequencer(t)
  await db.transaction(async (sql) => {
    await ask(sql, 'SELECT FROM cursors WHERE part = $1 AND webhook_id = $2 FOR UPDATE', [
      partOf(branch),
      webhook,
    ])
    await house.publish(branch, ['a'])
    sequencer.wake(partOf(branch))
    await house.untilBlocked()
    await house.publish(branch, ['b'])
    sequencer.wake(partOf(branch))
  })
  await eventually('two looks', () => looks.length === 2)
  assert.deepEqual(looks, [1, 1])
})

async function openFeed(count: number): Promise<{ feed: Feed; entries: readonly LogEntry[] }> {
  const branch = await house.makeBranch()
  const { entries } = await house.number(branch, Array<string>(count).fill('a'))
  return { feed: new Feed(db, feedOf({ branchId: branch, environment: 'live' })), entries }
}

test('a feed tells its lanes when it has grown and when it has read, and its head never goes back', async () => {
  const { feed } = await openFeed(3)
  let told = 0
  feed.grown.add(() => void told++)
  feed.append(3)
  feed.append(2)
  assert.deepEqual([told, feed.head, feed.find(1)], [1, 3, undefined])
  await feed.read(0)
  assert.deepEqual([told, feed.find(1)?.seq, feed.find(3)?.seq], [2, 1, 3])
})

test('what has left with its day is passed: a feed says where the log begins', async () => {
  const { feed } = await openFeed(5)
  feed.append(5)
  await house.sql('DELETE FROM log WHERE feed = $1 AND seq <= 3', [feed.id])
  await feed.read(0)
  assert.deepEqual([feed.first, feed.find(4)?.seq], [4, 4])
  await house.sql('DELETE FROM log WHERE feed = $1', [feed.id])
  await feed.read(5)
  assert.deepEqual([feed.first, feed.head], [6, 5])
})

test('a feed keeps two mebibytes, the newest of them, and lanes that want the same read it together', async () => {
  const { feed, entries } = await openFeed(30)
  feed.append(
    30,
    entries.map((entry) => ({ ...entry, body: 'x'.repeat(100_000) })),
  )
  assert.deepEqual(
    [feed.find(1), feed.find(9), feed.find(11)?.seq, feed.find(30)?.seq],
    [undefined, undefined, 11, 30],
  )
  assert.equal(feed.read(0), feed.read(0))
  await feed.read(0)
  assert.equal(feed.find(1)?.body, entries[0]!.body)
})
