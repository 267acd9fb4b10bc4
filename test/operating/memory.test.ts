/** What a node remembers is bounded: the oldest makes room for the newest. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openMemory } from '../../src/database/memory.ts'
import { openTestGateway } from '../support/gateway.ts'

const house = await openTestGateway()
after(() => house.close())
const { changes } = house.gateway.context

test('a memory that is full forgets what it learned first', async () => {
  const memory = openMemory<{ name: string }>(changes, 3)
  const learn = (name: string) => memory.learn(name, async () => ({ value: { name }, tags: [`thing:${name}`] }))
  for (const name of ['a', 'b', 'c', 'd']) await learn(name)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => memory.recall(name)?.name),
    [undefined, 'b', 'c', 'd'],
  )
  changes.announce('thing:c')
  await learn('e')
  assert.deepEqual(
    ['b', 'c', 'd', 'e'].map((name) => memory.recall(name)?.name),
    ['b', undefined, 'd', 'e'],
  )
})
