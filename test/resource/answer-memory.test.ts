import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerMemory } from '../../resource/src/answer-memory.ts'

test('it holds so many bytes at most, and forgets what was not asked for the longest', () => {
  const memory = new AnswerMemory<number>(10_000)
  for (let n = 0; n < 1_000; n++) {
    memory.keep(`key ${n}`, n, ['own', `tag ${n}`], 360)
    memory.recall('key 0')
  }
  assert.equal(memory.size, 10)
  assert.equal(memory.recall('key 0'), 0)
  assert.equal(memory.recall('key 999'), 999)
  assert.equal(memory.recall('key 1'), undefined)
})

test('an answer that is too large by itself is not kept', () => {
  const memory = new AnswerMemory<number>(10_000)
  memory.keep('large', 1, [], 20_000)
  assert.equal(memory.recall('large'), undefined)
})

test('a tag forgets whatever depends on it, and nothing else', () => {
  const memory = new AnswerMemory<string>(100_000)
  memory.keep('one', 'of both', ['a', 'b'], 0)
  memory.keep('two', 'of the first', ['a'], 0)
  memory.keep('three', 'of the second', ['b'], 0)
  memory.keep('two', 'of the second now', ['b'], 0)
  memory.forgetTagged('a')
  assert.equal(memory.recall('one'), undefined)
  assert.equal(memory.recall('two'), 'of the second now')
  memory.forgetTagged('b')
  assert.equal(memory.size, 0)
})
