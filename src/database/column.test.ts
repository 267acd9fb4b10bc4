import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Column, int, list, oneOf, orNull, text } from './column.ts'

const print = <Value>(of: Column<Value>, values: readonly Value[]) => list(of).print!(values)

test('numbers, and words that hold nothing but letters, stand in a list as they are', () => {
  assert.equal(print(orNull(int), [1, null]), '{1,NULL}')
  assert.equal(print(orNull(oneOf('delivered', 'no-secret')), ['no-secret', null]), '{no-secret,NULL}')
})

test('any other text is quoted, and so is a word that PostgreSQL would take for something else', () => {
  assert.equal(print(orNull(text), ['a,b', 'NULL', null]), '{"a,b","NULL",NULL}')
  assert.equal(print(oneOf('app locked', 'other'), ['other', 'app locked']), '{"other","app locked"}')
  assert.equal(print(oneOf('null', 'other'), ['null']), '{"null"}')
})
