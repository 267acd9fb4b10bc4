import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCounter } from './counter.ts'
import type { SiblingQuestion } from './messages.ts'

const count = (key: string, tell = false): SiblingQuestion => ({
  kind: 'count',
  limit: 'tokens',
  window: 7,
  key,
  allowed: 2,
  tell,
})
const take: SiblingQuestion = { kind: 'take', places: 'streams', key: 'branch', most: 2 }

test('what several processes use of one limit is counted together, and told to the others where they want to know', () => {
  const counter = openCounter()
  assert.deepEqual(counter.answer(0, [count('a'), count('b')]), { answers: [1, 1], counted: [] })
  assert.deepEqual(counter.answer(1, [count('a', true), count('a', true)]), {
    answers: [2, 3],
    counted: [{ limit: 'tokens', window: 7, key: 'a', used: 2 }],
  })
})

test('places are taken once, whoever takes them, and those of a process that dies are free again', () => {
  const counter = openCounter()
  assert.deepEqual(counter.answer(0, [take]).answers, [1])
  assert.deepEqual(counter.answer(1, [take, take]).answers, [1, 0])
  counter.forget(1)
  assert.deepEqual(counter.answer(2, [take, take]).answers, [1, 0])
  counter.leave(0, 'streams', 'branch')
  counter.leave(0, 'streams', 'branch')
  assert.deepEqual(
    counter.answer(2, [take, take]).answers,
    [1, 0],
    'given back once, however often it is said',
  )
})
