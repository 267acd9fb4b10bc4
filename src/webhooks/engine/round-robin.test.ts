import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RoundRobin } from './round-robin.ts'

test('whoever came first is next, each once, whatever comes meanwhile', () => {
  const turns = new RoundRobin<string>()
  for (const one of ['a', 'b', 'a', 'c']) turns.add(one)
  assert.equal(turns.next(), 'a')
  turns.add('a')
  turns.add('d')
  assert.deepEqual(
    Array.from({ length: 5 }, () => turns.next()),
    ['b', 'c', 'a', 'd', undefined],
  )
})

test('who has left gets no turn, and one when it comes back', () => {
  const turns = new RoundRobin<string>()
  for (const one of ['a', 'b']) turns.add(one)
  turns.delete('a')
  assert.equal(turns.next(), 'b')
  assert.equal(turns.next(), undefined)
  turns.add('a')
  assert.equal(turns.next(), 'a')
})
